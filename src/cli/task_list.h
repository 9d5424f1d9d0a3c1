/*
 * task_list - the processes and threads of --pid and --tid.
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "cli/options.h"

#define TASK_LIST_MOST 1024

/*
 * "12,13" in any number of options; one that is named twice is there once. `what` is the option,
 * for messages. Fills tasks[0..*count), which has room for TASK_LIST_MOST. 0 or the exit status.
 */
int task_list_parse(const struct verb *verb, const struct option_list *list, const char *what,
		    pid_t *tasks, size_t *count);
