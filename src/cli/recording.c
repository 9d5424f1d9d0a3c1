#include "cli/recording.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "cli/message.h"
#include "collect/collector.h"
#include "profile/bill.h"
#include "profile/profile.h"
#include "store/database.h"
#include "store/epoch.h"
#include "store/profile_writer.h"

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

enum collect_wish recording_wish(void *context)
{
	struct recording *recording = context;
	take_signals(recording);
	if (recording->closing) {
		int more = recording->stop_signals - recording->signals_before_closing;
		return more == 0 ? COLLECT_GO_ON : more == 1 ? COLLECT_HURRY : COLLECT_STOP;
	}
	bool commanded = recording->command.pid && !recording->command.ended;
	return recording->stop_signals > (commanded ? 1 : 0) ? COLLECT_HURRY : COLLECT_GO_ON;
}

/* From here on signals cut short the closing, which may take a while. Those that came while an
 * earlier epoch was closed count for this one too. */
static void begin_closing(struct recording *recording)
{
	if (!recording->closing)
		recording->signals_before_closing = recording->stop_signals;
	recording->closing = true;
}

static void end_closing(struct recording *recording)
{
	/* The first one is a command's own, if there is one: it may go on, and so do we. */
	bool commanded = recording->command.pid && !recording->command.ended;
	recording->closing = recording->stop_signals > (commanded ? 1 : 0);
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

/* Fit for a folder whose name is seen in listings. */
static bool is_plain_host(const char *host)
{
	for (; *host; host++)
		if (*host <= ' ' || *host > '~')
			return false;
	return true;
}

int recording_open_epoch(struct recording *recording, struct error *err)
{
	if (recording->epoch_ns == 0)
		return epoch_open(recording->output, EPOCH_KEEP_OLD, &recording->epoch, err);
	struct utsname name;
	const char *host = uname(&name) == 0 && database_host_is_usable(name.nodename) &&
					   is_plain_host(name.nodename)
				   ? name.nodename
				   : "host";
	recording->epoch_end_ns = clock_monotonic_ns() + recording->epoch_ns;
	return database_open_epoch(recording->output, host, clock_realtime_ns(), &recording->epoch,
				   err);
}

static void count_epoch(struct recording *recording)
{
	const struct profile *profile = epoch_profile(recording->epoch);
	recording->samples += total_of(profile, BILL_STORED);
	recording->lost += total_of(profile, BILL_LOST_RING) + total_of(profile, BILL_LOST_TABLE) +
			   total_of(profile, BILL_LOST_DAMAGED);
	recording->throttled += total_of(profile, BILL_THROTTLED);
}

static bool wants_no_more(void *context)
{
	return recording_wish(context) == COLLECT_STOP;
}

static int close_epoch(struct recording *recording, struct error *err)
{
	const struct profile_waiter waiter = { wants_no_more, recording };
	struct epoch *epoch = recording->epoch;
	recording->epoch = NULL; /* closing frees it, however it ends */
	int ret = epoch_close_for(&waiter, epoch, err);
	return ret != -ECANCELED
		       ? ret
		       : error_set(err, ret,
				   "asked a second time to end: the open file is left, cut off, "
				   "and has the samples but not all names");
}

/* -1 to go on, else the exit status. */
static int next_epoch(struct recording *recording)
{
	CLEANUP(profile_freep) struct profile *delta = NULL;
	struct error err;
	begin_closing(recording);
	int ret = collector_end_epoch(recording->collector, &delta, &err);
	if (ret == 0) {
		merge(recording, delta);
		profile_free(delta);
		delta = NULL;
		count_epoch(recording);
		ret = close_epoch(recording, &err);
		recording->in_parts = true;
	}
	end_closing(recording);
	if (ret == 0)
		ret = recording_open_epoch(recording, &err);
	if (ret == 0)
		return -1;
	clear_progress();
	message_error("%s", err.text);
	return 1;
}

static uint64_t next_drain_ns(const struct recording *recording)
{
	uint64_t next_ns = clock_monotonic_ns() + recording->merge_ns;
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
	if (recording->delay_ns == 0 && collector_start(recording->collector, &err) < 0) {
		message_error("%s", err.text);
		return 1;
	}
	watched_time_begin(&recording->watched, collector_proc_ask(recording->collector));
	if (recording->command.pid) {
		int ret = command_release(&recording->command);
		if (ret < 0) {
			message_error("cannot run '%s': %s", argv[0], strerror(-ret));
			return command_exec_failure_status(ret);
		}
	}
	if (recording->delay_ns) {
		int status = delay(recording, clock_monotonic_ns() + recording->delay_ns);
		if (status >= 0)
			return status;
		if (collector_start(recording->collector, &err) < 0) {
			message_error("%s", err.text);
			return 1;
		}
		watched_time_release(&recording->watched); /* of processes: from here on */
		if (!recording->command.pid)
			watched_time_begin(&recording->watched,
					   collector_proc_ask(recording->collector));
	}
	recording->begin_ns = clock_monotonic_ns();
	if (recording->has_duration)
		recording->end_ns = recording->begin_ns + recording->duration_ns;
	return -1;
}

static void summarise(const struct recording *recording)
{
	uint64_t samples = recording->samples;
	uint64_t lost = recording->lost;
	struct stat written = { 0 };
	const char *output = recording->output;
	double seconds = (double)(recording->stopped_ns - recording->begin_ns) / 1e9;
	bool known = stat(output, &written) == 0 && S_ISREG(written.st_mode);
	if (recording->throttled)
		message_warning(
			"the kernel stopped events %" PRIu64 " times for their rate "
			"(kernel.perf_event_max_sample_rate): counts and samples are low by "
			"what passed meanwhile; choose a longer period",
			recording->throttled);
	if (lost)
		message_warning("%" PRIu64
				" samples were lost because a buffer was full: shares still hold, "
				"totals are low by what these stood for; more --mmap-pages help",
				lost);
	char missing[1024];
	collector_tell_missing(recording->collector, samples, missing, sizeof(missing));
	if (samples == 0)
		message_warning("no samples: %s",
				missing[0] ? missing
					   : "what was watched did not run, or not long enough");
	else if (missing[0])
		message_warning("%s", missing);
	if (known)
		message_note(
			"%" PRIu64 " sample%s in %.1f s, %" PRIu64 " lost; '%s' has %.1f kB; next: "
			"culprit report%s%s",
			samples, samples == 1 ? "" : "s", seconds, lost, output,
			(double)written.st_size / 1000, strcmp(output, "culprit.prof") ? " " : "",
			strcmp(output, "culprit.prof") ? output : "");
	else
		message_note("%" PRIu64 " sample%s in %.1f s, %" PRIu64
			     " lost; next: culprit report %s",
			     samples, samples == 1 ? "" : "s", seconds, lost, output);
}

static int finish(struct recording *recording)
{
	CLEANUP(profile_freep) struct profile *delta = NULL;
	struct error err;
	int status = -1;
	recording->stopped_ns = clock_monotonic_ns();
	begin_closing(recording);
	/* Ending takes a while, in which they run on. */
	watched_time_end(&recording->watched, collector_proc_ask(recording->collector));
	if (!recording->epoch)
		return 1; /* the next one could not be opened, which was said */
	if (collector_finish(recording->collector, &delta, &err) < 0) {
		clear_progress();
		message_error("%s", err.text);
		status = 1;
	} else {
		/* Of one of several epochs the times are not known. */
		if (!recording->in_parts &&
		    watched_time_add(&recording->watched, &recording->command, delta) < 0)
			message_warning("out of memory for the times of what was recorded");
		merge(recording, delta);
		/* It is in the epoch's, which takes room enough to be written. */
		profile_free(delta);
		delta = NULL;
	}
	count_epoch(recording);
	clear_progress();
	if (close_epoch(recording, &err) < 0) {
		message_error("%s", err.text);
		return 1;
	}
	if (status < 0)
		summarise(recording);
	return status;
}

int recording_run(struct recording *recording, char *const argv[])
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
