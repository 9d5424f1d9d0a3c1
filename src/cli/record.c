#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "cli/message.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "cli/sampling_options.h"
#include "cli/task_list.h"
#include "cli/verbs.h"
#include "collect/collector.h"
#include "daemon/recorder.h"
#include "daemon/recording_process.h"
#include "machine/event.h"

#define MERGE_INTERVAL_NS 1000000000u
#define SHORTEST_EPOCH_NS 1000000000u /* epochs are named by the second */
#define BURST_PERCENT	  10

/* Values of options; filled once by options_parse(). */
static struct {
	bool all_cpus, bursts, children;
	bool has_duration, has_epoch;
	struct option_list pids, tids;
	const char *output;
	uint64_t duration_ns, delay_ns, epoch_ns, merge_ns;
	double burst_percent;
	struct sampling_options sampling;
} asked = { .merge_ns = MERGE_INTERVAL_NS, .burst_percent = BURST_PERCENT };

static const struct option options[] = {
	{ "what to watch", 0, OPTION_GROUP, NULL, NULL, NULL, NULL },
	{ "all-cpus", 'a', OPTION_FLAG, NULL, "everything on this machine", &asked.all_cpus, NULL },
	{ "pid", 'p', OPTION_LIST, "PID", "running processes (PID,PID...)", &asked.pids, NULL },
	{ "tid", 't', OPTION_LIST, "TID", "single threads (TID,TID...)", &asked.tids, NULL },
	{ "children", 0, OPTION_FLAG, NULL,
	  "of --pid: the processes that are below it already, too", &asked.children, NULL },
	{ "cpu", 'C', OPTION_TEXT, "CPUS",
	  "only these CPUs, as 0-3,8; alone: all that runs on them", &asked.sampling.cpus, NULL },
	SAMPLING_PLACE_ROWS(asked.sampling),
	{ "what to count", 0, OPTION_GROUP, NULL, NULL, NULL, NULL },
	SAMPLING_EVENT_ROWS(asked.sampling),
	{ "bursts", 0, OPTION_OPTIONAL_DOUBLE, "PERCENT",
	  "step through instructions this much of the time (10): which way branches go",
	  &asked.burst_percent, &asked.bursts },
	{ "what to keep", 0, OPTION_GROUP, NULL, NULL, NULL, NULL },
	{ "output", 'o', OPTION_TEXT, "FILE",
	  "the profile (default culprit.prof; with --epoch a database, culprit.db)", &asked.output,
	  NULL },
	SAMPLING_KEEP_ROWS(asked.sampling),
	{ "when", 0, OPTION_GROUP, NULL, NULL, NULL, NULL },
	{ "duration", 0, OPTION_NS, "TIME", "end after this time, as 30s", &asked.duration_ns,
	  &asked.has_duration },
	{ "delay", 'D', OPTION_NS, "TIME", "start sampling after this time", &asked.delay_ns,
	  NULL },
	{ "epoch", 0, OPTION_NS, "TIME", "a file each TIME; --output names a database",
	  &asked.epoch_ns, &asked.has_epoch },
	{ "merge-interval", 0, OPTION_NS, "TIME", "how much a crash may lose (default 1s)",
	  &asked.merge_ns, NULL },
	SAMPLING_RING_ROW(asked.sampling),
	{ NULL, 0, OPTION_FLAG, NULL, NULL, NULL, NULL },
};

static const struct option *record_options(void)
{
	return options;
}

struct tasks {
	pid_t pids[TASK_LIST_MOST], tids[TASK_LIST_MOST];
	size_t pid_count, tid_count;
};

/* Refuses options that exclude each other or have impossible values. 0 or the exit status. */
static int check_conflicts(bool command)
{
	const struct sampling_options *sampling = &asked.sampling;
	bool tasks = asked.pids.count || asked.tids.count;
	int status = sampling_options_check(&verb_record, &asked.sampling);
	if (status)
		return status;
	if (asked.bursts && !(asked.burst_percent > 0 && asked.burst_percent <= 50))
		return options_misuse(&verb_record,
				      "--bursts needs a percentage above 0, at most 50");
	if (asked.bursts && sampling->kernel_only)
		return options_misuse(&verb_record,
				      "--bursts is of user code, which --kernel leaves "
				      "out");
	if (asked.bursts && (asked.all_cpus || sampling->cgroup || (sampling->cpus && !tasks)))
		return options_misuse(&verb_record,
				      "--bursts needs a command alone, --pid or --tid");
	if (asked.children && !asked.pids.count)
		return options_misuse(&verb_record, "--children needs --pid");
	if (asked.all_cpus && tasks)
		return options_misuse(&verb_record, "--all-cpus and --%s exclude each other",
				      asked.pids.count ? "pid" : "tid");
	if (sampling->cgroup && tasks)
		return options_misuse(&verb_record, "--cgroup and --%s exclude each other",
				      asked.pids.count ? "pid" : "tid");
	if (asked.has_duration && asked.duration_ns == 0)
		return options_misuse(&verb_record, "--duration needs a time above 0");
	if (asked.has_epoch && asked.epoch_ns < SHORTEST_EPOCH_NS)
		return options_misuse(&verb_record, "--epoch needs at least 1s");
	if (asked.merge_ns < 1000000)
		return options_misuse(&verb_record, "--merge-interval needs at least 1ms");
	if (!command && !tasks && !asked.all_cpus && !sampling->cpus && !sampling->cgroup)
		return options_misuse(&verb_record, "nothing to record: give a command, --pid or "
						    "--all-cpus");
	return 0;
}

static void show_progress(void *context, const struct recorder_progress *progress)
{
	(void)context;
	progress_show(progress);
}

static void say(void *context, enum recorder_news kind, const char *sentence)
{
	(void)context;
	progress_clear();
	if (kind == RECORDER_ERROR)
		message_error("%s", sentence);
	else
		message_warning("%s", sentence);
}

/* 0 or the exit status. */
static int open_recorder(struct recorder *recorder, const struct event_list *events,
			 const struct tasks *tasks)
{
	struct collect_options collect = sampling_options_collect(&asked.sampling, events);
	collect.pids = tasks->pids;
	collect.pid_count = tasks->pid_count;
	collect.tids = tasks->tids;
	collect.tid_count = tasks->tid_count;
	collect.children = asked.children;
	collect.command_pid = recorder->command.pid;
	collect.delayed = asked.delay_ns > 0;
	collect.stepper = recorder->stepper.pid ? &recorder->stepper : NULL;
	collect.burst_percent = asked.burst_percent;
	collect.wish = recorder_wish;
	collect.wish_context = recorder;
	collect.wish_fd = recorder->signals;
	collect.target = asked.sampling.cgroup			 ? COLLECT_CGROUP
			 : tasks->pid_count || tasks->tid_count	 ? COLLECT_TASKS
			 : asked.all_cpus || asked.sampling.cpus ? COLLECT_SYSTEM
								 : COLLECT_COMMAND;
	struct error err;
	if (recorder_open_epoch(recorder, &err) < 0 ||
	    collector_new(&collect, &recorder->collector, &err) < 0)
		return message_failure(&err);
	return 0;
}

/* Starts the process that steps (--bursts); that of a command, its parent, is there already. 0 or
 * the exit status. */
static int start_stepper(struct recorder *recorder)
{
	struct error err;
	if (!asked.bursts || recorder->stepper.pid || stepper_start(&recorder->stepper, &err) == 0)
		return 0;
	return message_failure(&err);
}

/* The command waits until it is released. 0 or the exit status. */
static int start_command(struct recorder *recorder, char *const argv[], const sigset_t *before)
{
	int ret = command_start(argv, before, asked.bursts ? &recorder->stepper : NULL,
				&recorder->command);
	if (ret >= 0)
		return 0;
	message_error("cannot start a process: %s", strerror(-ret));
	return 1;
}

/* The times of a command are measured only where it alone is sampled, from its start. */
static struct watched_time watched_time_of(const struct tasks *tasks)
{
	bool command = !asked.all_cpus && !asked.sampling.cpus && !asked.sampling.cgroup &&
		       !asked.delay_ns;
	return (struct watched_time){
		.pids = tasks->pids,
		.pid_count = tasks->pid_count,
		.tids = tasks->tids,
		.tid_count = tasks->tid_count,
		.children = asked.children,
		.samples = command ? WATCHED_SAMPLES_COMMAND : WATCHED_SAMPLES_OTHERS,
	};
}

static void summarise(const struct recorder *recorder)
{
	const struct bill_totals *totals = &recorder->totals;
	uint64_t lost = bill_totals_lost(totals);
	struct stat written = { 0 };
	const char *output = recorder->output;
	bool usual = strcmp(output, "culprit.prof") == 0;
	bool known = stat(output, &written) == 0 && S_ISREG(written.st_mode);
	if (totals->throttled)
		message_warning(
			"the kernel stopped events %" PRIu64 " times for their rate "
			"(kernel.perf_event_max_sample_rate): counts and samples are low by "
			"what passed meanwhile; choose a longer period",
			totals->throttled);
	if (lost)
		message_warning("%" PRIu64
				" samples were lost because a buffer was full: shares still hold, "
				"totals are low by what these stood for; more --mmap-pages help",
				lost);
	if (totals->lost_skipped)
		message_warning("%" PRIu64
				" samples were skipped by the kernel: they interrupted another BPF "
				"program, or came late, in code that is not to be sampled; totals "
				"are low by what these stood for",
				totals->lost_skipped);
	char missing[1024];
	collector_describe_missing(recorder->collector, totals->stored, missing, sizeof(missing));
	if (totals->stored == 0)
		message_warning("no samples: %s",
				missing[0] ? missing
					   : "what was watched did not run, or not long enough");
	else if (missing[0])
		message_warning("%s", missing);
	if (known)
		message_note("%" PRIu64 " sample%s in %.1f s, %" PRIu64
			     " lost; '%s' has %.1f kB; next: "
			     "culprit report%s%s",
			     totals->stored, totals->stored == 1 ? "" : "s", recorder->seconds,
			     lost, output, (double)written.st_size / 1000, usual ? "" : " ",
			     usual ? "" : output);
	else
		message_note("%" PRIu64 " sample%s in %.1f s, %" PRIu64
			     " lost; next: culprit report %s",
			     totals->stored, totals->stored == 1 ? "" : "s", recorder->seconds,
			     lost, output);
}

/* Returns the exit status: a command's own, where it ended and nothing failed. */
static int run_recorder(struct recorder *recorder, char *const argv[])
{
	int ret = recorder_run(recorder);
	progress_clear();
	if (recorder->exec_code < 0) {
		message_error("cannot run '%s': %s", argv[0], strerror(-recorder->exec_code));
		return command_exec_failure_status(recorder->exec_code);
	}
	if (recorder->finished)
		summarise(recorder);
	if (ret < 0)
		return 1;
	/* after two signals or --duration the command may still run */
	bool ended = recorder->command.pid && command_reap(&recorder->command);
	return ended ? command_exit_status(&recorder->command) : 0;
}

static int run_record(int argc, char **argv)
{
	int count;
	recording_process_begin();
	int status = options_parse(&verb_record, argc, argv, OPTIONS_BEFORE_ARGUMENTS, &count);
	if (!asked.output)
		asked.output = asked.has_epoch ? "culprit.db" : "culprit.prof";
	if (status == 0)
		status = check_conflicts(count > 0);
	static struct tasks tasks;
	if (status == 0)
		status = task_list_parse(&verb_record, &asked.pids, "--pid", tasks.pids,
					 &tasks.pid_count);
	if (status == 0)
		status = task_list_parse(&verb_record, &asked.tids, "--tid", tasks.tids,
					 &tasks.tid_count);
	if (status)
		return status;

	sigset_t before;
	CLEANUP(event_list_release) struct event_list events = { 0 };
	struct recorder recorder = { .output = asked.output,
				     .listener = { .say = say, .progress = show_progress },
				     .labels = asked.sampling.labels.items,
				     .label_count = asked.sampling.labels.count,
				     .claims = asked.all_cpus && !asked.sampling.cpus,
				     .epoch_ns = asked.has_epoch ? asked.epoch_ns : 0,
				     .merge_ns = asked.merge_ns,
				     .delay_ns = asked.delay_ns,
				     .duration_ns = asked.duration_ns,
				     .has_duration = asked.has_duration,
				     .watched = watched_time_of(&tasks),
				     .signals = recording_process_signals(&before) };
	argv[count + 1] = NULL; /* options_parse() moved the command to the front */
	status = sampling_options_events(&asked.sampling, &events);
	if (status == 0 && count > 0)
		status = start_command(&recorder, argv + 1, &before);
	if (status == 0)
		status = start_stepper(&recorder);
	if (status == 0)
		status = open_recorder(&recorder, &events, &tasks);
	if (status == 0)
		status = run_recorder(&recorder, argv + 1);
	recorder_release(&recorder);
	return status;
}

const struct verb verb_record = {
	.name = "record",
	.run = run_record,
	.summary = "sample a command, processes or the whole machine",
	.usage = "[OPTIONS] [--] [COMMAND [ARGUMENTS...]]",
	.options = record_options,
};
