/*
 * guarded - programs that could not be sampled since the kernel guards them from
 * whoever started them: setuid and setgid ones, those with file capabilities, those
 * that may not be read. Their exec takes off the events that the task brought along,
 * and nothing that they start has any.
 *
 * No record says so. But the kernel tells such a task's end right after its exec,
 * before it has mapped anything (begin_new_exec() of fs/exec.c): guarded_is_exec().
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "image/process_table.h"

#define GUARDED_NAMES 8

struct guarded {
	char names[GUARDED_NAMES][PROCESS_COMM_SIZE];
	size_t name_count;
	bool more; /* some found no room */
	uint64_t execs;
};

/* Whether this end of a task is none: it has just executed a program that is guarded. */
bool guarded_is_exec(const struct process *process, uint32_t tid);
void guarded_add(struct guarded *guarded, const struct process *process);

enum guarded_cure { GUARDED_BE_ROOT, GUARDED_WHOLE_MACHINE };
/* One sentence that names them; "" when there was none. */
void guarded_describe(const struct guarded *guarded, enum guarded_cure cure, char *text,
		      size_t size);
