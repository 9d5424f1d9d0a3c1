/* Rings are emptied while their owner does something else. */
#include <errno.h>
#include <linux/perf_event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "collect/collector_private.h"
#include "collect/ring.h"
#include "machine/perf_record.h"
#include "profile/profile.h"
#include "support/made_up_collector.h"

#define RING_BYTES  4096u
#define LARGE_BYTES (1u << 20)
#define PATIENCE_NS UINT64_C(60000000000)

/* Until somebody has emptied the ring. */
static bool is_served(const struct collector *collector)
{
	const struct ring *ring = &collector->session.counters.rings[0];
	const struct perf_event_mmap_page *control = ring->memory;
	const struct timespec pause = { .tv_nsec = 1000000 };
	uint64_t begin_ns = clock_monotonic_ns();
	while (made_up_collector_served(collector) != control->data_head) {
		if (clock_monotonic_ns() - begin_ns > PATIENCE_NS)
			return false;
		nanosleep(&pause, NULL);
	}
	return true;
}

static size_t fill(struct collector *collector)
{
	size_t made = 0;
	while (made_up_collector_sample(collector))
		made++;
	return made;
}

static uint64_t drain(struct collector *collector)
{
	CLEANUP(profile_freep) struct profile *profile = NULL;
	struct error err = { 0 };
	uint64_t sum = 0;
	if (collector_drain(collector, &profile, &err) < 0)
		fail_msg("%s", err.text);
	const struct table *flat = profile_table(profile, PROFILE_FLAT);
	for (size_t row = 0; row < flat->count; row++)
		sum += table_values(flat, row)[CELL_SAMPLES];
	return sum;
}

static struct collector *started(void)
{
	struct collector *collector = made_up_collector_new(RING_BYTES);
	struct error err = { 0 };
	if (collector_start(collector, &err) < 0)
		fail_msg("%s", err.text);
	return collector;
}

static void between_two_calls_nothing_is_lost(void **state)
{
	(void)state;
	struct collector *collector = started();
	const struct timespec settle = { .tv_nsec = 1000000 };
	uint64_t made = 0;
	uint64_t taken = drain(collector);
	for (int round = 0; round < 10; round++) { /* each fills the ring */
		size_t now = fill(collector);
		assert_true(now > 10);
		made += now;
		assert_true(is_served(collector));
		if (round % 3 == 0)
			taken += drain(collector);
	}
	nanosleep(&settle, NULL); /* the last ones are handled no sooner */
	taken += drain(collector);
	assert_int_equal(taken, made);
	collector_free(collector);
}

static void an_owner_that_has_them_back_serves_them_alone(void **state)
{
	(void)state;
	struct collector *collector = started();
	struct error err = { 0 };
	drain(collector);
	assert_true(ring_keeper_owns_rings(&collector->session.keeper));
	assert_int_equal(session_copy_rings(&collector->session), 0); /* is left to the keeper */
	assert_int_equal(collector_service(collector, &err), 0);
	assert_false(ring_keeper_owns_rings(&collector->session.keeper));
	fill(collector);
	uint64_t served = made_up_collector_served(collector);
	const struct timespec longer = { .tv_nsec = 50000000 };
	nanosleep(&longer, NULL);
	assert_int_equal(made_up_collector_served(collector), served);
	assert_int_equal(session_copy_rings(&collector->session), 0);
	assert_true(made_up_collector_served(collector) > served);
	assert_int_equal(ring_keeper_end(&collector->session.keeper), 0); /* it has none */
	collector_free(collector);
}

/* However long the owner is at work. */
static void memory_has_an_end(void **state)
{
	(void)state;
	struct collector *collector = made_up_collector_new(LARGE_BYTES);
	const struct ring *ring = &collector->session.counters.rings[0];
	struct error err = { 0 };
	uint64_t begin_ns = clock_monotonic_ns();
	uint64_t made = 0;
	if (collector_start(collector, &err) < 0)
		fail_msg("%s", err.text);
	drain(collector);
	/* Much more than may wait: the last is lost by the kernel, as ever. */
	while (made_up_collector_served(collector) < RING_WAITING_BYTES - LARGE_BYTES &&
	       clock_monotonic_ns() - begin_ns < PATIENCE_NS)
		made += fill(collector);
	for (int looks = 0; looks < 5; looks++) {
		const struct timespec longer = { .tv_nsec = 50000000 };
		nanosleep(&longer, NULL);
		made += fill(collector);
	}
	uint64_t served = made_up_collector_served(collector);
	assert_in_range(served, RING_WAITING_BYTES - LARGE_BYTES, RING_WAITING_BYTES);
	assert_int_equal(ring_keeper_end(&collector->session.keeper), 0);
	assert_in_range(ring->copied.capacity, 1, RING_WAITING_BYTES / 2 * 3);
	assert_int_equal(collector_service(collector, &err), 0);
	assert_true(made_up_collector_served(collector) > served);
	assert_true(ring_waiting_bytes(ring) < LARGE_BYTES);
	const struct timespec settle = { .tv_nsec = 1000000 };
	nanosleep(&settle, NULL);
	assert_int_equal(drain(collector), made);
	collector_free(collector);
}

/* What is handed out, by the linker's --wrap. */
static uint64_t last_time;
static size_t out_of_order;

int __real_session_process_record(void *session, struct ring *ring, const void *record,
				  size_t size);
int __wrap_session_process_record(void *session, struct ring *ring, const void *record,
				  size_t size);

int __wrap_session_process_record(void *session, struct ring *ring, const void *record, size_t size)
{
	uint64_t time;
	size_t at = ring->sideband ? size - 16 : 32;
	memcpy(&time, (const uint8_t *)record + at, sizeof(time));
	out_of_order += time < last_time;
	last_time = time;
	return __real_session_process_record(session, ring, record, size);
}

/* Adds a record of now to the ring of the side-band. */
static void note_loss(struct ring *ring)
{
	const struct perf_layout layout = { .sample_type =
						    PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TIME,
					    .sample_id_all = true };
	const uint64_t words[] = { PERF_RECORD_LOST | UINT64_C(40) << 48, 0, 1,
				   clock_monotonic_ns(), 0 };
	assert_int_equal(ring_append(ring, words, sizeof(words), &layout), 0);
}

/* However far behind: and what waits in the kernel's ring is still handed out before what is later
 * in another. */
static void an_owner_who_is_behind_copies_no_more(void **state)
{
	(void)state;
	struct collector *collector = made_up_collector_new(LARGE_BYTES);
	struct session *session = &collector->session;
	struct ring *rings = session->counters.rings;
	struct error err = { 0 };
	uint64_t served, made = 0;
	if (collector_start(collector, &err) < 0)
		fail_msg("%s", err.text);
	do {
		made += fill(collector);
		served = made_up_collector_served(collector);
		assert_int_equal(session_copy_rings(session), 0);
	} while (made_up_collector_served(collector) > served);
	assert_in_range(served, RING_WAITING_BYTES - LARGE_BYTES, RING_WAITING_BYTES);
	uint64_t copied_until = ring_copied_until(&rings[0]);
	assert_int_equal(copied_until, rings[0].entries[rings[0].count - 1].time);
	rings[1].sideband = true;
	note_loss(&rings[1]);

	last_time = out_of_order = 0;
	const struct timespec settle = { .tv_nsec = 1000000 };
	nanosleep(&settle, NULL);
	assert_int_equal(drain(collector), made);
	assert_true(last_time > copied_until);
	assert_int_equal(out_of_order, 0);
	assert_int_equal(ring_keeper_end(&session->keeper), 0);
	assert_int_equal(ring_copied_until(&rings[0]), UINT64_MAX);
	collector_free(collector);
}

static void a_ring_that_cannot_be_read_is_told_whoever_serves_it(void **state)
{
	(void)state;
	struct collector *collector = started();
	struct perf_event_mmap_page *control = collector->session.counters.rings[0].memory;
	struct error err = { 0 };
	drain(collector);
	/* More than there is room for: a page that somebody else wrote. */
	__atomic_store_n(&control->data_head, 1 << 20, __ATOMIC_RELEASE);
	assert_int_equal(collector_service(collector, &err), -EOVERFLOW);
	assert_string_equal(err.text, "a perf ring cannot be read: Value too large for defined "
				      "data type");
	collector_free(collector);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(between_two_calls_nothing_is_lost),
		cmocka_unit_test(an_owner_that_has_them_back_serves_them_alone),
		cmocka_unit_test(memory_has_an_end),
		cmocka_unit_test(an_owner_who_is_behind_copies_no_more),
		cmocka_unit_test(a_ring_that_cannot_be_read_is_told_whoever_serves_it),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
