/*
 * hostile_acts_private - what the files of attempts share. Each has the attempts on one kind of
 * thing, as a group.
 */
#pragma once

#include "support/hostile_acts.h"

struct hostile_group {
	const struct hostile_act *list;
	size_t count;
};

extern const struct hostile_group hostile_files, hostile_processes, hostile_networks,
	hostile_kernel, hostile_itself;

/* What an attempt returns, from the value of a system call: 0, or a negative errno. */
long hostile_result(long value);
/* The same of one that opens a descriptor, which is closed. */
long hostile_opened(int fd);
