#include "daemon/recorder_private.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/heap.h"
#include "daemon/recording_process.h"
#include "profile/bill.h"
#include "profile/profile.h"
#include "store/epoch.h"
#include "store/profile_writer.h"

void recorder_say(const struct recorder *recorder, enum recorder_news kind, const char *format, ...)
{
	char sentence[2048]; /* the text of an error, and some words around it */
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(sentence, sizeof(sentence), format, arguments);
	va_end(arguments);
	recorder->listener.say(recorder->listener.context, kind, sentence);
}

/* Reports an error. Returns -1, for callers that fail with it. */
static int fail(const struct recorder *recorder, const struct error *err)
{
	recorder_say(recorder, RECORDER_ERROR, "%s", err->text);
	return -1;
}

struct bill_totals recorder_totals(const struct recorder *recorder)
{
	struct bill_totals totals = recorder->totals;
	if (closing_has_stored(&recorder->closing))
		bill_totals_join(&totals, &recorder->unstored);
	if (recorder->epoch)
		bill_totals_add(&totals, epoch_profile(recorder->epoch));
	return totals;
}

/* The epoch before is over. */
static void count_ended(struct recorder *recorder)
{
	if (closing_has_stored(&recorder->closing))
		bill_totals_join(&recorder->totals, &recorder->unstored);
	recorder->unstored = (struct bill_totals){ 0 };
}

static void report_progress(const struct recorder *recorder)
{
	if (!recorder->listener.progress)
		return;
	const struct profile *profile = epoch_profile(recorder->epoch);
	const struct recorder_progress progress = {
		.seconds = (double)(clock_monotonic_ns() - recorder->begin_ns) / 1e9,
		.samples = recorder_totals(recorder).stored,
		.places = profile_table(profile, PROFILE_FLAT)->count,
	};
	recorder->listener.progress(recorder->listener.context, &progress);
}

/* Of a merge. A failure is reported once; the next one tries again with all that is missing. */
static void note_merge(struct recorder *recorder, int result, const struct error *err)
{
	if (result == 0) {
		recorder->storing_failed = false;
		return;
	}
	if (!recorder->storing_failed)
		recorder_say(recorder, RECORDER_WARNING, "%s; will try again", err->text);
	recorder->storing_failed = true;
}

/* Says when somebody has set the clock by which epochs are named and timed. */
static void watch_clock(struct recorder *recorder)
{
	int64_t step_ns = recorder->epoch_ns ? clock_watch_step_ns(&recorder->clock) : 0;
	if (step_ns > 0)
		recorder_say(recorder, RECORDER_WARNING,
			     "the clock was set forward by %.1f s: epochs follow it from the next "
			     "one on, "
			     "and between them there is that much time without any",
			     (double)step_ns / 1e9);
	else if (step_ns < 0)
		recorder_say(recorder, RECORDER_WARNING,
			     "the clock was set back by %.1f s: epochs follow it from the next one "
			     "on, and "
			     "earlier ones may have later times",
			     -(double)step_ns / 1e9);
}

/* Adds the CPU time since then to the work of this second. */
static void add_work(struct recorder_work *work, uint64_t since_cpu_ns)
{
	uint64_t now_ns = clock_monotonic_ns();
	if (now_ns - work->second_ns >= 1000000000u) {
		work->second_ns = now_ns;
		work->in_second_ns = 0;
	}
	work->in_second_ns += clock_thread_cpu_ns() - since_cpu_ns;
	if (work->in_second_ns > work->most_in_second_ns)
		work->most_in_second_ns = work->in_second_ns;
}

static int drain(struct recorder *recorder)
{
	CLEANUP(profile_freep) struct profile *delta = NULL;
	uint64_t before_ns = clock_thread_cpu_ns();
	struct error err;
	if (collector_drain(recorder->collector, &delta, &err) < 0)
		return fail(recorder, &err);
	int merged = epoch_merge(recorder->epoch, delta, &err);
	note_merge(recorder, merged, &err);
	add_work(&recorder->work, before_ns);
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
	if (recorder->asked_to_end || recorder->stop_signals > first_signals(recorder))
		return false;
	if (recorder->end_ns && clock_monotonic_ns() >= recorder->end_ns)
		return false;
	return commanded || collector_alive(recorder->collector);
}

/* An epoch could not be written: its open folder stays. 0, or -1 where that ends the recording. */
static int tell_unwritten(const struct recorder *recorder, const struct error *err)
{
	if (!recorder->persistent)
		return fail(recorder, err);
	recorder_say(recorder, RECORDER_WARNING, "%s; the epoch is closed when the next one begins",
		     err->text);
	return 0;
}

/* Waits until the epoch before is written, and reports a failure. 0 or -1. */
static int join_closing(struct recorder *recorder)
{
	struct error err;
	int ret = closing_join(&recorder->closing, &err);
	count_ended(recorder);
	heap_trim();
	return ret < 0 ? tell_unwritten(recorder, &err) : 0;
}

/* Says that the epoch before cannot be written yet. */
static void tell_trouble(struct recorder *recorder)
{
	struct error err;
	if (closing_trouble(&recorder->closing, &err))
		recorder_say(
			recorder, RECORDER_WARNING,
			"%s; the epoch is kept in memory and in its open file, and tried again",
			err.text);
}

/* A descriptor of the attendant to wait for; -1: none. */
static int attendant_fd(const struct recorder *recorder)
{
	const struct recorder_attendant *attendant = &recorder->attendant;
	return attendant->context ? attendant->poll_fd(attendant->context) : -1;
}

static uint64_t attendant_next_ns(const struct recorder *recorder)
{
	const struct recorder_attendant *attendant = &recorder->attendant;
	return attendant->context ? attendant->next_ns(attendant->context) : UINT64_MAX;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

struct woken {
	bool samples, attendant;
};

/* Waits until then for a signal, for samples, for the attendant, or for the epoch before to be
 * written. 0 or a negative errno. */
static int wait_until(struct recorder *recorder, uint64_t until_ns, struct woken *woken)
{
	uint64_t now = clock_monotonic_ns();
	uint64_t attend_ns = attendant_next_ns(recorder);
	if (recorder->end_ns)
		until_ns = earlier(until_ns, recorder->end_ns);
	until_ns = earlier(until_ns, attend_ns);
	int timeout_ms = until_ns > now ? (int)((until_ns - now + 999999) / 1000000) : 0;
	struct pollfd fds[] = { { recorder->signals, POLLIN, 0 },
				{ collector_poll_fd(recorder->collector), POLLIN, 0 },
				{ closing_poll_fd(&recorder->closing), POLLIN, 0 },
				{ attendant_fd(recorder), POLLIN, 0 } };
	int ready = poll(fds, 4, timeout_ms);
	if (ready < 0 && errno != EINTR)
		return -errno;
	read_signals(recorder);
	woken->samples = ready > 0 && (fds[1].revents & POLLIN);
	woken->attendant =
		(ready > 0 && (fds[3].revents & POLLIN)) || clock_monotonic_ns() >= attend_ns;
	return 0;
}

/* 0 or -1. */
static int wait_and_service(struct recorder *recorder, uint64_t until_ns)
{
	struct error err;
	struct woken woken = { 0 };
	int ret = wait_until(recorder, until_ns, &woken);
	if (ret < 0) {
		error_set(&err, ret, "cannot wait for samples: %s", strerror(-ret));
		return fail(recorder, &err);
	}
	uint64_t before_ns = clock_thread_cpu_ns();
	if (woken.samples && collector_service(recorder->collector, &err) < 0)
		return fail(recorder, &err);
	add_work(&recorder->work, before_ns);
	tell_trouble(recorder);
	if (closing_is_over(&recorder->closing) && join_closing(recorder) < 0)
		return -1;
	if (woken.attendant)
		recorder->attendant.attend(recorder->attendant.context);
	return 0;
}

static void time_epoch(struct recorder *recorder)
{
	recorder->epoch_begin_ns = clock_monotonic_ns();
	if (recorder->epoch_ns)
		recorder->epoch_end_ns = recorder->epoch_begin_ns + recorder->epoch_ns;
}

int recorder_open_epoch(struct recorder *recorder, struct error *err)
{
	time_epoch(recorder);
	return recorder_make_epoch(recorder, &recorder->epoch, err);
}

/* The next epoch could not be opened: the present one goes on until that can be tried again, which
 * is when it is merged. */
static void go_on_without(struct recorder *recorder, const struct error *err)
{
	if (!recorder->opening_failed)
		recorder_say(recorder, RECORDER_WARNING, "%s; the epoch before goes on", err->text);
	recorder->opening_failed = true;
}

/* Ends an epoch and opens the next one, before the ended one is written: opening closes what killed
 * writers left, and must not find a half-written epoch. The ended epoch and its last delta go to
 * the closing thread. 0; -ECANCELED: the next one cannot be opened, with *err; or -1, which the
 * listener has heard. */
static int next_epoch(struct recorder *recorder, struct error *err)
{
	CLEANUP(profile_freep) struct profile *delta = NULL;
	struct epoch *next = NULL;
	if (recorder_make_epoch(recorder, &next, err) < 0)
		return -ECANCELED;
	uint64_t before_ns = clock_thread_cpu_ns();
	begin_ending(recorder);
	int ret = collector_end_epoch(recorder->collector, &delta, err);
	end_ending(recorder);
	uint64_t used_ns = clock_thread_cpu_ns() - before_ns;
	if (used_ns > recorder->work.most_at_end_ns)
		recorder->work.most_at_end_ns = used_ns;
	if (ret < 0) {
		epoch_discard(next);
		return fail(recorder, err);
	}
	struct epoch *ended = recorder->epoch;
	bill_totals_add(&recorder->totals, epoch_profile(ended));
	bill_totals_add(&recorder->unstored, delta);
	recorder->in_parts = true;
	recorder->epochs++;
	recorder->opening_failed = false;
	recorder->epoch = next;
	time_epoch(recorder);
	int closed = closing_start(&recorder->closing, ended, delta, err);
	delta = NULL; /* closing frees it, too */
	if (!closing_is_running(&recorder->closing))
		count_ended(recorder);
	return closed < 0 ? tell_unwritten(recorder, err) : 0;
}

/* Epochs are written one after the other: one lasts at least until the one before is written. */
static bool may_end_epoch(const struct recorder *recorder)
{
	return recorder->epoch_end_ns && !closing_is_running(&recorder->closing);
}

static void plan_merge(struct recorder *recorder)
{
	recorder->next_merge_ns = clock_monotonic_ns() + recorder->merge_ns;
}

/* When samples are merged next, or the epoch ends. */
static uint64_t next_drain_ns(const struct recorder *recorder)
{
	bool may_end = may_end_epoch(recorder) && !recorder->opening_failed;
	return may_end ? earlier(recorder->epoch_end_ns, recorder->next_merge_ns)
		       : recorder->next_merge_ns;
}

/* Ends the epoch where that is due, and else merges. 0 or -1. */
static int drain_or_end(struct recorder *recorder)
{
	struct error err;
	bool ends = may_end_epoch(recorder) && clock_monotonic_ns() >= recorder->epoch_end_ns;
	watch_clock(recorder);
	int ret = ends ? next_epoch(recorder, &err) : drain(recorder);
	if (ret == -ECANCELED) {
		go_on_without(recorder, &err);
		ret = drain(recorder);
	}
	plan_merge(recorder);
	return ret;
}

static int run_loop(struct recorder *recorder)
{
	plan_merge(recorder);
	while (goes_on(recorder)) {
		if (wait_and_service(recorder, next_drain_ns(recorder)) < 0)
			return -1;
		if (clock_monotonic_ns() >= next_drain_ns(recorder) && drain_or_end(recorder) < 0)
			return -1;
	}
	return recorder->failed ? -1 : 0;
}

/* ---- what the attendant may ask for */

/* What the listener has heard of ends the recording, once the attendant is done. */
static int ended_by(struct recorder *recorder, struct error *err)
{
	recorder->failed = recorder->asked_to_end = true;
	return error_set(err, -EIO, "the recording has failed and ends");
}

int recorder_flush(struct recorder *recorder, struct error *err)
{
	if (drain(recorder) < 0)
		return ended_by(recorder, err);
	plan_merge(recorder);
	return recorder->storing_failed ? error_set(err, -EIO,
						    "cannot be written now; it is kept "
						    "in memory, and tried again")
					: 0;
}

int recorder_gather(struct recorder *recorder, struct error *err)
{
	CLEANUP(profile_freep) struct profile *delta = NULL;
	int ret = collector_drain(recorder->collector, &delta, err);
	if (ret == 0)
		ret = epoch_hold(recorder->epoch, delta, err);
	if (ret == 0)
		return 0;
	fail(recorder, err);
	return ended_by(recorder, err);
}

int recorder_end_epoch(struct recorder *recorder, struct error *err)
{
	if (!recorder->epoch_ns)
		return error_set(err, -EINVAL, "this recording has no epochs");
	if (closing_is_running(&recorder->closing))
		return error_set(err, -EBUSY, "the epoch before is still being written");
	int ret = next_epoch(recorder, err);
	plan_merge(recorder);
	return ret == -ECANCELED ? err->code : ret < 0 ? ended_by(recorder, err) : 0;
}

void recorder_ask_to_end(struct recorder *recorder)
{
	recorder->asked_to_end = true;
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

/* Into memory alone: a recording that is killed before its first merge has sampled nothing, and the
 * next one finds the same end before it. */
static void bill_unsampled(struct recorder *recorder)
{
	const struct unsampled *unsampled = &recorder->unsampled;
	CLEANUP(profile_freep) struct profile *bill = NULL;
	struct error err;
	uint64_t ns = unsampled_now_ns(unsampled);
	if (unsampled->any && !ns)
		recorder_say(
			recorder, RECORDER_WARNING,
			"the recording before was cut off: for how long nothing was sampled is not "
			"known, "
			"for the clock was set since or the machine began anew");
	if (!ns)
		return;
	recorder_say(recorder, RECORDER_WARNING,
		     "the recording before was cut off or failed: of about %.1f s there is "
		     "nothing, which "
		     "reports say",
		     (double)ns / 1e9);
	bill = profile_new();
	if (!bill || profile_add_bill(bill, 0, OPTIONAL_ABSENT, BILL_UNSAMPLED_NS, ns) < 0)
		recorder_say(recorder, RECORDER_WARNING,
			     "out of memory for the time without samples");
	else if (epoch_hold(recorder->epoch, bill, &err) < 0)
		recorder_say(recorder, RECORDER_WARNING, "%s", err.text);
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
	bill_unsampled(recorder);
	watch_clock(recorder);
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
		recorder_say(recorder, RECORDER_WARNING,
			     "out of memory for the times of what was recorded");
	int merged = epoch_merge_last(recorder->epoch, delta, &err);
	note_merge(recorder, merged, &err);
	return 0;
}

/* After the end of sampling: waits until the epoch before is written, and goes on reading signals.
 * 0 or -1. */
static int await_written(struct recorder *recorder)
{
	while (closing_is_running(&recorder->closing) && !closing_is_over(&recorder->closing)) {
		tell_trouble(recorder);
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
	recorder->seconds = (double)(clock_monotonic_ns() - recorder->begin_ns) / 1e9;
	begin_ending(recorder);
	/* Before the end is gathered, which takes a while: processes run on meanwhile. */
	watched_time_end(&recorder->watched, collector_proc_ask(recorder->collector));
	int ret = recorder->epoch ? 0 : -1; /* NULL: the next one failed to open, as reported */
	if (recorder->epoch && finish_sampling(recorder) < 0)
		ret = -1;
	closing_give_up(&recorder->closing); /* nobody knows for how long it would wait */
	if (await_written(recorder) < 0)
		ret = -1;
	if (recorder->epoch) {
		bill_totals_add(&recorder->totals, epoch_profile(recorder->epoch));
		recorder->epochs++;
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
	if (recorder->claimed)
		close(recorder->claim);
	watched_time_release(&recorder->watched);
	command_dispose(&recorder->command);
	stepper_stop(&recorder->stepper);
	if (recorder->signals >= 0)
		close(recorder->signals);
}
