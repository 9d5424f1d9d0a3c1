/*
 * guarded - programs that could not be sampled since the kernel guards them from the
 * user who started them: setuid and setgid programs, those with file capabilities,
 * and those that may not be read. Their exec removes the events that the task has
 * inherited, so neither they nor what they start have samples.
 *
 * No record says so. But at such an exec the kernel writes the task's exit record, right
 * after the exec's own and before the task maps anything (begin_new_exec() of
 * fs/exec.c): guarded_is_exec() recognizes that.
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
	bool more;	/* there were others, for which `names` has no room */
	uint64_t execs; /* of guarded programs, in all */
};

/* Whether the exit record of `tid` is no exit: the process has just executed a guarded program. */
bool guarded_is_exec(const struct process *process, uint32_t tid);
/* Counts one, and notes its name. */
void guarded_add(struct guarded *guarded, const struct process *process);

enum guarded_cure { GUARDED_BE_ROOT, GUARDED_WHOLE_MACHINE };
/* Writes a sentence that names the programs and the cure; "" when there were none. */
void guarded_describe(const struct guarded *guarded, enum guarded_cure cure, char *text,
		      size_t size);
