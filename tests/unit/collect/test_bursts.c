#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "collect/bursts.h"
#include "collect/stepper.h"

static void records_wait_for_the_window_of_a_stretch_but_not_for_ever(void **state)
{
	(void)state;
	struct bursts bursts = { .asked = true, .asked_ns = 5000 };
	assert_int_equal(bursts_limit(&bursts, 4000), 4000);
	assert_int_equal(bursts_limit(&bursts, 6000), 4999);
	assert_int_equal(bursts_limit(&bursts, 5000 + UINT64_C(2000000000)),
			 5000 + UINT64_C(2000000000));
	assert_int_equal(bursts_limit(&bursts, UINT64_MAX), UINT64_MAX);
	bursts.asked = false;
	assert_int_equal(bursts_limit(&bursts, 6000), 6000);
}

static void what_was_stepped_comes_before_later_records(void **state)
{
	(void)state;
	struct steps steps = { .end_ns = 7000 };
	struct bursts bursts = { .answer = &steps, .answered = true };
	assert_int_equal(bursts_answer_end(&bursts, 6000), 6000);
	assert_int_equal(bursts_answer_end(&bursts, 9000), 7000);
	bursts.answered = false;
	assert_int_equal(bursts_answer_end(&bursts, 9000), 9000);
}

static void samples_of_the_thread_in_the_window_are_held(void **state)
{
	(void)state;
	struct bursts bursts = { .windows = { { 7, 100, 200 }, { 8, 300, 400 } },
				 .window_count = 2 };
	assert_true(bursts_was_stepped(&bursts, 7, 100));
	assert_true(bursts_was_stepped(&bursts, 7, 200));
	assert_false(bursts_was_stepped(&bursts, 7, 99));
	assert_false(bursts_was_stepped(&bursts, 7, 201));
	assert_false(bursts_was_stepped(&bursts, 7, 350));
	assert_true(bursts_was_stepped(&bursts, 8, 350));
	assert_false(bursts_was_stepped(&(struct bursts){ 0 }, 0, 0));
}

static void assert_tells(const struct bursts *bursts, bool warns, const char *sentence)
{
	char text[400];
	assert_int_equal(bursts_describe(bursts, text, sizeof(text)), warns);
	assert_string_equal(text, sentence);
}

static void what_came_of_it_is_told(void **state)
{
	(void)state;
	struct stepper stepper = { .pid = 1 };
	struct bursts bursts = { 0 };
	assert_tells(&bursts, false, "");
	bursts.stepper = &stepper;
	assert_tells(&bursts, false, "no bursts: nothing ran when one was due");
	bursts.ends[STEP_IDLE] = 3;
	assert_tells(&bursts, false, "no bursts: nothing ran when one was due");
	bursts.ends[STEP_OWN_TRAPS] = 1;
	assert_tells(&bursts, true,
		     "no bursts: what was to be stepped cannot be: it ignores or awaits SIGTRAP, "
		     "or steps itself");
	bursts.ends[STEP_NARROW] = 1;
	assert_tells(&bursts, true,
		     "no bursts: what was to be stepped cannot be: it is 32-bit code");
	bursts.ends[STEP_TRACED] = 3;
	assert_tells(&bursts, true,
		     "no bursts: what was to be stepped cannot be: another program traces it");
	bursts.refusal = -EPERM;
	bursts.refused_tid = 12;
	assert_tells(&bursts, true,
		     "no bursts: thread 12 may not be traced: Operation not permitted (another "
		     "user's, or kernel.yama.ptrace_scope forbids it)");
	bursts.refusal = -EIO;
	assert_tells(&bursts, true, "no bursts: thread 12 may not be traced: Input/output error");
	bursts.started = 2;
	bursts.steps = 400;
	bursts.ns = 10000000;
	assert_tells(&bursts, false, "2 bursts, 400 instructions stepped, 25.0 us each");
	bursts.failures = 1;
	assert_tells(&bursts, true,
		     "2 bursts, 400 instructions stepped, 25.0 us each; 1 left out, whose code "
		     "could not be decoded");
	stepper.lost = true;
	assert_tells(&bursts, true, "the process that steps has ended: no bursts from then on");
}

static int give_up(void *context)
{
	(void)context;
	return -ECANCELED;
}

static void the_last_stretch_is_not_waited_for_when_nobody_wants_it(void **state)
{
	(void)state;
	int sockets[2];
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets), 0);
	struct stepper stepper = { .pid = 1, .socket = sockets[0] };
	struct helper_watch watch = { .wake_fd = -1, .look = give_up };
	struct bursts bursts = {
		.stepper = &stepper, .decoder = { .watch = &watch }, .asked = true, .due_ns = 5
	};
	uint64_t begin_ns = clock_monotonic_ns();
	bursts_stop(&bursts);
	assert_true(clock_monotonic_ns() - begin_ns < 400000000);
	assert_int_equal(bursts.due_ns, 0);
	close(sockets[0]);
	close(sockets[1]);
}

/* What the other side sends: kind, number, two times, and of steps as much as there are places. */
#define ANSWER_HEAD 24
static void damaged_answers_are_no_answers(void **state)
{
	(void)state;
	int sockets[2];
	static const struct steps whole = { .tid = 5, .end = STEP_DONE, .count = 2 };
	uint8_t message[ANSWER_HEAD + sizeof(whole)] = { 2 /* steps */ };
	size_t size = ANSWER_HEAD + offsetof(struct steps, places) + 3 * sizeof(struct step_place);
	memcpy(message + ANSWER_HEAD, &whole, sizeof(whole));
	for (size_t cut = 0; cut <= 2; cut++) {
		struct stepper stepper = { .pid = 1 };
		assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets), 0);
		stepper.socket = sockets[0];
		assert_int_equal(send(sockets[1], message, cut == 2 ? 4 : size - cut, 0),
				 cut == 2 ? 4 : (ssize_t)(size - cut));
		stepper_receive(&stepper);
		assert_int_equal(stepper.answered, cut == 0);
		assert_int_equal(stepper.lost, cut != 0);
		if (cut == 0)
			assert_int_equal(stepper.steps.count, 2);
		close(sockets[1]);
		stepper_receive(&stepper);
		assert_true(stepper.lost);
		close(sockets[0]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_wait_for_the_window_of_a_stretch_but_not_for_ever),
		cmocka_unit_test(what_was_stepped_comes_before_later_records),
		cmocka_unit_test(samples_of_the_thread_in_the_window_are_held),
		cmocka_unit_test(what_came_of_it_is_told),
		cmocka_unit_test(the_last_stretch_is_not_waited_for_when_nobody_wants_it),
		cmocka_unit_test(damaged_answers_are_no_answers),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
