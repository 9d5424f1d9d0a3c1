#include "cli/top_options.h"

#include <string.h>

#include "base/count_of.h"
#include "cli/options.h"
#include "cli/report_parts.h"
#include "cli/verbs.h"

#define DELAY_NS	  UINT64_C(2000000000)
#define WINDOW_NS	  UINT64_C(6000000000)
#define SHORTEST_DELAY_NS UINT64_C(100000000)
#define WINDOW_MOST	  1000 /* intervals of a window: each is a profile */

static struct top_options asked = { .delay_ns = DELAY_NS,
				    .window_ns = WINDOW_NS,
				    .sampling.no_edges = true };

static const struct option table[] = {
	{ "where samples come from", 0, OPTION_GROUP, NULL, NULL, NULL, NULL },
	{ "socket", 0, OPTION_TEXT, "PATH",
	  "a daemon's (default that of $XDG_RUNTIME_DIR, or /run/culprit-daemon/control)",
	  &asked.socket, NULL },
	{ "own", 0, OPTION_FLAG, NULL, "sample by itself, though a daemon does", &asked.own, NULL },
	{ "what to watch", 0, OPTION_GROUP, NULL, NULL, NULL, NULL },
	{ "all-cpus", 'a', OPTION_FLAG, NULL, "everything on this machine (the default)",
	  &asked.all_cpus, NULL },
	{ "pid", 'p', OPTION_LIST, "PID", "running processes (PID,PID...)", &asked.pids, NULL },
	{ "tid", 't', OPTION_LIST, "TID", "single threads (TID,TID...)", &asked.tids, NULL },
	{ "children", 0, OPTION_FLAG, NULL,
	  "of --pid: the processes that are below it already, too", &asked.children, NULL },
	{ "cpu", 'C', OPTION_TEXT, "CPUS", "only these CPUs, as 0-3,8", &asked.sampling.cpus,
	  NULL },
	SAMPLING_PLACE_ROWS(asked.sampling),
	{ "what to count", 0, OPTION_GROUP, NULL, NULL, NULL, NULL },
	SAMPLING_RATE_ROWS(asked.sampling),
	SAMPLING_TURN_ROWS(asked.sampling),
	SAMPLING_IDENTITY_ROWS(asked.sampling),
	SAMPLING_RING_ROW(asked.sampling),
	{ "view", 0, OPTION_GROUP, NULL, NULL, NULL, NULL },
	{ "delay", 'd', OPTION_NS, "TIME", "from one table to the next (default 2s)",
	  &asked.delay_ns, NULL },
	{ "window", 'w', OPTION_NS, "TIME", "what a table is about (default the last 6s)",
	  &asked.window_ns, &asked.has_window },
	{ "by", 0, OPTION_TEXT, "PART[,PART]",
	  "procedure (the default), image, process, thread, cpu, cgroup, service, container",
	  &asked.by, NULL },
	{ "sort", 0, OPTION_TEXT, "KEY", "time (the default), cpi or name", &asked.sort, NULL },
	{ "search", 0, OPTION_TEXT, "TEXT", "only rows with that text", &asked.search, NULL },
	FULL_NAMES_OPTION_ROW(asked.full_names),
	{ "without a terminal", 0, OPTION_GROUP, NULL, NULL, NULL, NULL },
	{ "batch", 'b', OPTION_FLAG, NULL, "print tables on standard output", &asked.batch, NULL },
	{ "times", 'n', OPTION_U64, "N", "end after so many of them", &asked.times,
	  &asked.has_times },
	{ "limit", 0, OPTION_U64, "N", "rows of each (default 20); 0: all", &asked.limit,
	  &asked.has_limit },
	{ NULL, 0, OPTION_FLAG, NULL, NULL, NULL, NULL },
};

const struct option *top_options_table(void)
{
	return table;
}

struct top_options *top_options(void)
{
	return &asked;
}

const char *top_options_own(const struct top_options *options)
{
	const struct sampling_options *sampling = &options->sampling;
	const struct {
		bool given;
		const char *name;
	} own[] = {
		{ options->own, "own" },
		{ options->all_cpus, "all-cpus" },
		{ options->pids.count, "pid" },
		{ options->tids.count, "tid" },
		{ sampling->cpus, "cpu" },
		{ sampling->cgroup, "cgroup" },
		{ sampling->user_only, "user" },
		{ sampling->kernel_only, "kernel" },
		{ sampling->events.count, "event" },
		{ sampling->has_frequency, "frequency" },
		{ sampling->has_period, "count" },
		{ sampling->has_overhead, "overhead" },
		{ sampling->engine, "engine" },
		{ sampling->turns, "turns" },
		{ sampling->no_random, "no-random" },
		{ sampling->per_process, "per-process" },
		{ sampling->per_thread, "per-thread" },
		{ sampling->per_cpu, "per-cpu" },
		{ sampling->ring_pages, "mmap-pages" },
	};
	for (size_t i = 0; i < COUNT_OF(own); i++)
		if (own[i].given)
			return own[i].name;
	return NULL;
}

const char *top_options_sort(const struct top_options *options)
{
	return options->sort && strcmp(options->sort, "time") != 0 ? options->sort : NULL;
}

static int check_whom(void)
{
	const struct sampling_options *sampling = &asked.sampling;
	bool tasks = asked.pids.count || asked.tids.count;
	const char *named = asked.pids.count ? "pid" : "tid";
	const char *own = top_options_own(&asked);
	if (asked.children && !asked.pids.count)
		return options_misuse(&verb_top, "--children needs --pid");
	if (asked.all_cpus && tasks)
		return options_misuse(&verb_top, "--all-cpus and --%s exclude each other", named);
	if (sampling->cgroup && tasks)
		return options_misuse(&verb_top, "--cgroup and --%s exclude each other", named);
	if (asked.socket && own)
		return options_misuse(&verb_top,
				      "--socket and --%s exclude each other: what a daemon samples "
				      "is settled",
				      own);
	return 0;
}

static int check_view(void)
{
	static const char *const keys[] = { "time", "cpi", "name" };
	bool known = !asked.sort;
	for (size_t i = 0; i < COUNT_OF(keys) && !known; i++)
		known = strcmp(asked.sort, keys[i]) == 0;
	if (!known)
		return options_misuse(&verb_top, "--sort is time, cpi or name, not '%s'",
				      asked.sort);
	if (asked.delay_ns < SHORTEST_DELAY_NS)
		return options_misuse(&verb_top, "--delay needs at least 100ms");
	if (!asked.has_window && asked.window_ns < asked.delay_ns)
		asked.window_ns = asked.delay_ns;
	if (asked.window_ns < asked.delay_ns)
		return options_misuse(&verb_top, "--window needs at least the time of --delay");
	if (asked.window_ns / asked.delay_ns > WINDOW_MOST)
		return options_misuse(&verb_top, "--window takes at most %u times --delay",
				      WINDOW_MOST);
	if (!asked.batch && (asked.has_times || asked.has_limit))
		return options_misuse(&verb_top, "--%s goes with --batch",
				      asked.has_times ? "times" : "limit");
	if (asked.has_times && asked.times == 0)
		return options_misuse(&verb_top, "--times needs at least 1");
	int status = report_parts_choose(&verb_top, asked.by, &asked.rows);
	if (status)
		return status;
	if (report_options_have(&asked.rows, REPORT_LINE) ||
	    report_options_have(&asked.rows, REPORT_ADDRESS))
		return options_misuse(&verb_top,
				      "--by line and address are of recordings: 'culprit report' "
				      "has them");
	return 0;
}

int top_options_read(int argc, char **argv)
{
	int count;
	struct top_tasks *tasks = &asked.tasks;
	int status = options_parse(&verb_top, argc, argv, OPTIONS_ANYWHERE, &count);
	if (status == 0 && count > 0)
		status = options_misuse(
			&verb_top,
			"'%s' is no option: top watches what runs; 'culprit record -- COMMAND' "
			"samples a command",
			argv[1]);
	if (status == 0)
		status = check_whom();
	if (status == 0)
		status = check_view();
	if (status == 0)
		status = sampling_options_check(&verb_top, &asked.sampling);
	if (status == 0)
		status = task_list_parse(&verb_top, &asked.pids, "--pid", tasks->pids,
					 &tasks->pid_count);
	return status ? status
		      : task_list_parse(&verb_top, &asked.tids, "--tid", tasks->tids,
					&tasks->tid_count);
}
