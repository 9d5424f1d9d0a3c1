#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/number.h"
#include "cli/asked_events.h"
#include "cli/command.h"
#include "cli/message.h"
#include "cli/options.h"
#include "cli/verbs.h"
#include "collect/collector.h"
#include "collect/stepper.h"
#include "machine/event.h"
#include "profile/bill.h"
#include "profile/profile.h"
#include "store/database.h"
#include "store/epoch.h"

#define MERGE_INTERVAL_NS 1000000000u
#define SHORTEST_EPOCH_NS 1000000000u /* epochs are named by the second */
#define MAX_TASKS	  1024
#define BURST_PERCENT	  10

/* What the user asked for; filled once by options_parse(). */
static struct {
	bool all_cpus, user_only, kernel_only, stacks, no_random, no_stash, redact;
	bool edges, no_edges, no_edge_memory;
	bool per_process, per_thread, per_cpu;
	bool bursts;
	bool has_period, has_frequency, has_overhead, has_duration, has_epoch;
	struct option_list pids, tids, events;
	const char *cpus, *cgroup, *output;
	uint64_t period, frequency_hz, duration_ns, delay_ns, epoch_ns, merge_ns, ring_pages;
	double overhead_percent, burst_percent;
} asked = { .merge_ns = MERGE_INTERVAL_NS, .burst_percent = BURST_PERCENT };

static const struct option options[] = {
	{ "what to watch", 0, OPTION_GROUP, NULL, NULL, NULL, NULL },
	{ "all-cpus", 'a', OPTION_FLAG, NULL, "everything on this machine", &asked.all_cpus, NULL },
	{ "pid", 'p', OPTION_LIST, "PID", "running processes (PID,PID...)", &asked.pids, NULL },
	{ "tid", 't', OPTION_LIST, "TID", "single threads (TID,TID...)", &asked.tids, NULL },
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
	{ "no-random", 0, OPTION_FLAG, NULL, "one period throughout", &asked.no_random, NULL },
	{ "call-graph", 'g', OPTION_FLAG, NULL, "stacks, by frame pointers", &asked.stacks, NULL },
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

/* "12,13" in any number of options. */
static int parse_tasks(const struct option_list *list, const char *what, pid_t *tasks,
		       size_t *count)
{
	for (size_t i = 0; i < list->count; i++) {
		CLEANUP(free_pointer) char *text = strdup(list->items[i]);
		char *rest = text;
		for (char *item; text && (item = strsep(&rest, ","));) {
			uint64_t value;
			if (!number_parse_u64(item, &value) || value == 0 || value > INT32_MAX)
				return options_misuse(&verb_record, "%s '%s' is no process number",
						      what, item);
			if (*count == MAX_TASKS)
				return options_misuse(&verb_record, "more than %d of %s", MAX_TASKS,
						      what);
			tasks[(*count)++] = (pid_t)value;
		}
	}
	return -1;
}

/* Which option rules which out; -1 when all is well. */
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
	if (asked.all_cpus && tasks)
		return options_misuse(&verb_record, "--all-cpus and --%s exclude each other",
				      asked.pids.count ? "pid" : "tid");
	if (asked.cgroup && tasks)
		return options_misuse(&verb_record, "--cgroup and --%s exclude each other",
				      asked.pids.count ? "pid" : "tid");
	if (asked.has_epoch && asked.epoch_ns < SHORTEST_EPOCH_NS)
		return options_misuse(&verb_record, "--epoch needs at least 1s");
	if (asked.merge_ns < 1000000)
		return options_misuse(&verb_record, "--merge-interval needs at least 1ms");
	if (!command && !tasks && !asked.all_cpus && !asked.cpus && !asked.cgroup)
		return options_misuse(&verb_record, "nothing to record: give a command, --pid or "
						    "--all-cpus");
	return -1;
}

static void note(void *context, enum collect_note_kind kind, const char *sentence)
{
	(void)context;
	if (kind == COLLECT_WARNING)
		message_warning("%s", sentence);
	else
		message_note("%s", sentence);
}

/* One recording while it runs. */
struct recording {
	struct stepper stepper; /* with --bursts */
	struct collector *collector;
	struct epoch *epoch;
	struct command command;
	int signals;			   /* signalfd: INT, TERM, HUP, CHLD */
	int stop_signals;		   /* how often we were asked to end */
	uint64_t begin_ns, end_ns;	   /* end 0: open */
	uint64_t stopped_ns;		   /* when sampling ended */
	uint64_t epoch_end_ns;		   /* 0: one profile, no epochs */
	uint64_t samples, lost, throttled; /* of the epochs that are closed */
	bool storing_failed;
};

static uint64_t total_of(const struct profile *profile, const char *prefix)
{
	const struct table *bill = profile_table(profile, PROFILE_BILL);
	size_t length = strlen(prefix);
	uint64_t sum = 0;
	for (size_t row = 0; row < bill->count; row++) {
		const uint64_t *keys = table_keys(bill, row);
		struct span item = profile_bytes(profile, keys[BILL_ITEM]);
		if (keys[BILL_EVENT] && item.size >= length &&
		    memcmp(item.data, prefix, length) == 0)
			sum += table_values(bill, row)[0];
	}
	return sum;
}

static void show_progress(const struct recording *recording)
{
	if (message_is_quiet() || !isatty(STDERR_FILENO))
		return;
	const struct profile *profile = epoch_profile(recording->epoch);
	double seconds = (double)(clock_monotonic_ns() - recording->begin_ns) / 1e9;
	fprintf(stderr, "\rculprit: %.0f s, %" PRIu64 " samples, %zu places \033[K", seconds,
		total_of(profile, BILL_STORED), profile_table(profile, PROFILE_FLAT)->count);
}

static void clear_progress(void)
{
	if (!message_is_quiet() && isatty(STDERR_FILENO))
		fprintf(stderr, "\r\033[K");
}

/* A merge that fails is said once; the next one tries again with all that is missing. */
static void merge(struct recording *recording, const struct profile *delta)
{
	struct error err;
	if (epoch_merge(recording->epoch, delta, &err) == 0) {
		recording->storing_failed = false;
		return;
	}
	if (!recording->storing_failed) {
		clear_progress();
		message_warning("%s; will try again", err.text);
	}
	recording->storing_failed = true;
}

static int drain(struct recording *recording)
{
	CLEANUP(profile_freep) struct profile *delta = NULL;
	struct error err;
	if (collector_drain(recording->collector, &delta, &err) < 0) {
		clear_progress();
		message_error("%s", err.text);
		return 1;
	}
	merge(recording, delta);
	show_progress(recording);
	return -1;
}

/* Ends at once when nobody else is asked to end, else passes the wish on and waits; the second time
 * at once. */
static void take_signals(struct recording *recording)
{
	struct signalfd_siginfo info;
	while (read(recording->signals, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGCHLD)
			continue;
		recording->stop_signals++;
		/* A terminal sends SIGINT to the command too; one that comes from kill(1) it does
		 * not get. */
		bool from_terminal = info.ssi_code == SI_KERNEL;
		if (recording->command.pid && !recording->command.ended && !from_terminal)
			kill(recording->command.pid, (int)info.ssi_signo);
	}
}

static bool goes_on(struct recording *recording)
{
	bool commanded = recording->command.pid;
	if (commanded && command_reap(&recording->command))
		return false;
	if (recording->stop_signals > (commanded ? 1 : 0))
		return false;
	if (recording->end_ns && clock_monotonic_ns() >= recording->end_ns)
		return false;
	return commanded || collector_alive(recording->collector);
}

static int wait_until(struct recording *recording, uint64_t until_ns)
{
	uint64_t now = clock_monotonic_ns();
	if (recording->end_ns && recording->end_ns < until_ns)
		until_ns = recording->end_ns;
	int timeout_ms = until_ns > now ? (int)((until_ns - now + 999999) / 1000000) : 0;
	struct pollfd fds[] = { { recording->signals, POLLIN, 0 },
				{ collector_poll_fd(recording->collector), POLLIN, 0 } };
	int ready = poll(fds, 2, timeout_ms);
	if (ready < 0 && errno != EINTR)
		return -errno;
	take_signals(recording);
	return ready > 0 && (fds[1].revents & POLLIN);
}

/* A profile, or an epoch in a database named after this host. */
static int open_epoch(struct recording *recording, struct error *err)
{
	if (!asked.has_epoch)
		return epoch_open(asked.output, EPOCH_KEEP_OLD, &recording->epoch, err);
	struct utsname name;
	const char *host = uname(&name) == 0 && database_host_is_usable(name.nodename)
				   ? name.nodename
				   : "host";
	recording->epoch_end_ns = clock_monotonic_ns() + asked.epoch_ns;
	return database_open_epoch(asked.output, host, clock_realtime_ns(), &recording->epoch, err);
}

static void count_epoch(struct recording *recording)
{
	const struct profile *profile = epoch_profile(recording->epoch);
	recording->samples += total_of(profile, BILL_STORED);
	recording->lost += total_of(profile, BILL_LOST_RING) + total_of(profile, BILL_LOST_TABLE) +
			   total_of(profile, BILL_LOST_DAMAGED);
	recording->throttled += total_of(profile, BILL_THROTTLED);
}

/* -1 to go on, else the exit status. */
static int next_epoch(struct recording *recording)
{
	CLEANUP(profile_freep) struct profile *delta = NULL;
	struct error err;
	int ret = collector_end_epoch(recording->collector, &delta, &err);
	if (ret == 0) {
		merge(recording, delta);
		count_epoch(recording);
		struct epoch *epoch = recording->epoch;
		recording->epoch = NULL; /* closing frees it, however it ends */
		ret = epoch_close(epoch, &err);
	}
	if (ret == 0)
		ret = open_epoch(recording, &err);
	if (ret == 0)
		return -1;
	clear_progress();
	message_error("%s", err.text);
	return 1;
}

static uint64_t next_drain_ns(const struct recording *recording)
{
	uint64_t next_ns = clock_monotonic_ns() + asked.merge_ns;
	bool ends_before = recording->epoch_end_ns && recording->epoch_end_ns < next_ns;
	return ends_before ? recording->epoch_end_ns : next_ns;
}

/* -1 to go on, else the exit status. */
static int wait_and_service(struct recording *recording, uint64_t until_ns)
{
	int due = wait_until(recording, until_ns);
	if (due < 0) {
		message_error("cannot wait for samples: %s", strerror(-due));
		return 1;
	}
	struct error err;
	if (due && collector_service(recording->collector, &err) < 0) {
		clear_progress();
		message_error("%s", err.text);
		return 1;
	}
	return -1;
}

static int run_loop(struct recording *recording)
{
	uint64_t next_ns = next_drain_ns(recording);
	while (goes_on(recording)) {
		int status = wait_and_service(recording, next_ns);
		if (status >= 0)
			return status;
		if (clock_monotonic_ns() < next_ns)
			continue;
		bool ends =
			recording->epoch_end_ns && clock_monotonic_ns() >= recording->epoch_end_ns;
		status = ends ? next_epoch(recording) : drain(recording);
		if (status >= 0)
			return status;
		next_ns = next_drain_ns(recording);
	}
	return -1;
}

/* Nothing is sampled yet, but what starts and maps files is told already and has to be taken. */
static int delay(struct recording *recording, uint64_t start_ns)
{
	int status = -1;
	while (status < 0 && clock_monotonic_ns() < start_ns && goes_on(recording))
		status = wait_and_service(recording, start_ns);
	return status;
}

static int begin(struct recording *recording, char *const argv[])
{
	struct error err;
	if (asked.delay_ns == 0 && collector_start(recording->collector, &err) < 0) {
		message_error("%s", err.text);
		return 1;
	}
	if (recording->command.pid) {
		int ret = command_release(&recording->command);
		if (ret < 0) {
			message_error("cannot run '%s': %s", argv[0], strerror(-ret));
			return command_exec_failure_status(ret);
		}
	}
	if (asked.delay_ns) {
		int status = delay(recording, clock_monotonic_ns() + asked.delay_ns);
		if (status >= 0)
			return status;
		if (collector_start(recording->collector, &err) < 0) {
			message_error("%s", err.text);
			return 1;
		}
	}
	recording->begin_ns = clock_monotonic_ns();
	if (asked.has_duration)
		recording->end_ns = recording->begin_ns + asked.duration_ns;
	return -1;
}

static void summarise(const struct recording *recording)
{
	uint64_t samples = recording->samples;
	uint64_t lost = recording->lost;
	struct stat written = { 0 };
	const char *output = asked.output;
	double seconds = (double)(recording->stopped_ns - recording->begin_ns) / 1e9;
	bool known = stat(output, &written) == 0 && S_ISREG(written.st_mode);
	if (recording->throttled)
		message_warning(
			"the kernel stopped events %" PRIu64 " times for their rate "
			"(kernel.perf_event_max_sample_rate): counts and samples are low by "
			"what passed meanwhile; choose a longer period",
			recording->throttled);
	if (lost)
		message_warning("%" PRIu64 " samples were lost for want of room: the shares of the "
				"others stand, totals count the loss; more --mmap-pages help",
				lost);
	if (samples == 0)
		message_warning("no samples: what was watched did not run, or not long enough");
	if (known)
		message_note("%" PRIu64 " samples in %.1f s, %" PRIu64
			     " lost; '%s' has %.1f kB; next: "
			     "culprit report%s%s",
			     samples, seconds, lost, output, (double)written.st_size / 1000,
			     strcmp(output, "culprit.prof") ? " " : "",
			     strcmp(output, "culprit.prof") ? output : "");
	else
		message_note("%" PRIu64 " samples in %.1f s, %" PRIu64
			     " lost; next: culprit report %s",
			     samples, seconds, lost, output);
}

static int finish(struct recording *recording)
{
	CLEANUP(profile_freep) struct profile *delta = NULL;
	struct error err;
	int status = -1;
	recording->stopped_ns = clock_monotonic_ns();
	if (!recording->epoch)
		return 1; /* the next one could not be opened, which was said */
	if (collector_finish(recording->collector, &delta, &err) < 0) {
		clear_progress();
		message_error("%s", err.text);
		status = 1;
	} else {
		merge(recording, delta);
	}
	count_epoch(recording);
	clear_progress();
	struct epoch *epoch = recording->epoch;
	recording->epoch = NULL; /* closing frees it, however it ends */
	if (epoch_close(epoch, &err) < 0) {
		message_error("%s", err.text);
		return 1;
	}
	if (status < 0)
		summarise(recording);
	return status;
}

static unsigned identity_asked(void)
{
	return (asked.per_process ? COLLECT_PER_PROCESS : 0u) |
	       (asked.per_thread ? COLLECT_PER_THREAD : 0u) |
	       (asked.per_cpu ? COLLECT_PER_CPU : 0u);
}

/* -1 to go on, else the exit status. */
static int open_recording(struct recording *recording, const struct event_list *events,
			  const pid_t *pids, size_t pid_count, const pid_t *tids, size_t tid_count)
{
	struct collect_options collect = {
		.pids = pids,
		.pid_count = pid_count,
		.tids = tids,
		.tid_count = tid_count,
		.command_pid = recording->command.pid,
		.cgroup = asked.cgroup,
		.cpus = asked.cpus,
		.events = events,
		.period = asked.period,
		.frequency_hz = asked.frequency_hz,
		.overhead_percent = asked.overhead_percent,
		.fixed_period = asked.has_period || asked.no_random,
		.delayed = asked.delay_ns > 0,
		.stacks = asked.stacks,
		.user_only = asked.user_only,
		.kernel_only = asked.kernel_only,
		.edges = asked.edges	  ? COLLECT_EDGES_ALL
			 : asked.no_edges ? COLLECT_EDGES_NONE
					  : COLLECT_EDGES_USUAL,
		.edge_memory = !asked.no_edge_memory,
		.stepper = recording->stepper.pid ? &recording->stepper : NULL,
		.burst_percent = asked.burst_percent,
		.identity = identity_asked(),
		.stash = !asked.no_stash,
		.redact = asked.redact,
		.ring_pages = asked.ring_pages,
		.note = note,
	};
	collect.target = asked.cgroup			? COLLECT_CGROUP
			 : pid_count || tid_count	? COLLECT_TASKS
			 : asked.all_cpus || asked.cpus ? COLLECT_SYSTEM
							: COLLECT_COMMAND;
	struct error err;
	if (open_epoch(recording, &err) < 0 ||
	    collector_new(&collect, &recording->collector, &err) < 0) {
		message_error("%s", err.text);
		return 1;
	}
	return -1;
}

static int record(struct recording *recording, char *const argv[])
{
	int status = begin(recording, argv);
	if (status >= 0)
		return status;
	status = run_loop(recording);
	int finished = finish(recording);
	if (status < 0)
		status = finished;
	if (!recording->command.pid)
		return status < 0 ? 0 : status;
	/* The command may still run when we were told twice to end, or to end by --duration. */
	bool ended = command_reap(&recording->command);
	return status >= 0 ? status : ended ? command_exit_status(&recording->command) : 0;
}

/* Of a command it is the parent, and there already. -1 or the exit status. */
static int start_stepper(struct recording *recording)
{
	struct error err;
	if (!asked.bursts || recording->stepper.pid ||
	    stepper_start(&recording->stepper, &err) == 0)
		return -1;
	message_error("%s", err.text);
	return 1;
}

static int run_record(int argc, char **argv)
{
	int count;
	int status = options_parse(&verb_record, argc, argv, OPTIONS_BEFORE_ARGUMENTS, &count);
	if (!asked.output)
		asked.output = asked.has_epoch ? "culprit.db" : "culprit.prof";
	if (status < 0)
		status = check_conflicts(count > 0);
	static pid_t pids[MAX_TASKS], tids[MAX_TASKS];
	size_t pid_count = 0, tid_count = 0;
	if (status < 0)
		status = parse_tasks(&asked.pids, "--pid", pids, &pid_count);
	if (status < 0)
		status = parse_tasks(&asked.tids, "--tid", tids, &tid_count);
	if (status >= 0)
		return status;

	sigset_t ours, before;
	sigemptyset(&ours);
	sigaddset(&ours, SIGINT);
	sigaddset(&ours, SIGTERM);
	sigaddset(&ours, SIGHUP);
	sigaddset(&ours, SIGCHLD);
	sigprocmask(SIG_BLOCK, &ours, &before);
	signal(SIGPIPE, SIG_IGN);

	argv[count + 1] = NULL; /* options_parse() moved the command to the front */
	CLEANUP(event_list_release) struct event_list events = { 0 };
	struct recording recording = { .signals = signalfd(-1, &ours, SFD_CLOEXEC | SFD_NONBLOCK) };
	bool substituted;
	status = asked_events_read(&asked.events, &events, &substituted);
	if (substituted && asked.has_period) {
		message_warning("--count %" PRIu64 " was meant for another event and is left out",
				asked.period);
		asked.has_period = false;
		asked.period = 0;
	}
	if (status < 0 && count > 0) {
		int ret = command_start(argv + 1, &before, asked.bursts ? &recording.stepper : NULL,
					&recording.command);
		if (ret < 0) {
			message_error("cannot start a process: %s", strerror(-ret));
			status = 1;
		}
	}
	if (status < 0)
		status = start_stepper(&recording);
	if (status < 0)
		status = open_recording(&recording, &events, pids, pid_count, tids, tid_count);
	if (status < 0)
		status = record(&recording, argv + 1);
	collector_free(recording.collector);
	if (recording.epoch)
		epoch_discard(recording.epoch);
	command_dispose(&recording.command);
	stepper_stop(&recording.stepper);
	close(recording.signals);
	return status;
}

const struct verb verb_record = {
	.name = "record",
	.run = run_record,
	.summary = "sample a command, processes or the whole machine",
	.usage = "[OPTIONS] [--] [COMMAND [ARGUMENTS...]]",
	.options = record_options,
};
