#include "cli/stat_options.h"

#include <inttypes.h>
#include <string.h>

#include "analyze/runs/run_values.h"
#include "base/number.h"

#define REPEAT_DEFAULT	     10 /* rounds of --cmd: enough for a verdict of 95 % on several events */
#define SHORTEST_INTERVAL_NS UINT64_C(1000000)

struct stat_options stat_asked = { .topdown_level = 1, .repeat = 1, .warmup = 0 };
#define asked stat_asked

static const struct option table[] = {
	{ "what to count for", 0, OPTION_GROUP, NULL, NULL, NULL, NULL },
	{ "all-cpus", 'a', OPTION_FLAG, NULL, "everything on this machine", &asked.all_cpus, NULL },
	{ "pid", 'p', OPTION_LIST, "PID", "running processes (PID,PID...)", &asked.pids, NULL },
	{ "tid", 't', OPTION_LIST, "TID", "single threads (TID,TID...)", &asked.tids, NULL },
	{ "cpu", 'C', OPTION_TEXT, "CPUS", "all that runs on these CPUs, as 0-3,8", &asked.cpus,
	  NULL },
	{ "no-inherit", 'i', OPTION_FLAG, NULL, "without threads and processes that are started",
	  &asked.no_inherit, NULL },
	{ "user", 'u', OPTION_FLAG, NULL, "user code only", &asked.user_only, NULL },
	{ "kernel", 'k', OPTION_FLAG, NULL, "kernel code only", &asked.kernel_only, NULL },
	{ "what to count", 0, OPTION_GROUP, NULL, NULL, NULL, NULL },
	{ "event", 'e', OPTION_LIST, "EVENT", "event or {group}, as 'culprit events' lists them",
	  &asked.events, NULL },
	{ "metric", 'M', OPTION_LIST, "METRIC",
	  "ipc, branch-miss-rate, ... or an expression of events: instructions/cycles",
	  &asked.metrics, NULL },
	{ "detailed", 'd', OPTION_FLAG, NULL, "loads and misses of the caches, too",
	  &asked.detailed, NULL },
	{ "topdown", 0, OPTION_OPTIONAL_DOUBLE, "LEVEL",
	  "what the pipeline's slots were used for; levels 1 and 2", &asked.topdown_level,
	  &asked.has_topdown },
	{ "null", 'n', OPTION_FLAG, NULL, "count nothing, only take the time", &asked.null_run,
	  NULL },
	{ "rows", 0, OPTION_GROUP, NULL, NULL, NULL, NULL },
	{ "per-thread", 0, OPTION_FLAG, NULL, "of --pid and --tid: each thread by itself",
	  &asked.per_thread, NULL },
	{ "per-core", 0, OPTION_FLAG, NULL, "of --all-cpus and --cpu: each core by itself",
	  &asked.per_core, NULL },
	{ "per-cpu", 'A', OPTION_FLAG, NULL, "of --all-cpus and --cpu: each CPU by itself",
	  &asked.per_cpu, NULL },
	{ "when", 0, OPTION_GROUP, NULL, NULL, NULL, NULL },
	{ "interval", 'I', OPTION_TEXT, "MS", "print what was counted every MS milliseconds",
	  &asked.interval, NULL },
	{ "delay", 'D', OPTION_TEXT, "MS",
	  "start counting so much later; -1: when --control says so", &asked.delay, NULL },
	{ "duration", 0, OPTION_NS, "TIME", "end after this time, as 30s", &asked.duration_ns,
	  &asked.has_duration },
	{ "timeout", 0, OPTION_TEXT, "MS", "the same in milliseconds", &asked.timeout, NULL },
	{ "control", 0, OPTION_TEXT, "fd:CTL[,ACK]|fifo:CTL[,ACK]",
	  "obey 'enable' and 'disable' from there", &asked.control, NULL },
	{ "several runs", 0, OPTION_GROUP, NULL, NULL, NULL, NULL },
	{ "repeat", 'r', OPTION_U64, "N",
	  "run the command N times: mean and interval (of --cmd: 10 rounds)", &asked.repeat,
	  &asked.has_repeat },
	{ "cmd", 0, OPTION_LIST, "COMMAND",
	  "one of the commands to compare, in rounds of random order", &asked.commands, NULL },
	{ "warmup", 0, OPTION_U64, "N", "first N runs, or rounds, that are not counted",
	  &asked.warmup, &asked.has_warmup },
	{ "seed", 0, OPTION_U64, "N", "of the random order", &asked.seed, &asked.has_seed },
	{ "show-output", 0, OPTION_FLAG, NULL, "of --cmd: let through what they print",
	  &asked.show_output, NULL },
	{ "output", 0, OPTION_GROUP, NULL, NULL, NULL, NULL },
	{ "field-separator", 'x', OPTION_TEXT, "TEXT", "lines of fields, as perf stat -x",
	  &asked.separator, NULL },
	{ "csv", 0, OPTION_FLAG, NULL, "the same as -x,", &asked.csv, NULL },
	{ "json", 0, OPTION_FLAG, NULL, "one JSON document; with --interval one on each line",
	  &asked.json, NULL },
	{ "output", 'o', OPTION_TEXT, "FILE", "write to this file ('-': standard output)",
	  &asked.output, NULL },
	{ "append", 0, OPTION_FLAG, NULL, "behind what the file has already", &asked.append, NULL },
	{ NULL, 0, OPTION_FLAG, NULL, NULL, NULL, NULL },
};

const struct option *stat_option_table(void)
{
	return table;
}

/* Milliseconds, as perf has it, or a time with its unit. */
static bool parse_ms(const char *text, uint64_t *ns)
{
	double ms;
	if (!strchr(text, '%') && number_parse_double(text, &ms)) {
		if (ms >= 9e12)
			return false;
		*ns = (uint64_t)(ms * 1e6);
		return true;
	}
	return number_parse_duration_ns(text, ns);
}

/* 0 or the exit status. */
static int read_time(const struct verb *verb, const char *name, const char *text, uint64_t *ns)
{
	if (!text || parse_ms(text, ns))
		return 0;
	return options_misuse(verb, "--%s needs milliseconds, or a time as '2s', not '%s'", name,
			      text);
}

static int read_times(const struct verb *verb)
{
	uint64_t timeout_ns = 0;
	if (asked.timeout && asked.has_duration)
		return options_misuse(verb, "--timeout and --duration are the same");
	asked.start_disabled = asked.delay && strcmp(asked.delay, "-1") == 0;
	int status = read_time(verb, "interval", asked.interval, &asked.interval_ns);
	if (status == 0 && !asked.start_disabled)
		status = read_time(verb, "delay", asked.delay, &asked.delay_ns);
	if (status == 0)
		status = read_time(verb, "timeout", asked.timeout, &timeout_ns);
	if (status)
		return status;
	if (asked.timeout) {
		asked.has_duration = true;
		asked.duration_ns = timeout_ns;
	}
	if (asked.has_duration && asked.duration_ns == 0)
		return options_misuse(verb, "--%s needs a time above 0",
				      asked.timeout ? "timeout" : "duration");
	if (asked.interval && asked.interval_ns < SHORTEST_INTERVAL_NS)
		return options_misuse(verb, "--interval needs at least 1 millisecond");
	if (asked.start_disabled && !asked.control)
		return options_misuse(verb, "--delay -1 needs --control, which enables");
	return 0;
}

static int check_targets(const struct verb *verb, bool command)
{
	bool tasks = asked.pids.count || asked.tids.count;
	const char *task = asked.pids.count ? "pid" : "tid";
	if (asked.all_cpus && tasks)
		return options_misuse(verb, "--all-cpus and --%s exclude each other", task);
	if (asked.cpus && tasks)
		return options_misuse(verb, "--cpu and --%s exclude each other", task);
	if (asked.commands.count && (command || tasks || asked.all_cpus || asked.cpus))
		return options_misuse(verb, "--cmd is counted by itself: without %s",
				      command	       ? "another command"
				      : tasks	       ? "--pid and --tid"
				      : asked.all_cpus ? "--all-cpus"
						       : "--cpu");
	if (!command && !tasks && !asked.all_cpus && !asked.cpus && !asked.commands.count)
		return options_misuse(verb, "nothing to count for: give a command, --pid or "
					    "--all-cpus");
	if (asked.per_thread && !tasks)
		return options_misuse(verb, "--per-thread needs --pid or --tid");
	if ((asked.per_core || asked.per_cpu) && !asked.all_cpus && !asked.cpus)
		return options_misuse(verb, "--per-%s needs --all-cpus or --cpu",
				      asked.per_core ? "core" : "cpu");
	if (asked.per_thread + asked.per_core + asked.per_cpu > 1)
		return options_misuse(verb, "--per-thread, --per-core and --per-cpu exclude each "
					    "other");
	return 0;
}

static int check_runs(const struct verb *verb, bool command)
{
	bool several = asked.has_repeat || asked.commands.count;
	if (asked.commands.count == 1)
		return options_misuse(verb, "--cmd is given twice or more; one command is run by "
					    "--repeat N");
	if (!several && (asked.has_warmup || asked.has_seed || asked.show_output))
		return options_misuse(verb, "--%s needs %s",
				      asked.has_warmup ? "warmup"
				      : asked.has_seed ? "seed"
						       : "show-output",
				      asked.has_warmup ? "--repeat or --cmd" : "--cmd");
	if (!several)
		return 0;
	if (asked.repeat == 0 || asked.repeat > RUN_ROUNDS_MOST)
		return options_misuse(verb, "--repeat needs a number from 1 to %d",
				      RUN_ROUNDS_MOST);
	if (asked.warmup > RUN_ROUNDS_MOST)
		return options_misuse(verb, "--warmup needs a number up to %d", RUN_ROUNDS_MOST);
	if (!command && !asked.commands.count)
		return options_misuse(verb, "--repeat needs a command");
	if (asked.interval || asked.control || asked.has_duration || asked.delay ||
	    asked.per_core || asked.per_cpu || asked.per_thread || asked.has_topdown)
		return options_misuse(verb, "--%s goes with one run, not with %s",
				      asked.interval	   ? "interval"
				      : asked.control	   ? "control"
				      : asked.has_duration ? "duration"
				      : asked.delay	   ? "delay"
				      : asked.per_core	   ? "per-core"
				      : asked.per_cpu	   ? "per-cpu"
				      : asked.per_thread   ? "per-thread"
							   : "topdown",
				      asked.commands.count ? "--cmd" : "--repeat");
	if (asked.commands.count && !asked.has_repeat)
		asked.repeat = REPEAT_DEFAULT;
	return 0;
}

static int check_counted(const struct verb *verb)
{
	if (asked.user_only && asked.kernel_only)
		return options_misuse(verb, "--user and --kernel exclude each other");
	if (asked.null_run &&
	    (asked.events.count || asked.metrics.count || asked.detailed || asked.has_topdown))
		return options_misuse(verb, "--null counts nothing: without --%s",
				      asked.events.count    ? "event"
				      : asked.metrics.count ? "metric"
				      : asked.detailed	    ? "detailed"
							    : "topdown");
	if (asked.has_topdown && asked.topdown_level != 1 && asked.topdown_level != 2)
		return options_misuse(verb, "--topdown has levels 1 and 2");
	return 0;
}

static int check_output(const struct verb *verb)
{
	bool separated = asked.csv || asked.separator;
	if (asked.json && separated)
		return options_misuse(verb, "--json and --%s exclude each other",
				      asked.csv ? "csv" : "field-separator");
	if (asked.csv && asked.separator)
		return options_misuse(verb, "--csv is --field-separator ',': one of them");
	if (asked.separator && (!*asked.separator || strpbrk(asked.separator, "\n\r\"")))
		return options_misuse(verb, "--field-separator needs a text without quotes and "
					    "ends of lines");
	if (asked.append && (!asked.output || strcmp(asked.output, "-") == 0))
		return options_misuse(verb, "--append needs --output and a file");
	asked.separator = asked.csv ? "," : asked.separator;
	asked.format = asked.json ? STAT_JSON : separated ? STAT_SEPARATED : STAT_TEXT;
	asked.rows = asked.per_thread ? STAT_PER_THREAD
		     : asked.per_core ? STAT_PER_CORE
		     : asked.per_cpu  ? STAT_PER_CPU
				      : STAT_TOGETHER;
	return 0;
}

int stat_options_read(const struct verb *verb, int argc, char **argv, int *count)
{
	int status = options_parse(verb, argc, argv, OPTIONS_BEFORE_ARGUMENTS, count);
	if (status == 0)
		status = check_targets(verb, *count > 0);
	if (status == 0)
		status = check_counted(verb);
	if (status == 0)
		status = read_times(verb);
	if (status == 0)
		status = check_runs(verb, *count > 0);
	return status ? status : check_output(verb);
}
