#include "daemon/recorder.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
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

__attribute__((format(printf, 3, 4))) static void
say(const struct recorder *recorder, enum recorder_news kind, const char *format, ...)
{
	char sentence[1536]; /* the text of an error, and some words around it */
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(sentence, sizeof(sentence), format, arguments);
	va_end(arguments);
	recorder->listener.say(recorder->listener.context, kind, sentence);
}

/* Reports an error. Returns -1, for callers that fail with it. */
static int fail(const struct recorder *recorder, const struct error *err)
{
	say(recorder, RECORDER_ERROR, "%s", err->text);
	return -1;
}

static void report_progress(const struct recorder *recorder)
{
	if (!recorder->listener.progress)
		return;
	const struct profile *profile = epoch_profile(recorder->epoch);
	const struct recorder_progress progress = {
		.seconds = (double)(clock_monotonic_ns() - recorder->begin_ns) / 1e9,
		.samples = recorder->totals.samples + total_of(profile, BILL_STORED),
		.places = profile_table(profile, PROFILE_FLAT)->count,
	};
	recorder->listener.progress(recorder->listener.context, &progress);
}

/* A failure is reported once; the next merge tries again with all that is missing. */
static void merge(struct recorder *recorder, const struct profile *delta)
{
	struct error err;
	if (epoch_merge(recorder->epoch, delta, &err) == 0) {
		recorder->storing_failed = false;
		return;
	}
	if (!recorder->storing_failed)
		say(recorder, RECORDER_WARNING, "%s; will try again", err.text);
	recorder->storing_failed = true;
}

static int drain(struct recorder *recorder)
{
	CLEANUP(profile_freep) struct profile *delta = NULL;
	struct error err;
	if (collector_drain(recorder->collector, &delta, &err) < 0)
		return fail(recorder, &err);
	merge(recorder, delta);
	report_progress(recorder);
	return 0;
}

/* How many signals do not end the recording: the first one is passed on to the command, while that
 * runs. */
static int first_signals(const struct recorder *recorder)
{
	return recorder->command.pid && !recorder->command.ended ? 1 : 0;
}

/* Counts the signals that ask to end and passes them on to the command, if it runs: its end then
 * ends the recording, or the second signal does. */
static void read_signals(struct recorder *recorder)
{
	struct signalfd_siginfo info;
	while (read(recorder->signals, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGCHLD)
			continue;
		recorder->stop_signals++;
		/* A signal of the terminal reaches the command by itself, one of kill(1) does
		 * not. */
		bool from_terminal = info.ssi_code == SI_KERNEL;
		if (recorder->command.pid && !recorder->command.ended && !from_terminal)
			kill(recorder->command.pid, (int)info.ssi_signo);
	}
	if (recorder->stop_signals - first_signals(recorder) >= 2)
		closing_hurry(&recorder->closing);
}

enum collect_wish recorder_wish(void *context)
{
	struct recorder *recorder = context;
	read_signals(recorder);
	if (recorder->ending) {
		int more = recorder->stop_signals - recorder->signals_before_ending;
		return more == 0 ? COLLECT_GO_ON : more == 1 ? COLLECT_HURRY : COLLECT_STOP;
	}
	return recorder->stop_signals > first_signals(recorder) ? COLLECT_HURRY : COLLECT_GO_ON;
}

/* From here on signals cut short the end of an epoch, which may take a while. Signals that came
 * while an earlier epoch ended count for this one too. */
static void begin_ending(struct recorder *recorder)
{
	if (!recorder->ending)
		recorder->signals_before_ending = recorder->stop_signals;
	recorder->ending = true;
}

static void end_ending(struct recorder *recorder)
{
	recorder->ending = recorder->stop_signals > first_signals(recorder);
}

static bool goes_on(struct recorder *recorder)
{
	bool commanded = recorder->command.pid;
	if (commanded && command_reap(&recorder->command))
		return false;
	if (recorder->stop_signals > first_signals(recorder))
		return false;
	if (recorder->end_ns && clock_monotonic_ns() >= recorder->end_ns)
		return false;
	return commanded || collector_alive(recorder->collector);
}

/* Waits until the epoch before is written, and reports a failure. 0 or -1. */
static int join_closing(struct recorder *recorder)
{
	struct error err;
	return closing_join(&recorder->closing, &err) < 0 ? fail(recorder, &err) : 0;
}

/* Waits until then for a signal, for samples, or for the epoch before to be written. 1 when there
 * are samples to service, 0, or a negative errno value. */
static int wait_until(struct recorder *recorder, uint64_t until_ns)
{
	uint64_t now = clock_monotonic_ns();
	if (recorder->end_ns && recorder->end_ns < until_ns)
		until_ns = recorder->end_ns;
	int timeout_ms = until_ns > now ? (int)((until_ns - now + 999999) / 1000000) : 0;
	struct pollfd fds[] = { { recorder->signals, POLLIN, 0 },
				{ collector_poll_fd(recorder->collector), POLLIN, 0 },
				{ closing_poll_fd(&recorder->closing), POLLIN, 0 } };
	int ready = poll(fds, 3, timeout_ms);
	if (ready < 0 && errno != EINTR)
		return -errno;
	read_signals(recorder);
	return ready > 0 && (fds[1].revents & POLLIN);
}

/* 0 or -1. */
static int wait_and_service(struct recorder *recorder, uint64_t until_ns)
{
	struct error err;
	int due = wait_until(recorder, until_ns);
	if (due < 0) {
		error_set(&err, due, "cannot wait for samples: %s", strerror(-due));
		return fail(recorder, &err);
	}
	if (due && collector_service(recorder->collector, &err) < 0)
		return fail(recorder, &err);
	return closing_is_over(&recorder->closing) ? join_closing(recorder) : 0;
}

/* Whether the name has no spaces or control characters: it becomes that of a folder. */
static bool is_plain_host(const char *host)
{
	for (; *host; host++)
		if (*host <= ' ' || *host > '~')
			return false;
	return true;
}

int recorder_open_epoch(struct recorder *recorder, struct error *err)
{
	if (recorder->epoch_ns == 0)
		return epoch_open(recorder->output, EPOCH_KEEP_OLD, &recorder->epoch, err);
	struct utsname name;
	const char *host = uname(&name) == 0 && database_host_is_usable(name.nodename) &&
					   is_plain_host(name.nodename)
				   ? name.nodename
				   : "host";
	recorder->epoch_end_ns = clock_monotonic_ns() + recorder->epoch_ns;
	return database_open_epoch(recorder->output, host, clock_realtime_ns(), &recorder->epoch,
				   err);
}

/* Adds what a profile of an epoch, or of a part of it, has counted. */
static void add_to_totals(struct recorder *recorder, const struct profile *profile)
{
	struct recorder_totals *totals = &recorder->totals;
	totals->samples += total_of(profile, BILL_STORED);
	totals->lost += total_of(profile, BILL_LOST_RING) + total_of(profile, BILL_LOST_TABLE) +
			total_of(profile, BILL_LOST_DAMAGED) +
			total_of(profile, BILL_APART_LOST_RING) +
			total_of(profile, BILL_APART_LOST_DAMAGED);
	totals->skipped += total_of(profile, BILL_LOST_SKIPPED);
	totals->throttled +=
		total_of(profile, BILL_THROTTLED) + total_of(profile, BILL_APART_THROTTLED);
}

/* Ends an epoch and opens the next one, before the ended one is written: opening closes what killed
 * writers left, and must not find a half-written epoch. The ended epoch and its last delta go to
 * the closing thread. 0 or -1. */
static int next_epoch(struct recorder *recorder)
{
	CLEANUP(profile_freep) struct profile *delta = NULL;
	struct error err;
	begin_ending(recorder);
	int ret = collector_end_epoch(recorder->collector, &delta, &err);
	end_ending(recorder);
	if (ret < 0)
		return fail(recorder, &err);
	struct epoch *ended = recorder->epoch;
	add_to_totals(recorder, epoch_profile(ended));
	add_to_totals(recorder, delta);
	recorder->in_parts = true;
	recorder->epoch = NULL;
	ret = recorder_open_epoch(recorder, &err);
	if (ret < 0)
		fail(recorder, &err);
	int closed = closing_start(&recorder->closing, ended, delta, &err);
	delta = NULL; /* closing frees it, too */
	if (closed < 0)
		ret = fail(recorder, &err);
	return ret < 0 ? -1 : 0;
}

/* Epochs are written one after the other: one lasts at least until the one before is written. */
static bool may_end_epoch(const struct recorder *recorder)
{
	return recorder->epoch_end_ns && !closing_is_running(&recorder->closing);
}

static uint64_t next_drain_ns(const struct recorder *recorder)
{
	uint64_t next_ns = clock_monotonic_ns() + recorder->merge_ns;
	bool ends_before = may_end_epoch(recorder) && recorder->epoch_end_ns < next_ns;
	return ends_before ? recorder->epoch_end_ns : next_ns;
}

static int run_loop(struct recorder *recorder)
{
	uint64_t next_ns = next_drain_ns(recorder);
	while (goes_on(recorder)) {
		if (wait_and_service(recorder, next_ns) < 0)
			return -1;
		if (clock_monotonic_ns() < next_ns)
			continue;
		bool ends =
			may_end_epoch(recorder) && clock_monotonic_ns() >= recorder->epoch_end_ns;
		if ((ends ? next_epoch(recorder) : drain(recorder)) < 0)
			return -1;
		next_ns = next_drain_ns(recorder);
	}
	return 0;
}

/* Nothing is sampled yet, but records of processes that start and map files come, and are read. */
static int delay(struct recorder *recorder, uint64_t start_ns)
{
	int ret = 0;
	while (ret == 0 && clock_monotonic_ns() < start_ns && goes_on(recorder))
		ret = wait_and_service(recorder, start_ns);
	return ret;
}

static int start_sampling(struct recorder *recorder)
{
	struct error err;
	return collector_start(recorder->collector, &err) < 0 ? fail(recorder, &err) : 0;
}

static int begin(struct recorder *recorder)
{
	const struct proc_ask *ask = collector_proc_ask(recorder->collector);
	if (recorder->delay_ns == 0 && start_sampling(recorder) < 0)
		return -1;
	watched_time_begin(&recorder->watched, ask);
	if (recorder->command.pid) {
		recorder->exec_code = command_release(&recorder->command);
		if (recorder->exec_code < 0)
			return -1;
	}
	if (recorder->delay_ns) {
		if (delay(recorder, clock_monotonic_ns() + recorder->delay_ns) < 0 ||
		    start_sampling(recorder) < 0)
			return -1;
		/* The CPU time of processes counts from here on. */
		watched_time_release(&recorder->watched);
		if (!recorder->command.pid)
			watched_time_begin(&recorder->watched, ask);
	}
	recorder->begin_ns = clock_monotonic_ns();
	if (recorder->has_duration)
		recorder->end_ns = recorder->begin_ns + recorder->duration_ns;
	return 0;
}

/* Ends sampling and merges the last samples into the epoch. 0 or -1. */
static int finish_sampling(struct recorder *recorder)
{
	CLEANUP(profile_freep) struct profile *delta = NULL;
	struct error err;
	if (collector_finish(recorder->collector, &delta, &err) < 0)
		return fail(recorder, &err);
	/* The times are those of the whole recording, not of one of several epochs. */
	if (!recorder->in_parts &&
	    watched_time_add(&recorder->watched, &recorder->command, delta) < 0)
		say(recorder, RECORDER_WARNING, "out of memory for the times of what was recorded");
	merge(recorder, delta);
	return 0;
}

/* After the end of sampling: waits until the epoch before is written, and goes on reading signals.
 * 0 or -1. */
static int await_written(struct recorder *recorder)
{
	while (closing_is_running(&recorder->closing) && !closing_is_over(&recorder->closing)) {
		struct pollfd fds[] = { { recorder->signals, POLLIN, 0 },
					{ closing_poll_fd(&recorder->closing), POLLIN, 0 } };
		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			break; /* then signals are not read while it waits for the thread */
		if (recorder_wish(recorder) == COLLECT_STOP)
			closing_hurry(&recorder->closing);
	}
	return join_closing(recorder);
}

static bool wants_no_more(void *context)
{
	return recorder_wish(context) == COLLECT_STOP;
}

/* Writes the last epoch on this thread, which has higher priority while that is urgent
 * (collect/urgency.h), and nothing else to do. 0 or -1. */
static int close_last(struct recorder *recorder)
{
	const struct profile_waiter waiter = { wants_no_more, recorder };
	struct epoch *last = recorder->epoch;
	struct error err;
	recorder->epoch = NULL; /* closing frees it, however it ends */
	int ret = epoch_close_for(&waiter, last, &err);
	if (ret == -ECANCELED)
		closing_set_left_open(&err);
	return ret < 0 ? fail(recorder, &err) : 0;
}

static int finish(struct recorder *recorder)
{
	recorder->totals.seconds = (double)(clock_monotonic_ns() - recorder->begin_ns) / 1e9;
	begin_ending(recorder);
	/* Before the end is gathered, which takes a while: processes run on meanwhile. */
	watched_time_end(&recorder->watched, collector_proc_ask(recorder->collector));
	int ret = recorder->epoch ? 0 : -1; /* NULL: the next one failed to open, as reported */
	if (recorder->epoch && finish_sampling(recorder) < 0)
		ret = -1;
	if (await_written(recorder) < 0)
		ret = -1;
	if (recorder->epoch) {
		add_to_totals(recorder, epoch_profile(recorder->epoch));
		if (close_last(recorder) < 0)
			ret = -1;
	}
	recorder->finished = ret == 0;
	return ret;
}

int recorder_run(struct recorder *recorder)
{
	if (begin(recorder) < 0)
		return -1;
	int ret = run_loop(recorder);
	int finished = finish(recorder);
	return ret < 0 ? ret : finished;
}

void recorder_release(struct recorder *recorder)
{
	collector_free(recorder->collector);
	if (recorder->epoch)
		epoch_discard(recorder->epoch);
	watched_time_release(&recorder->watched);
	command_dispose(&recorder->command);
	stepper_stop(&recorder->stepper);
	if (recorder->signals >= 0)
		close(recorder->signals);
}
