#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <poll.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <unistd.h>

#include "collect/ring_watch.h"

/* Descriptors that hang up as an event does whose task has ended: one end of a socket pair. */
#define EVENTS 100
struct events {
	int ours[EVENTS], theirs[EVENTS];
	struct ring_watch watch;
};

static void init(struct events *events, size_t rings)
{
	assert_int_equal(ring_watch_open(&events->watch, rings), 0);
	for (size_t i = 0; i < EVENTS; i++) {
		int pair[2];
		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
		events->ours[i] = pair[0];
		events->theirs[i] = pair[1];
		assert_int_equal(ring_watch_add(&events->watch, i % rings, pair[0]), 0);
	}
}

static void release(struct events *events)
{
	ring_watch_close(&events->watch);
	for (size_t i = 0; i < EVENTS; i++) {
		close(events->ours[i]);
		if (events->theirs[i] >= 0)
			close(events->theirs[i]);
	}
}

static void end(struct events *events, size_t event)
{
	close(events->theirs[event]);
	events->theirs[event] = -1;
}

static bool ready(const struct events *events)
{
	struct pollfd fd = { events->watch.fd, POLLIN, 0 };
	return poll(&fd, 1, 0) > 0;
}

static void write_to(const struct events *events, size_t event)
{
	assert_int_equal(write(events->theirs[event], "", 1), 1);
}

static void read_from(const struct events *events, size_t event)
{
	char byte;
	assert_int_equal(read(events->ours[event], &byte, 1), 1);
}

static void only_the_first_of_a_ring_is_polled(void **state)
{
	(void)state;
	struct events events;
	init(&events, 2);
	assert_false(ready(&events));
	write_to(&events, 2); /* ring 0 has event 0 */
	assert_false(ready(&events));
	write_to(&events, 1);
	assert_true(ready(&events));
	ring_watch_renew(&events.watch); /* no reason to leave */
	assert_true(ready(&events));
	read_from(&events, 1);
	assert_false(ready(&events));
	release(&events);
}

static void what_has_hung_up_makes_way_for_the_next_of_its_ring(void **state)
{
	(void)state;
	struct events events;
	init(&events, 2);
	end(&events, 0);
	end(&events, 2);
	assert_true(ready(&events));
	ring_watch_renew(&events.watch);
	assert_false(ready(&events));
	write_to(&events, 4);
	assert_true(ready(&events));
	read_from(&events, 4);
	write_to(&events, 1); /* the other ring's is still there */
	assert_true(ready(&events));
	release(&events);
}

static void one_that_ended_before_its_turn_is_passed_over(void **state)
{
	(void)state;
	struct events events;
	init(&events, 1);
	for (size_t i = 1; i < EVENTS - 1; i++)
		end(&events, i);
	assert_false(ready(&events));
	end(&events, 0);
	ring_watch_renew(&events.watch);
	assert_false(ready(&events));
	write_to(&events, EVENTS - 1);
	assert_true(ready(&events));
	release(&events);
}

static void one_that_is_removed_makes_way_and_does_not_come_back(void **state)
{
	(void)state;
	struct events events;
	init(&events, 1);
	ring_watch_remove(&events.watch, events.watch.list[1].fd); /* waiting for its turn */
	ring_watch_remove(&events.watch, events.watch.list[0].fd); /* the one that is polled */
	write_to(&events, 0);
	write_to(&events, 1);
	assert_false(ready(&events));
	write_to(&events, 2);
	assert_true(ready(&events));
	read_from(&events, 2);
	assert_false(ready(&events));
	release(&events);
}

static void when_all_have_ended_nothing_is_ready(void **state)
{
	(void)state;
	struct events events;
	init(&events, EVENTS); /* more rings than are looked at at once */
	for (size_t i = 0; i < EVENTS; i++)
		end(&events, i);
	ring_watch_renew(&events.watch);
	assert_false(ready(&events));
	int pair[2]; /* an event that comes later is watched again */
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	assert_int_equal(ring_watch_add(&events.watch, 3, pair[0]), 0);
	assert_int_equal(write(pair[1], "", 1), 1);
	assert_true(ready(&events));
	close(pair[0]);
	close(pair[1]);
	release(&events);
}

static void a_watch_that_was_never_opened_is_closed(void **state)
{
	(void)state;
	struct ring_watch watch = RING_WATCH_NONE;
	ring_watch_close(&watch);
	assert_int_equal(watch.fd, -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_the_first_of_a_ring_is_polled),
		cmocka_unit_test(what_has_hung_up_makes_way_for_the_next_of_its_ring),
		cmocka_unit_test(one_that_ended_before_its_turn_is_passed_over),
		cmocka_unit_test(one_that_is_removed_makes_way_and_does_not_come_back),
		cmocka_unit_test(when_all_have_ended_nothing_is_ready),
		cmocka_unit_test(a_watch_that_was_never_opened_is_closed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
