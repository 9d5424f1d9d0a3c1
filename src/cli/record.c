#include <inttypes.h>
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/number.h"
#include "cli/asked_events.h"
#include "cli/message.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "cli/task_list.h"
#include "cli/verbs.h"
#include "collect/collector.h"
#include "collect/shares.h"
#include "collect/stacks.h"
#include "daemon/recorder.h"
#include "machine/event.h"
#include "unwind/stack_walk.h"

#define MERGE_INTERVAL_NS 1000000000u
#define SHORTEST_EPOCH_NS 1000000000u /* epochs are named by the second */
#define SHORTEST_TURN_NS  2000000u
#define LONGEST_TURN_NS	  10000000000u
#define BURST_PERCENT	  10
#define LARGE_BYTES	  (1 << 20) /* where arrays begin to grow by a quarter (base/growth.h) */

/* Values of options; filled once by options_parse(). */
static struct {
	bool all_cpus, user_only, kernel_only, stacks, no_random, no_stash, redact;
	bool edges, no_edges, no_edge_memory;
	bool per_process, per_thread, per_cpu;
	bool bursts, children;
	bool gather_unlimited;
	bool has_period, has_frequency, has_overhead, has_duration, has_epoch, has_apart;
	struct option_list pids, tids, events;
	const char *cpus, *cgroup, *output, *gather_limits, *engine, *call_graph, *turns;
	enum collect_stacks stacks_by;
	uint64_t stack_bytes;
	uint64_t gather_ns, turn_ns;
	uint64_t period, frequency_hz, apart_hz, duration_ns, delay_ns, epoch_ns, merge_ns,
		ring_pages;
	double overhead_percent, burst_percent;
} asked = { .merge_ns = MERGE_INTERVAL_NS, .burst_percent = BURST_PERCENT };

static const struct option options[] = {
	{ "what to watch", 0, OPTION_GROUP, NULL, NULL, NULL, NULL },
	{ "all-cpus", 'a', OPTION_FLAG, NULL, "everything on this machine", &asked.all_cpus, NULL },
	{ "pid", 'p', OPTION_LIST, "PID", "running processes (PID,PID...)", &asked.pids, NULL },
	{ "tid", 't', OPTION_LIST, "TID", "single threads (TID,TID...)", &asked.tids, NULL },
	{ "children", 0, OPTION_FLAG, NULL,
	  "of --pid: the processes that are below it already, too", &asked.children, NULL },
	{ "cpu", 'C', OPTION_TEXT, "CPUS",
	  "only these CPUs, as 0-3,8; alone: all that runs on them", &asked.cpus, NULL },
	{ "cgroup", 0, OPTION_TEXT, "PATH", "only tasks in this control group", &asked.cgroup,
	  NULL },
	{ "user", 'u', OPTION_FLAG, NULL, "user code only", &asked.user_only, NULL },
	{ "kernel", 'k', OPTION_FLAG, NULL, "kernel code only", &asked.kernel_only, NULL },
	{ "what to count", 0, OPTION_GROUP, NULL, NULL, NULL, NULL },
	{ "event", 'e', OPTION_LIST, "EVENT", "event or {group}, as 'culprit events' lists them",
	  &asked.events, NULL },
	{ "frequency", 'F', OPTION_U64, "HZ", "samples a second and CPU, about",
	  &asked.frequency_hz, &asked.has_frequency },
	{ "count", 'c', OPTION_U64, "N", "a sample every N events, exactly", &asked.period,
	  &asked.has_period },
	{ "overhead", 0, OPTION_DOUBLE, "PERCENT",
	  "the rate that this much of a CPU buys (default 1)", &asked.overhead_percent,
	  &asked.has_overhead },
	{ "engine", 0, OPTION_TEXT, "ring|bpf",
	  "how samples come: one by one, or counted in the kernel (usual for clocks of --all-cpus)",
	  &asked.engine, NULL },
	{ "stacks-frequency", 0, OPTION_U64, "HZ",
	  "of --engine bpf: samples with stacks or to interpret (a quarter of the others)",
	  &asked.apart_hz, &asked.has_apart },
	{ "turns", 0, OPTION_TEXT, "TIME|kernel",
	  "of events that outnumber counters: how long one counts (100ms), or as the kernel does "
	  "it",
	  &asked.turns, NULL },
	{ "no-random", 0, OPTION_FLAG, NULL, "one period throughout", &asked.no_random, NULL },
	{ "stacks", 'g', OPTION_FLAG, NULL, "stacks: who called what was sampled", &asked.stacks,
	  NULL },
	{ "call-graph", 0, OPTION_TEXT, "eh[,BYTES]|fp|lbr",
	  "stacks by unwind rules and a copy of the stack (8192; usual), by frame pointers, or as "
	  "the CPU keeps calls",
	  &asked.call_graph, NULL },
	{ "edges", 0, OPTION_FLAG, NULL,
	  "interpret samples: where branches went (usual for tasks without a PMU)", &asked.edges,
	  NULL },
	{ "no-edges", 0, OPTION_FLAG, NULL, "do not interpret samples", &asked.no_edges, NULL },
	{ "no-edge-memory", 0, OPTION_FLAG, NULL,
	  "do not read what registers point to, to interpret samples", &asked.no_edge_memory,
	  NULL },
	{ "bursts", 0, OPTION_OPTIONAL_DOUBLE, "PERCENT",
	  "step through instructions this much of the time (10): which way branches go",
	  &asked.burst_percent, &asked.bursts },
	{ "what to keep", 0, OPTION_GROUP, NULL, NULL, NULL, NULL },
	{ "output", 'o', OPTION_TEXT, "FILE",
	  "the profile (default culprit.prof; with --epoch a database, culprit.db)", &asked.output,
	  NULL },
	{ "per-process", 0, OPTION_FLAG, NULL, "keep process ids apart", &asked.per_process, NULL },
	{ "per-thread", 0, OPTION_FLAG, NULL, "keep threads apart", &asked.per_thread, NULL },
	{ "per-cpu", 0, OPTION_FLAG, NULL, "keep CPUs apart", &asked.per_cpu, NULL },
	{ "no-stash", 0, OPTION_FLAG, NULL, "leave out names and code of what was sampled",
	  &asked.no_stash, NULL },
	{ "redact", 0, OPTION_FLAG, NULL, "hash the names of functions and files", &asked.redact,
	  NULL },
	{ "gather-limits", 0, OPTION_TEXT, "TIME",
	  "for names and lines from each other user's files (300ms); none: no limits",
	  &asked.gather_limits, NULL },
	{ "when", 0, OPTION_GROUP, NULL, NULL, NULL, NULL },
	{ "duration", 0, OPTION_NS, "TIME", "end after this time, as 30s", &asked.duration_ns,
	  &asked.has_duration },
	{ "delay", 'D', OPTION_NS, "TIME", "start sampling after this time", &asked.delay_ns,
	  NULL },
	{ "epoch", 0, OPTION_NS, "TIME", "a file each TIME; --output names a database",
	  &asked.epoch_ns, &asked.has_epoch },
	{ "merge-interval", 0, OPTION_NS, "TIME", "how much a crash may lose (default 1s)",
	  &asked.merge_ns, NULL },
	{ "mmap-pages", 'm', OPTION_U64, "PAGES", "ring memory per CPU, a power of two",
	  &asked.ring_pages, NULL },
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

/* Reads how stacks are followed. False: it says nothing that can be done. */
static bool read_call_graph(void)
{
	const char *how = asked.call_graph;
	if (!how) {
		asked.stacks_by = !asked.stacks	 ? COLLECT_STACKS_NONE
				  : WALK_MACHINE ? COLLECT_STACKS_RULES
						 : COLLECT_STACKS_FRAME_POINTERS;
		return true;
	}
	asked.stacks_by = COLLECT_STACKS_FRAME_POINTERS;
	if (strcmp(how, "fp") == 0)
		return true;
	asked.stacks_by = COLLECT_STACKS_BRANCHES;
	if (strcmp(how, "lbr") == 0)
		return true;
	asked.stacks_by = COLLECT_STACKS_RULES;
	if (strncmp(how, "eh,", 3) != 0)
		return strcmp(how, "eh") == 0;
	return number_parse_u64(how + 3, &asked.stack_bytes) && asked.stack_bytes &&
	       asked.stack_bytes % 8 == 0 && asked.stack_bytes <= STACKS_COPIED_MOST;
}

static bool counted_in_kernel(void)
{
	return asked.engine && strcmp(asked.engine, "bpf") == 0;
}

/* Refuses options that exclude each other or have impossible values. 0 or the exit status. */
static int check_conflicts(bool command)
{
	bool tasks = asked.pids.count || asked.tids.count;
	if (asked.user_only && asked.kernel_only)
		return options_misuse(&verb_record, "--user and --kernel exclude each other");
	if (asked.has_period && asked.has_frequency)
		return options_misuse(&verb_record, "--count and --frequency exclude each other");
	if (asked.has_overhead && (asked.has_period || asked.has_frequency))
		return options_misuse(&verb_record, "--overhead chooses the rate, --%s sets it",
				      asked.has_period ? "count" : "frequency");
	if (asked.has_period && asked.period == 0)
		return options_misuse(&verb_record, "--count needs at least 1");
	if (asked.has_frequency && asked.frequency_hz == 0)
		return options_misuse(&verb_record, "--frequency needs at least 1");
	if (asked.has_overhead && !(asked.overhead_percent > 0 && asked.overhead_percent <= 50))
		return options_misuse(&verb_record,
				      "--overhead needs a percentage above 0, at most 50");
	if (asked.edges && asked.no_edges)
		return options_misuse(&verb_record, "--edges and --no-edges exclude each other");
	if (asked.edges && asked.kernel_only)
		return options_misuse(&verb_record,
				      "--edges is of user code, which --kernel leaves "
				      "out");
	if (asked.bursts && !(asked.burst_percent > 0 && asked.burst_percent <= 50))
		return options_misuse(&verb_record,
				      "--bursts needs a percentage above 0, at most 50");
	if (asked.bursts && asked.kernel_only)
		return options_misuse(&verb_record,
				      "--bursts is of user code, which --kernel leaves "
				      "out");
	if (asked.bursts && (asked.all_cpus || asked.cgroup || (asked.cpus && !tasks)))
		return options_misuse(&verb_record,
				      "--bursts needs a command alone, --pid or --tid");
	if (asked.children && !asked.pids.count)
		return options_misuse(&verb_record, "--children needs --pid");
	if (asked.all_cpus && tasks)
		return options_misuse(&verb_record, "--all-cpus and --%s exclude each other",
				      asked.pids.count ? "pid" : "tid");
	if (asked.cgroup && tasks)
		return options_misuse(&verb_record, "--cgroup and --%s exclude each other",
				      asked.pids.count ? "pid" : "tid");
	if (asked.has_duration && asked.duration_ns == 0)
		return options_misuse(&verb_record, "--duration needs a time above 0");
	if (asked.has_epoch && asked.epoch_ns < SHORTEST_EPOCH_NS)
		return options_misuse(&verb_record, "--epoch needs at least 1s");
	if (asked.gather_limits && strcmp(asked.gather_limits, "none") == 0)
		asked.gather_unlimited = true;
	else if (asked.gather_limits &&
		 (!number_parse_duration_ns(asked.gather_limits, &asked.gather_ns) ||
		  asked.gather_ns < SHARE_LEAST_NS))
		return options_misuse(&verb_record,
				      "--gather-limits needs a time of at least 20ms, or 'none'");
	if (asked.engine && strcmp(asked.engine, "ring") != 0 && !counted_in_kernel())
		return options_misuse(&verb_record, "--engine is 'ring' or 'bpf', not '%s'",
				      asked.engine);
	if (asked.turns && strcmp(asked.turns, "kernel") == 0)
		asked.turn_ns = TURNS_BY_KERNEL;
	else if (asked.turns &&
		 (!number_parse_duration_ns(asked.turns, &asked.turn_ns) ||
		  asked.turn_ns < SHORTEST_TURN_NS || asked.turn_ns > LONGEST_TURN_NS))
		return options_misuse(&verb_record,
				      "--turns needs a time from 2ms to 10s, or 'kernel'");
	if (asked.has_apart && asked.apart_hz == 0)
		return options_misuse(&verb_record, "--stacks-frequency needs at least 1");
	if (asked.has_apart &&
	    !(counted_in_kernel() && (asked.stacks || asked.call_graph || asked.edges)))
		return options_misuse(&verb_record,
				      "--stacks-frequency is of --engine bpf with --stacks or "
				      "--edges; elsewhere all samples have what was asked for");
	if (!read_call_graph())
		return options_misuse(&verb_record,
				      "--call-graph is 'eh', 'eh,' and bytes to copy, a multiple "
				      "of 8 up to %u, 'fp' or 'lbr', not '%s'",
				      STACKS_COPIED_MOST, asked.call_graph);
	if (asked.merge_ns < 1000000)
		return options_misuse(&verb_record, "--merge-interval needs at least 1ms");
	if (!command && !tasks && !asked.all_cpus && !asked.cpus && !asked.cgroup)
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

static void note(void *context, enum collect_note_kind kind, const char *sentence)
{
	(void)context;
	if (kind == COLLECT_WARNING)
		message_warning("%s", sentence);
	else
		message_note("%s", sentence);
}

static unsigned identity_asked(void)
{
	return (asked.per_process ? COLLECT_PER_PROCESS : 0u) |
	       (asked.per_thread ? COLLECT_PER_THREAD : 0u) |
	       (asked.per_cpu ? COLLECT_PER_CPU : 0u);
}

/* A folder of this user's whose files end with the boot, or with the session; NULL: there is none.
 */
static const char *cost_folder(char *folder, size_t size)
{
	const char *runtime = geteuid() == 0 ? "/run" : secure_getenv("XDG_RUNTIME_DIR");
	int length =
		runtime && runtime[0] == '/' ? snprintf(folder, size, "%s/culprit", runtime) : 0;
	return length > 0 && (size_t)length < size ? folder : NULL;
}

/* A folder of this user's for what can be made again; NULL: there is none. */
static const char *frame_folder(char *folder, size_t size)
{
	const char *cache = secure_getenv("XDG_CACHE_HOME"), *home = secure_getenv("HOME");
	int length = 0;
	if (cache && cache[0] == '/')
		length = snprintf(folder, size, "%s/culprit/frames", cache);
	else if (geteuid() == 0)
		length = snprintf(folder, size, "/var/cache/culprit/frames");
	else if (home && home[0] == '/')
		length = snprintf(folder, size, "%s/.cache/culprit/frames", home);
	return length > 0 && (size_t)length < size ? folder : NULL;
}

/* 0 or the exit status. */
static int open_recorder(struct recorder *recorder, const struct event_list *events,
			 const struct tasks *tasks)
{
	static char costs[512], frames[512];
	struct collect_options collect = {
		.pids = tasks->pids,
		.pid_count = tasks->pid_count,
		.tids = tasks->tids,
		.tid_count = tasks->tid_count,
		.children = asked.children,
		.command_pid = recorder->command.pid,
		.cgroup = asked.cgroup,
		.cpus = asked.cpus,
		.events = events,
		.default_events = asked.events.count == 0,
		.period = asked.period,
		.frequency_hz = asked.frequency_hz,
		.apart_hz = asked.apart_hz,
		.overhead_percent = asked.overhead_percent,
		.cost_folder = cost_folder(costs, sizeof(costs)),
		.frame_folder = frame_folder(frames, sizeof(frames)),
		.fixed_period = asked.has_period || asked.no_random,
		.delayed = asked.delay_ns > 0,
		.engine = !asked.engine		? COLLECT_ENGINE_USUAL
			  : counted_in_kernel() ? COLLECT_ENGINE_BPF
						: COLLECT_ENGINE_RING,
		.turn_ns = asked.turn_ns,
		.stacks = asked.stacks_by,
		.stack_bytes = (uint32_t)asked.stack_bytes,
		.user_only = asked.user_only,
		.kernel_only = asked.kernel_only,
		.edges = asked.edges	  ? COLLECT_EDGES_ALL
			 : asked.no_edges ? COLLECT_EDGES_NONE
					  : COLLECT_EDGES_USUAL,
		.edge_memory = !asked.no_edge_memory,
		.stepper = recorder->stepper.pid ? &recorder->stepper : NULL,
		.burst_percent = asked.burst_percent,
		.identity = identity_asked(),
		.stash = !asked.no_stash,
		.redact = asked.redact,
		.ring_pages = asked.ring_pages,
		.gather_unlimited = asked.gather_unlimited,
		.gather_time_ns = asked.gather_ns,
		.wish = recorder_wish,
		.wish_context = recorder,
		.wish_fd = recorder->signals,
		.note = note,
	};
	collect.target = asked.cgroup				? COLLECT_CGROUP
			 : tasks->pid_count || tasks->tid_count ? COLLECT_TASKS
			 : asked.all_cpus || asked.cpus		? COLLECT_SYSTEM
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

/* Signals that end a recording come through the returned signalfd from now on. */
static int take_over_signals(sigset_t *before)
{
	sigset_t ours;
	sigemptyset(&ours);
	sigaddset(&ours, SIGINT);
	sigaddset(&ours, SIGTERM);
	sigaddset(&ours, SIGHUP);
	sigaddset(&ours, SIGCHLD);
	sigprocmask(SIG_BLOCK, &ours, before);
	signal(SIGPIPE, SIG_IGN);
	return signalfd(-1, &ours, SFD_CLOEXEC | SFD_NONBLOCK);
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
	bool command = !asked.all_cpus && !asked.cpus && !asked.cgroup && !asked.delay_ns;
	return (struct watched_time){
		.pids = tasks->pids,
		.pid_count = tasks->pid_count,
		.tids = tasks->tids,
		.tid_count = tasks->tid_count,
		.children = asked.children,
		.samples = command ? WATCHED_SAMPLES_COMMAND : WATCHED_SAMPLES_OTHERS,
	};
}

static int read_events(struct event_list *events)
{
	bool substituted;
	int status = asked_events_read(&asked.events, events, &substituted);
	if (substituted && asked.has_period) {
		message_warning("--count %" PRIu64 " was meant for another event and is left out",
				asked.period);
		asked.has_period = false;
		asked.period = 0;
	}
	return status;
}

static void summarise(const struct recorder *recorder)
{
	const struct recorder_totals *totals = &recorder->totals;
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
	if (totals->lost)
		message_warning("%" PRIu64
				" samples were lost because a buffer was full: shares still hold, "
				"totals are low by what these stood for; more --mmap-pages help",
				totals->lost);
	if (totals->skipped)
		message_warning("%" PRIu64
				" samples were skipped by the kernel: they interrupted another BPF "
				"program, or came late, in code that is not to be sampled; totals "
				"are low by what these stood for",
				totals->skipped);
	char missing[1024];
	collector_describe_missing(recorder->collector, totals->samples, missing, sizeof(missing));
	if (totals->samples == 0)
		message_warning("no samples: %s",
				missing[0] ? missing
					   : "what was watched did not run, or not long enough");
	else if (missing[0])
		message_warning("%s", missing);
	if (known)
		message_note("%" PRIu64 " sample%s in %.1f s, %" PRIu64
			     " lost; '%s' has %.1f kB; next: "
			     "culprit report%s%s",
			     totals->samples, totals->samples == 1 ? "" : "s", totals->seconds,
			     totals->lost, output, (double)written.st_size / 1000, usual ? "" : " ",
			     usual ? "" : output);
	else
		message_note("%" PRIu64 " sample%s in %.1f s, %" PRIu64
			     " lost; next: culprit report %s",
			     totals->samples, totals->samples == 1 ? "" : "s", totals->seconds,
			     totals->lost, output);
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

/* Makes free() return every large block to the system. By default the C library raises the size
 * from which it does so with the first such block, and keeps freed ones in pieces that nothing fits
 * into.
 */
static void give_memory_back(void)
{
#ifdef M_MMAP_THRESHOLD
	mallopt(M_MMAP_THRESHOLD, LARGE_BYTES);
#endif
}

static int run_record(int argc, char **argv)
{
	int count;
	give_memory_back();
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
				     .epoch_ns = asked.has_epoch ? asked.epoch_ns : 0,
				     .merge_ns = asked.merge_ns,
				     .delay_ns = asked.delay_ns,
				     .duration_ns = asked.duration_ns,
				     .has_duration = asked.has_duration,
				     .watched = watched_time_of(&tasks),
				     .signals = take_over_signals(&before) };
	argv[count + 1] = NULL; /* options_parse() moved the command to the front */
	status = read_events(&events);
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
