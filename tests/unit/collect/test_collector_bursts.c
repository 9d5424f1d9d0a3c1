/* A command that is stepped now and then: the stepping is real, the samples are made up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "collect/stepper.h"
#include "made_up_recording.h"
#include "profile/bill.h"

#define TRIES 5000 /* of a millisecond */

static volatile uint64_t *turned; /* in memory that the child shares */

/* Turns of some instructions, and a branch back at the end of each: a sanitizer would put calls
 * between them. */
__attribute__((noinline, used, no_sanitize("thread", "address", "undefined"))) static _Noreturn void
turn(void)
{
	for (;;)
		(*turned)++;
}

static _Noreturn void wait_for_ever(void)
{
	for (;;)
		pause();
}

struct stepped {
	struct recording r;
	struct stepper stepper;
	pid_t pid;
};

static void begin(struct stepped *stepped, void (*what)(void))
{
	*stepped = (struct stepped){ 0 };
	turned = mmap(NULL, sizeof(*turned), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	assert_true(turned != MAP_FAILED);
	stepped->pid = stepper_fork(&stepped->stepper);
	assert_true(stepped->pid >= 0);
	if (stepped->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* when a test fails */
		prctl(PR_SET_NAME, "child");
		what();
	}
	/* On its way to the loop it takes other branches. */
	while (what == turn && *turned == 0)
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	recording_begin(&stepped->r, COLLECT_COMMAND, "cpu-clock");
	stepped->r.options.command_pid = stepped->pid;
	stepped->r.options.stepper = &stepped->stepper;
	stepped->r.options.burst_percent = 50;
	recording_start(&stepped->r);
}

static void end(struct stepped *stepped)
{
	kill(stepped->pid, SIGKILL);
	recording_end(&stepped->r);
	for (int i = 0; i < TRIES && !stepped->stepper.ended && !stepped->stepper.lost; i++) {
		stepper_receive(&stepped->stepper);
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	}
	assert_true(stepped->stepper.ended && WIFSIGNALED(stepped->stepper.wait_status));
	stepper_stop(&stepped->stepper);
	assert_int_equal(stepped->stepper.pid, 0);
	munmap((void *)turned, sizeof(*turned));
}

/* Samples come, and what is due is done, until the bill has that item. */
static void run_until_billed(struct stepped *stepped, const char *item)
{
	const struct made_up_sample sample = { .pid = (uint32_t)stepped->pid,
					       .tid = (uint32_t)stepped->pid,
					       .ip = (uint64_t)(uintptr_t)turn,
					       .misc = PERF_RECORD_MISC_USER,
					       .before_ns = 1000000 };
	for (int i = 0; i < TRIES && recording_billed(&stepped->r, NULL, item) < 1; i++) {
		recording_sample(&stepped->r, "cpu-clock", &sample);
		recording_drain(&stepped->r);
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	}
	assert_true(recording_billed(&stepped->r, NULL, item) > 0);
}

static void what_was_stepped_is_in_the_profile(void **state)
{
	(void)state;
	struct stepped s;
	begin(&s, turn);
	run_until_billed(&s, BILL_BURST_END_PREFIX "done");
	recording_finish(&s.r);
	int64_t steps = recording_billed(&s.r, NULL, BILL_STEPS);
	assert_true(steps >= STEP_LIMIT);
	assert_true(recording_billed(&s.r, NULL, BILL_BURSTS) > 0);
	assert_true(recording_billed(&s.r, NULL, BILL_BURST_NS) > 0);
	assert_non_null(strstr(s.r.notes, " instructions stepped, "));
	/* All of them are of one loop, so each branch leads to the one place where it begins. */
	const struct table *edges = profile_table(s.r.got, PROFILE_EDGE);
	assert_true(edges->count > 0);
	uint64_t taken = 0;
	for (size_t row = 0; row < edges->count; row++) {
		const uint64_t *keys = table_keys(edges, row);
		assert_int_equal(keys[EDGE_ORIGIN], ORIGIN_STEPPED);
		assert_int_equal(keys[EDGE_FROM_IMAGE], keys[EDGE_TO_IMAGE]);
		assert_in_range(keys[EDGE_FROM_VADDR] - keys[EDGE_TO_VADDR] + 64, 0, 128);
		taken += table_values(edges, row)[0];
	}
	assert_in_range(taken, steps / 20, steps);
	const struct table *ranges = profile_table(s.r.got, PROFILE_RANGE);
	assert_true(ranges->count > 0);
	end(&s);
}

static void what_sleeps_is_left_alone(void **state)
{
	(void)state;
	struct stepped s;
	begin(&s, wait_for_ever);
	run_until_billed(&s, BILL_BURST_END_PREFIX "idle");
	recording_finish(&s.r);
	assert_int_equal(recording_billed(&s.r, NULL, BILL_STEPS), 0);
	assert_int_equal(profile_table(s.r.got, PROFILE_EDGE)->count, 0);
	assert_non_null(strstr(s.r.notes, "no bursts: nothing ran when one was due\n"));
	end(&s);
}

static void a_stepper_that_is_gone_is_said_to_be(void **state)
{
	(void)state;
	struct stepped s;
	begin(&s, wait_for_ever);
	kill(s.stepper.pid, SIGKILL);
	assert_int_equal(waitpid(s.stepper.pid, NULL, 0), s.stepper.pid);
	assert_int_equal(collector_service(s.r.collector, &s.r.err), 0);
	recording_finish(&s.r);
	assert_non_null(strstr(s.r.notes, "warning: the process that steps has ended: no bursts "
					  "from then on\n"));
	kill(s.pid, SIGKILL);
	recording_end(&s.r);
	stepper_stop(&s.stepper);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_stepped_is_in_the_profile),
		cmocka_unit_test(what_sleeps_is_left_alone),
		cmocka_unit_test(a_stepper_that_is_gone_is_said_to_be),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
