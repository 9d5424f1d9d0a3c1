#include "collect/guarded.h"

#include <stdio.h>
#include <string.h>

bool guarded_is_exec(const struct process *process, uint32_t tid)
{
	return process && process->execed && !process->exit_ns && tid == process->pid &&
	       !process->mapped && process->space && process->space->count == 0;
}

void guarded_add(struct guarded *guarded, const struct process *process)
{
	guarded->execs++;
	for (size_t i = 0; i < guarded->name_count; i++)
		if (strcmp(guarded->names[i], process->comm) == 0)
			return;
	guarded->more = guarded->name_count == GUARDED_NAMES;
	if (!guarded->more)
		memcpy(guarded->names[guarded->name_count++], process->comm, PROCESS_COMM_SIZE);
}

void guarded_describe(const struct guarded *guarded, enum guarded_cure cure, char *text,
		      size_t size)
{
	char names[GUARDED_NAMES * (PROCESS_COMM_SIZE + 4)] = "";
	size_t length = 0;
	text[0] = 0;
	if (!guarded->execs)
		return;
	for (size_t i = 0; i < guarded->name_count; i++)
		length += (size_t)snprintf(names + length, sizeof(names) - length, "%s'%s'",
					   i ? ", " : "", guarded->names[i]);
	snprintf(text, size,
		 "the kernel does not let you sample setuid programs, nor those that have "
		 "capabilities or may not be read: %s%s and what they start have no samples; %s",
		 names, guarded->more ? " and others," : "",
		 cure == GUARDED_BE_ROOT ? "run culprit as root to have them"
					 : "sample the whole machine (--all-cpus) to have them");
}
