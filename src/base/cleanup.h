/*
 * cleanup - CLEANUP(thing_freep) frees a variable when its scope ends, on
 * every path. The function gets the variable's address.
 */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* `unused`: some variables are there only for what happens at their end. */
#define CLEANUP(function) __attribute__((cleanup(function), unused))

/* For plain malloc'ed memory: CLEANUP(free_pointer) char *text = ... */
static inline void free_pointer(void *pointer)
{
	free(*(void **)pointer);
}

static inline void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void close_file(FILE **file)
{
	if (*file)
		fclose(*file);
}
