/*
 * A recording whose samples are made up, with epochs: its rings are served while one that is large
 * ends and is written.
 *
 * How long a ring waited is told by the CPU time that the recorder's thread used meanwhile, which
 * others on the machine do not add to. They can keep the thread that serves waiting, though, so
 * that it has a few tries: work that nobody serves beside takes as long every time. Where the CPU
 * is emulated, which SLOW_CPU in the environment says, all of it takes several times as long.
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/growth.h"
#include "daemon/recorder.h"
#include "profile/bill.h"
#include "profile/profile.h"
#include "store/database.h"
#include "store/profile_file.h"
#include "support/made_up_collector.h"
#include "support/temporary_folder.h"

#if defined(__SANITIZE_THREAD__)
#define IS_WATCHED true
#else
#define IS_WATCHED GROWTH_IS_WATCHED
#endif
#define RING_BYTES (UINT64_C(2) << 20)
#define PLACES                                                                                     \
	(IS_WATCHED ? 20000u : 250000u) /* each a row of samples, one of stacks, and a node */
#define RATE_HZ	     10000u
#define TICK_NS	     UINT64_C(1000000)
#define MOST_A_TICK  100u /* one that comes late makes up for no more than that */
#define MOST_WAIT_NS (UINT64_C(200000000) * (getenv("SLOW_CPU") ? 10 : 1))
#define TRIES	     3
#define EPOCH_NS     UINT64_C(100000000)
#define PATIENCE_NS  UINT64_C(120000000000)
#define SOME_EPOCHS  4u

/* In place of the kernel, on a thread of its own. */
struct sampling {
	struct collector *collector;
	clockid_t owner; /* the CPU time of the recorder's thread */
	const char *database;
	uint64_t made, lost;
	uint64_t oldest_end; /* of the samples up to there in the ring the last is waited for, */
	uint64_t oldest_ns;  /* since that time of that clock */
	uint64_t longest_ns; /* that a sample waited, by that clock */
	atomic_bool stop;    /* when the first epoch is written, without a database */
};

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;
	assert_int_equal(clock_gettime(clock, &now), 0);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static size_t closed_epochs(const char *database)
{
	CLEANUP(database_list_release) struct database_list list = { 0 };
	const struct database_selection all = { 0 };
	size_t closed = 0;
	if (database_list(database, &all, &list, NULL) < 0)
		return 0;
	for (size_t i = 0; i < list.count; i++)
		closed += !list.entries[i].is_open;
	return closed;
}

static void make_due(struct sampling *sampling, uint64_t *due_ns)
{
	uint64_t now_ns = clock_monotonic_ns();
	for (unsigned i = 0; *due_ns <= now_ns && i < MOST_A_TICK; i++) {
		if (made_up_collector_sample(sampling->collector))
			sampling->made++;
		else
			sampling->lost++;
		*due_ns += 1000000000u / RATE_HZ;
	}
	if (*due_ns <= now_ns)
		*due_ns = now_ns;
}

/*
 * How long the oldest sample that nobody has read has waited so far. A thread that comes late to
 * look sees that it was read, and not when: that is no wait.
 */
static void look_at_oldest(struct sampling *sampling)
{
	uint64_t now_ns = clock_ns(sampling->owner);
	if (made_up_collector_served(sampling->collector) >= sampling->oldest_end) {
		sampling->oldest_end = made_up_collector_written(sampling->collector);
		sampling->oldest_ns = now_ns;
	} else if (now_ns - sampling->oldest_ns > sampling->longest_ns) {
		sampling->longest_ns = now_ns - sampling->oldest_ns;
	}
}

static void *sample(void *context)
{
	struct sampling *sampling = context;
	const struct timespec tick = { .tv_nsec = TICK_NS };
	uint64_t begin_ns = clock_monotonic_ns(), due_ns = begin_ns, looked_ns = begin_ns;
	bool over = false;
	while (!over && clock_monotonic_ns() - begin_ns < PATIENCE_NS) {
		make_due(sampling, &due_ns);
		look_at_oldest(sampling);
		nanosleep(&tick, NULL);
		over = atomic_load(&sampling->stop);
		if (sampling->database && clock_monotonic_ns() - looked_ns > EPOCH_NS) {
			looked_ns = clock_monotonic_ns();
			over = closed_epochs(sampling->database) > 0;
		}
	}
	if (sampling->database)
		kill(getpid(), SIGTERM);
	return NULL;
}

static struct sampling sampling_of(struct collector *collector, const char *database)
{
	struct sampling sampling = { .collector = collector, .database = database };
	assert_int_equal(pthread_getcpuclockid(pthread_self(), &sampling.owner), 0);
	return sampling;
}

/* So many samples at places of their own are in the epoch when it begins. */
static void fill(struct collector *collector, uint64_t rows)
{
	struct error err = { 0 };
	for (uint64_t i = 0; i < rows; i++) {
		if (made_up_collector_sample(collector))
			continue;
		if (collector_service(collector, &err) < 0)
			fail_msg("%s", err.text);
		i--;
	}
}

static void say(void *context, enum recorder_news kind, const char *sentence)
{
	(void)context;
	(void)kind;
	fail_msg("%s", sentence);
}

static uint64_t stored_samples(const char *database, size_t *rows)
{
	CLEANUP(profile_freep) struct profile *profile = NULL;
	const struct database_selection all = { 0 };
	struct error err = { 0 };
	uint64_t sum = 0;
	if (database_read(database, &all, &profile, &err) < 0)
		fail_msg("%s", err.text);
	const struct table *flat = profile_table(profile, PROFILE_FLAT);
	for (size_t row = 0; row < flat->count; row++)
		sum += table_values(flat, row)[CELL_SAMPLES];
	*rows = flat->count;
	return sum;
}

static int signals_heard(void)
{
	sigset_t heard;
	sigemptyset(&heard);
	sigaddset(&heard, SIGTERM);
	assert_int_equal(pthread_sigmask(SIG_BLOCK, &heard, NULL), 0);
	return signalfd(-1, &heard, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* Whether the rings were. What the epochs hold is right in either case. */
static bool are_served(int signals)
{
	CLEANUP(temporary_folder_remove) struct temporary_folder folder = temporary_folder_make();
	struct recorder recorder = {
		.output = temporary_folder_path(&folder, "db"),
		.epoch_ns = EPOCH_NS,
		.merge_ns = PATIENCE_NS,
		.listener = { .say = say },
		.signals = signals,
		.collector = made_up_collector_new(RING_BYTES),
	};
	struct sampling sampling = sampling_of(recorder.collector, recorder.output);
	struct error err = { 0 };
	pthread_t kernel;
	size_t rows;
	fill(recorder.collector, PLACES);
	if (recorder_open_epoch(&recorder, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(pthread_create(&kernel, NULL, sample, &sampling), 0);
	assert_int_equal(recorder_run(&recorder), 0);
	pthread_join(kernel, NULL);
	assert_true(recorder.in_parts);
	assert_int_equal(stored_samples(recorder.output, &rows), PLACES + sampling.made);
	assert_int_equal(rows, PLACES + sampling.made);
	assert_int_equal(recorder.totals.stored, PLACES + sampling.made);
	recorder_release(&recorder);
	print_message("%llu samples lost, longest wait %.1f ms of CPU time\n",
		      (unsigned long long)sampling.lost, (double)sampling.longest_ns / 1e6);
	return sampling.lost == 0 && sampling.longest_ns < MOST_WAIT_NS;
}

static void rings_are_served_while_a_large_epoch_ends_and_is_written(void **state)
{
	(void)state;
	for (int tries = 0; tries < TRIES; tries++)
		if (are_served(signals_heard()))
			return;
	fail_msg("rings waited, or samples were lost, each of %d times", TRIES);
}

/* What the test above would see of a thread that works and serves nothing. */
static void a_ring_that_nobody_serves_is_seen_to_wait(void **state)
{
	(void)state;
	struct collector *collector = made_up_collector_new(RING_BYTES / 16);
	struct sampling sampling = sampling_of(collector, NULL);
	uint64_t begin_ns = clock_ns(sampling.owner);
	pthread_t kernel;
	assert_int_equal(pthread_create(&kernel, NULL, sample, &sampling), 0);
	while (clock_ns(sampling.owner) - begin_ns < 2 * MOST_WAIT_NS)
		;
	atomic_store(&sampling.stop, true);
	pthread_join(kernel, NULL);
	assert_true(sampling.longest_ns > MOST_WAIT_NS);
	assert_true(sampling.lost > 0);
	collector_free(collector);
}

static void *stop_after_some_epochs(void *context)
{
	const char *database = context;
	const struct timespec look = { .tv_nsec = EPOCH_NS };
	uint64_t begin_ns = clock_monotonic_ns();
	while (closed_epochs(database) < SOME_EPOCHS &&
	       clock_monotonic_ns() - begin_ns < PATIENCE_NS / 2)
		nanosleep(&look, NULL);
	kill(getpid(), SIGTERM);
	return NULL;
}

/* The end of the next one is due while the one before is still being written. */
static void epochs_end_in_time_however_rarely_samples_are_merged(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove) struct temporary_folder folder = temporary_folder_make();
	struct recorder recorder = {
		.output = temporary_folder_path(&folder, "db"),
		.epoch_ns = EPOCH_NS,
		.merge_ns = PATIENCE_NS,
		.listener = { .say = say },
		.signals = signals_heard(),
		.collector = made_up_collector_new(RING_BYTES),
	};
	struct error err = { 0 };
	pthread_t other;
	if (recorder_open_epoch(&recorder, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(pthread_create(&other, NULL, stop_after_some_epochs,
					(void *)(uintptr_t)recorder.output),
			 0);
	assert_int_equal(recorder_run(&recorder), 0);
	pthread_join(other, NULL);
	assert_true(recorder.epochs >= SOME_EPOCHS);
	recorder_release(&recorder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(epochs_end_in_time_however_rarely_samples_are_merged),
		cmocka_unit_test(rings_are_served_while_a_large_epoch_ends_and_is_written),
		cmocka_unit_test(a_ring_that_nobody_serves_is_seen_to_wait),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
