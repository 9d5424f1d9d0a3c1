/*
 * stat_options - the options of `culprit stat` and what they exclude.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cli/options.h"

enum stat_rows { STAT_TOGETHER, STAT_PER_THREAD, STAT_PER_CORE, STAT_PER_CPU };
enum stat_format { STAT_TEXT, STAT_SEPARATED, STAT_JSON };

struct stat_options {
	/* as written */
	bool all_cpus, user_only, kernel_only, no_inherit, detailed, null_run;
	bool per_core, per_thread, per_cpu;
	bool csv, json, append, show_output;
	bool has_topdown, has_repeat, has_duration, has_warmup, has_seed;
	struct option_list pids, tids, events, metrics, commands;
	const char *cpus, *delay, *timeout, *interval, *control, *separator, *output;
	double topdown_level;
	uint64_t repeat, duration_ns, warmup, seed;
	/* what follows from it */
	enum stat_rows rows;
	enum stat_format format;
	uint64_t interval_ns; /* 0: none */
	uint64_t delay_ns;
	bool start_disabled; /* -D -1: until --control enables */
};

/* The options of the one verb there is; filled by stat_options_read(). */
extern struct stat_options stat_asked;
const struct option *stat_option_table(void);

/* Parses and checks; *count: words of the command, argv[1..]. As options_parse(). */
int stat_options_read(const struct verb *verb, int argc, char **argv, int *count);
