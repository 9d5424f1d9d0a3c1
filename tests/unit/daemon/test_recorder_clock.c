/* A recording with epochs while the clock is set forward and back: --wrap=clock_gettime sets it for
 * this process alone. */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "daemon/recorder.h"
#include "store/database.h"
#include "support/made_up_collector.h"
#include "support/temporary_folder.h"

#define RING_BYTES  (UINT64_C(1) << 20)
#define EPOCH_NS    UINT64_C(100000000)
#define MERGE_NS    UINT64_C(50000000)
#define TICK_NS	    INT64_C(2000000)
#define BACK_MS	    INT64_C(500000) /* longer than the test lasts */
#define PATIENCE_NS UINT64_C(120000000000)
#define SECOND_NS   INT64_C(1000000000)

static _Atomic int64_t set_by_ms; /* how far the clock is from the machine's */

int __real_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
	int ret = __real_clock_gettime(clock, now);
	if (ret < 0 || clock != CLOCK_REALTIME)
		return ret;
	int64_t now_ns =
		(int64_t)now->tv_sec * SECOND_NS + now->tv_nsec + atomic_load(&set_by_ms) * 1000000;
	now->tv_sec = (time_t)(now_ns / SECOND_NS);
	now->tv_nsec = (long)(now_ns % SECOND_NS);
	return ret;
}

struct run {
	struct collector *collector;
	const char *database;
	const int64_t *steps_ms; /* where the clock is set to, one after the other */
	size_t step_count;
	uint64_t set_ns, end_ns; /* by that clock: when it was set last, and after all */
	uint64_t made;
	char said[4096];
};

static size_t closed_epochs(const char *database)
{
	CLEANUP(database_list_release) struct database_list list = { 0 };
	size_t closed = 0;
	if (database_list(database, NULL, &list, NULL) < 0)
		return 0;
	for (size_t i = 0; i < list.count; i++)
		closed += !list.entries[i].is_open;
	return closed;
}

/* In place of the kernel, and of who sets the clock: whenever two more epochs are closed, which are
 * all of one time, and the one that spans the step. */
static void *sample(void *context)
{
	struct run *run = context;
	uint64_t begin_ns = clock_monotonic_ns();
	size_t steps = 0, wanted = 2;
	while (clock_monotonic_ns() - begin_ns < PATIENCE_NS) {
		run->made += made_up_collector_sample(run->collector);
		nanosleep(&(struct timespec){ .tv_nsec = TICK_NS }, NULL);
		if (closed_epochs(run->database) < wanted)
			continue;
		if (steps == run->step_count)
			break;
		int64_t step_ms = run->steps_ms[steps++] - atomic_load(&set_by_ms);
		run->set_ns = clock_realtime_ns() + (uint64_t)(step_ms * 1000000);
		atomic_fetch_add(&set_by_ms, step_ms);
		wanted = closed_epochs(run->database) + 3;
	}
	kill(getpid(), SIGTERM);
	return NULL;
}

static void hear(void *context, enum recorder_news kind, const char *sentence)
{
	struct run *run = context;
	size_t size = strlen(run->said);
	(void)kind;
	snprintf(run->said + size, sizeof(run->said) - size, "%s\n", sentence);
}

static void record(struct run *run, const char *database)
{
	sigset_t ours;
	sigemptyset(&ours);
	sigaddset(&ours, SIGTERM);
	sigprocmask(SIG_BLOCK, &ours, NULL);
	struct recorder recorder = {
		.output = database,
		.epoch_ns = EPOCH_NS,
		.merge_ns = MERGE_NS,
		.listener = { .say = hear, .context = run },
		.signals = signalfd(-1, &ours, SFD_CLOEXEC | SFD_NONBLOCK),
		.collector = made_up_collector_new(RING_BYTES),
	};
	struct error err = { 0 };
	pthread_t kernel;
	run->collector = recorder.collector;
	run->database = database;
	if (recorder_open_epoch(&recorder, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(pthread_create(&kernel, NULL, sample, run), 0);
	assert_int_equal(recorder_run(&recorder), 0);
	pthread_join(kernel, NULL);
	assert_int_equal(recorder.totals.stored, run->made);
	recorder_release(&recorder);
	run->end_ns = clock_realtime_ns();
	atomic_store(&set_by_ms, 0);
}

/* By start, as they are listed: none overlaps the one before, and none lasts longer than the test.
 */
static void assert_apart(const struct database_list *list)
{
	uint64_t samples = 0;
	for (size_t i = 0; i < list->count; i++) {
		const struct database_entry *entry = &list->entries[i];
		assert_true(entry->readable && entry->start_ns && entry->duration_ns);
		assert_true(entry->duration_ns < PATIENCE_NS);
		samples += entry->samples;
		if (i && list->entries[i - 1].start_ns + list->entries[i - 1].duration_ns >
				 entry->start_ns)
			fail_msg("%s overlaps %s", list->entries[i - 1].epoch, entry->epoch);
	}
	assert_true(samples > 0);
}

static void a_clock_that_is_set_moves_epochs_and_makes_none_overlap(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove) struct temporary_folder folder = temporary_folder_make();
	CLEANUP(database_list_release) struct database_list list = { 0 };
	/* Two hours forward, back, and back by a little. */
	static const int64_t steps_ms[] = { 7200000, 0, -200 };
	struct run run = { .steps_ms = steps_ms, .step_count = 3 };
	const struct database_selection whole = { .whole = true };
	record(&run, temporary_folder_path(&folder, "db"));
	assert_int_equal(database_list(run.database, &whole, &list, NULL), 0);
	assert_true(list.count >= 11);
	assert_apart(&list);
	uint64_t spread_ns = list.entries[list.count - 1].start_ns - list.entries[0].start_ns;
	assert_true(spread_ns > 7199 * (uint64_t)SECOND_NS); /* they have followed it */
	assert_non_null(strstr(run.said, "the clock was set forward by 7200."));
	assert_non_null(strstr(run.said, "the clock was set back by 7200."));
	assert_null(strstr(run.said, "the clock was set back by 0."));
}

static void epochs_follow_a_clock_that_is_set_back(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove) struct temporary_folder folder = temporary_folder_make();
	CLEANUP(database_list_release) struct database_list list = { 0 };
	static const int64_t steps_ms[] = { -BACK_MS };
	struct run run = { .steps_ms = steps_ms, .step_count = 1 };
	const struct database_selection whole = { .whole = true };
	size_t follow = 0, before = 0;
	record(&run, temporary_folder_path(&folder, "db"));
	assert_int_equal(database_list(run.database, &whole, &list, NULL), 0);
	for (size_t i = 0; i < list.count; i++) {
		const struct database_entry *entry = &list.entries[i];
		assert_true(entry->readable && entry->start_ns && entry->duration_ns);
		assert_true(entry->duration_ns < PATIENCE_NS);
		follow += entry->start_ns >= run.set_ns &&
			  entry->start_ns + entry->duration_ns <= run.end_ns;
		before += entry->start_ns > run.end_ns;
	}
	/* When it was set one was open and at most one was being closed; at least three more were
	 * closed after that, and one at the end. */
	assert_true(follow >= 2);
	assert_int_equal(follow + before, list.count);
	assert_non_null(strstr(run.said, "the clock was set back by 500."));
}

static void a_clock_that_nobody_sets_is_not_spoken_of(void **state)
{
	(void)state;
	CLEANUP(temporary_folder_remove) struct temporary_folder folder = temporary_folder_make();
	CLEANUP(database_list_release) struct database_list list = { 0 };
	struct run run = { 0 };
	const struct database_selection whole = { .whole = true };
	record(&run, temporary_folder_path(&folder, "db"));
	assert_int_equal(database_list(run.database, &whole, &list, NULL), 0);
	assert_apart(&list);
	assert_string_equal(run.said, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_clock_that_is_set_moves_epochs_and_makes_none_overlap),
		cmocka_unit_test(epochs_follow_a_clock_that_is_set_back),
		cmocka_unit_test(a_clock_that_nobody_sets_is_not_spoken_of),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
