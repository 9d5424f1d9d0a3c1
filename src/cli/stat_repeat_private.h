/*
 * stat_repeat_private - repeated runs of commands: what is kept of them while they run, and of
 * which pages are made. Internal to stat_repeat*.c.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/counted/repeated.h"
#include "cli/stat_repeat.h"

struct repeated_command {
	char *words; /* what argv points into */
	char **argv; /* NULL-terminated */
	struct stat_targets targets;
	uint64_t failures; /* runs that ended with a status other than 0 */
	int status;	   /* of the first of these */
	bool others;	   /* ended with another one */
	double voluntary_switches, involuntary_switches; /* of all runs; NAN: not known */
};

struct repeating {
	struct stat_task *task;
	struct repeated_command *commands;
	const char **subjects;
	struct repeated repeated;
	size_t planned;			   /* rounds */
	double *values;			   /* [measure][round][command] */
	uint64_t *enabled_ns, *running_ns; /* of all runs, [command][event] */
	double idle_share;		   /* of the CPUs, while all was run; NAN: not known */
	bool interrupted;
};

/* Whom a command's runs are counted on. */
const struct stat_targets *stat_repeat_targets(const struct repeating *repeating, size_t c);

/* Writes means, or comparisons, in the format that was asked for. 0 or the exit status. */
int stat_repeat_print(struct repeating *repeating, struct stat_output *output);

/* The exit status, after a message. */
int stat_repeat_out_of_memory(void);
