/*
 * page_notes - a list of sentences that a page carries, in an arena.
 */
#pragma once

#include <stdarg.h>
#include <stddef.h>

struct arena;

/*
 * Appends a sentence to *notes, an array of *count on the heap; the sentence
 * itself is in the arena. Returns 0, or -ENOMEM with both as they were.
 */
int page_note_add(struct arena *arena, const char ***notes, size_t *count, const char *format,
		  va_list args) __attribute__((format(printf, 4, 0)));
