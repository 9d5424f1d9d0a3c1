/*
 * stat_repeat - several runs of one command, or rounds of several commands, and what they say
 * together.
 */
#pragma once

#include "cli/stat_output.h"
#include "cli/stat_run.h"

/* Of task->command, or of those of --cmd. Returns the exit status. */
int stat_repeat(struct stat_task *task, struct stat_output *output);
