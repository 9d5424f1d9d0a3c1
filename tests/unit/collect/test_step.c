/* Threads of children that do nothing but a known thing are stepped; they must not notice. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <grp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "collect/step.h"
#include "collect/step_machine.h"

#define TRIES 2000 /* of a millisecond */

/* What a child tells, in memory that is shared with it. */
static struct told {
	volatile uint64_t turns;
	volatile int handled;
	volatile int mask_changed;
	volatile pid_t worker;
} * told;

static void nap_ms(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
}

static void spin(void)
{
	for (;;)
		told->turns++;
}

/* A child that does that, and runs. */
static pid_t start(void (*what)(void))
{
	memset((void *)told, 0, sizeof(*told));
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* when a test fails */
		what();
		_exit(3);
	}
	for (int i = 0; i < TRIES && !told->turns; i++)
		nap_ms();
	assert_true(told->turns);
	return pid;
}

static int end(pid_t pid)
{
	int status = 0;
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void ignore(void *context)
{
	(void)context;
}

/* Until it is found running, and the machine is not too busy for a stretch to end in time. */
static void step(pid_t pid, size_t limit, struct steps *steps)
{
	for (int i = 0; i < TRIES; i++) {
		step_thread(pid, limit, ignore, NULL, steps);
		if (steps->end != STEP_IDLE && steps->end != STEP_SLOW)
			return;
		nap_ms();
	}
}

static bool refused(const struct steps *steps)
{
	return steps->end == STEP_REFUSED || steps->end == STEP_TRACED;
}

static void goes_on(pid_t pid)
{
	uint64_t before = told->turns;
	for (int i = 0; i < TRIES && told->turns < before + 1000; i++)
		nap_ms();
	assert_true(told->turns >= before + 1000);
	assert_int_equal(waitpid(pid, NULL, WNOHANG), 0);
}

static void a_thread_is_stepped_and_let_go(void **state)
{
	(void)state;
	struct steps *steps = calloc(1, sizeof(*steps));
	assert_non_null(steps);
	pid_t pid = start(spin);
	for (int i = 0; i < 20; i++) {
		step(pid, 180, steps);
		if (refused(steps)) {
			print_message("may not trace here\n");
			break;
		}
		assert_int_equal(steps->end, STEP_DONE);
		assert_int_equal(steps->count, 180);
		assert_true(steps->end_ns > steps->begin_ns);
		/* a loop of a few instructions (more with sanitizers): it comes by where it began
		 */
		size_t again = 0;
		for (size_t k = 1; k <= steps->count; k++)
			again += steps->places[k].address == steps->places[0].address;
		assert_in_range(again, 2, 180);
		assert_memory_not_equal(steps->places[0].code, (uint8_t[STEP_CODE_BYTES]){ 0 },
					STEP_CODE_BYTES);
	}
	if (!refused(steps))
		goes_on(pid);
	end(pid);
	free(steps);
}

static void calls_all_the_time(void)
{
	getppid(); /* binding its name takes more instructions than a stretch has */
	for (;;) {
		told->turns++;
		getppid();
	}
}

static void system_calls_are_not_stepped(void **state)
{
	(void)state;
	struct steps *steps = calloc(1, sizeof(*steps));
	assert_non_null(steps);
	pid_t pid = start(calls_all_the_time);
	for (int i = 0; i < 50; i++) {
		step(pid, STEP_LIMIT, steps);
		if (refused(steps))
			break;
		if (steps->end != STEP_UNSAFE && steps->end != STEP_IDLE)
			fail_msg("ends with %d after %zu steps", steps->end, steps->count);
		if (steps->end == STEP_UNSAFE)
			assert_false(step_is_safe(steps->places[steps->count].code));
		for (size_t k = 0; k < steps->count; k++)
			assert_true(step_is_safe(steps->places[k].code));
	}
	if (!refused(steps))
		goes_on(pid);
	end(pid);
	free(steps);
}

static void handle(int signal_number)
{
	(void)signal_number;
	told->handled++;
}

static void spin_with_handler(void)
{
	signal(SIGUSR1, handle);
	spin();
}

static void signals_reach_it_once_each(void **state)
{
	(void)state;
	struct steps *steps = calloc(1, sizeof(*steps));
	assert_non_null(steps);
	pid_t pid = start(spin_with_handler);
	int seen = 0;
	for (int sent = 1; sent <= 30; sent++) {
		kill(pid, SIGUSR1);
		step(pid, STEP_LIMIT, steps);
		seen += steps->end == STEP_SIGNAL;
		for (int i = 0; i < TRIES && told->handled < sent; i++)
			nap_ms();
		assert_int_equal(told->handled, sent);
	}
	print_message("%d of 30 signals ended a stretch\n", seen);
	goes_on(pid);
	end(pid);
	free(steps);
}

static void block_everything(void)
{
	sigset_t all;
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
}

static void spin_blocking(void)
{
	block_everything();
	for (;;) {
		for (int i = 0; i < 100000; i++)
			told->turns++;
		sigset_t now;
		sigprocmask(SIG_SETMASK, NULL, &now);
		if (!sigismember(&now, SIGTRAP))
			told->mask_changed = 1;
	}
}

static void blocked_signals_stay_blocked(void **state)
{
	(void)state;
	struct steps *steps = calloc(1, sizeof(*steps));
	assert_non_null(steps);
	pid_t pid = start(spin_blocking);
	nap_ms();
	for (int i = 0; i < 30; i++) {
		step(pid, 100, steps);
		goes_on(pid);
		uint64_t before = told->turns;
		for (int k = 0; k < TRIES && told->turns < before + 300000; k++)
			nap_ms();
		assert_int_equal(told->mask_changed, 0);
	}
	if (!refused(steps))
		assert_true(steps->end == STEP_DONE || steps->end == STEP_UNSAFE);
	end(pid);
	free(steps);
}

static void spin_ignoring_traps(void)
{
	signal(SIGTRAP, SIG_IGN);
	spin();
}

static void who_has_its_own_ideas_of_traps_is_left_alone(void **state)
{
	(void)state;
	struct steps *steps = calloc(1, sizeof(*steps));
	assert_non_null(steps);
	pid_t pid = start(spin_ignoring_traps);
	step(pid, 10, steps);
	assert_int_equal(steps->end, STEP_OWN_TRAPS);
	assert_int_equal(steps->count, 0);
	kill(pid, SIGTRAP); /* still ignored */
	goes_on(pid);
	end(pid);
	free(steps);
}

static void sleep_long(void)
{
	told->turns = 1;
	for (;;)
		pause();
}

static void what_sleeps_is_not_woken_and_what_is_gone_is_told(void **state)
{
	(void)state;
	struct steps *steps = calloc(1, sizeof(*steps));
	assert_non_null(steps);
	pid_t pid = start(sleep_long);
	for (int i = 0; i < 20; i++)
		nap_ms();
	step_thread(pid, 10, ignore, NULL, steps);
	assert_int_equal(steps->end, STEP_IDLE);
	end(pid);
	step_thread(pid, 10, ignore, NULL, steps);
	assert_int_equal(steps->end, STEP_GONE);
	assert_int_equal(steps->count, 0);
	free(steps);
}

static void spin_a_while(void)
{
	uint64_t until_ns = clock_monotonic_ns() + 30000000;
	while (clock_monotonic_ns() < until_ns)
		told->turns++;
}

static void its_end_in_the_middle_is_told(void **state)
{
	(void)state;
	struct steps *steps = calloc(1, sizeof(*steps));
	assert_non_null(steps);
	pid_t pid = start(spin_a_while);
	bool reaped = false;
	for (int i = 0; i < TRIES; i++) {
		step_thread(pid, STEP_LIMIT, ignore, NULL, steps);
		if (steps->end == STEP_GONE)
			break;
	}
	reaped = steps->reaped;
	int status = steps->wait_status;
	if (!reaped)
		assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 3);
	free(steps);
}

static void *work(void *nothing)
{
	(void)nothing;
	told->worker = gettid();
	spin();
	return NULL;
}

static void let_a_thread_spin(void)
{
	pthread_t thread;
	if (pthread_create(&thread, NULL, work, NULL) == 0)
		pause();
}

/* What steps a thread is told of its end before its process's parent is. */
static void a_process_that_is_killed_meanwhile_is_gone_for_its_parent(void **state)
{
	(void)state;
	struct steps *steps = calloc(1, sizeof(*steps));
	assert_non_null(steps);
	for (int turn = 0; turn < 20; turn++) {
		pid_t pid = start(let_a_thread_spin);
		pid_t killer = fork();
		assert_true(killer >= 0);
		if (killer == 0) {
			nanosleep(&(struct timespec){ .tv_nsec = 10000000 + turn * 37000 }, NULL);
			kill(pid, SIGKILL);
			_exit(0);
		}
		do {
			step_thread(told->worker, STEP_LIMIT, ignore, NULL, steps);
		} while (steps->end != STEP_GONE && !refused(steps));
		assert_int_equal(waitpid(killer, NULL, 0), killer);
		int status = 0;
		pid_t found = 0;
		for (int i = 0; i < TRIES && found == 0; i++) {
			found = waitpid(pid, &status, WNOHANG);
			nap_ms();
		}
		assert_int_equal(found, pid);
		assert_true(WIFSIGNALED(status));
		assert_int_equal(WTERMSIG(status), SIGKILL);
		assert_int_not_equal(steps->end, STEP_REFUSED); /* but gone */
	}
	free(steps);
}

static void spin_in_many_groups(void)
{
	static gid_t groups[2000];
	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
		groups[i] = (gid_t)(100000 + i);
	signal(SIGTRAP, SIG_IGN);
	told->handled = setgroups(sizeof(groups) / sizeof(groups[0]), groups) == 0;
	spin();
}

static void who_cannot_be_seen_to_await_traps_is_left_alone(void **state)
{
	(void)state;
	struct steps *steps = calloc(1, sizeof(*steps));
	assert_non_null(steps);
	pid_t pid = start(spin_in_many_groups);
	if (!told->handled)
		print_message("may not be in many groups here\n");
	step(pid, 10, steps);
	assert_int_equal(steps->end, STEP_OWN_TRAPS);
	kill(pid, SIGTRAP); /* still ignored */
	goes_on(pid);
	end(pid);
	free(steps);
}

static void unsafe_instructions_are_known(void **state)
{
	(void)state;
#ifdef __x86_64__
	static const uint8_t unsafe[][STEP_CODE_BYTES] = {
		{ 0x9c },	{ 0x66, 0x9d },	      { 0x0f, 0x05 },	    { 0xcc },
		{ 0xcd, 0x80 }, { 0xf3, 0x48, 0x9c }, { 0x48, 0x8e, 0xd0 }, { 0x48, 0xcf },
		{ 0x0f, 0xa2 },
	};
	static const uint8_t safe[][STEP_CODE_BYTES] = {
		{ 0x90 },	{ 0x0f, 0x1f }, { 0x0f, 0x31 }, { 0x48, 0x8b, 0x05 },
		{ 0xf3, 0xa4 }, { 0 },
	};
#else
	static const uint8_t unsafe[][STEP_CODE_BYTES] = {
		{ 0x01, 0x00, 0x00, 0xd4 }, /* svc #0 */
		{ 0x00, 0x00, 0x20, 0xd4 }, /* brk #0 */
		{ 0x20, 0x7c, 0x5f, 0xc8 }, /* ldxr x0, [x1] */
		{ 0x20, 0xfc, 0x5f, 0x88 }, /* ldaxr w0, [x1] */
		{ 0x20, 0x08, 0x7f, 0xc8 }, /* ldxp x0, x2, [x1] */
	};
	static const uint8_t safe[][STEP_CODE_BYTES] = {
		{ 0x1f, 0x20, 0x03, 0xd5 }, /* nop */
		{ 0x20, 0x00, 0x40, 0xf9 }, /* ldr x0, [x1] */
		{ 0x20, 0xfc, 0xdf, 0xc8 }, /* ldar x0, [x1] */
		{ 0x20, 0x7c, 0xa2, 0xc8 }, /* cas x2, x0, [x1] */
		{ 0xc0, 0x03, 0x5f, 0xd6 }, /* ret */
	};
#endif
	for (size_t i = 0; i < sizeof(unsafe) / sizeof(unsafe[0]); i++)
		assert_false(step_is_safe(unsafe[i]));
	for (size_t i = 0; i < sizeof(safe) / sizeof(safe[0]); i++)
		assert_true(step_is_safe(safe[i]));
}

int main(void)
{
#ifdef __SANITIZE_THREAD__
	puts("the thread sanitizer holds signals back, and steps are signals");
	return 77;
#endif
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unsafe_instructions_are_known),
		cmocka_unit_test(a_thread_is_stepped_and_let_go),
		cmocka_unit_test(system_calls_are_not_stepped),
		cmocka_unit_test(signals_reach_it_once_each),
		cmocka_unit_test(blocked_signals_stay_blocked),
		cmocka_unit_test(who_has_its_own_ideas_of_traps_is_left_alone),
		cmocka_unit_test(what_sleeps_is_not_woken_and_what_is_gone_is_told),
		cmocka_unit_test(who_cannot_be_seen_to_await_traps_is_left_alone),
		cmocka_unit_test(its_end_in_the_middle_is_told),
		cmocka_unit_test(a_process_that_is_killed_meanwhile_is_gone_for_its_parent),
	};
	told = mmap(NULL, sizeof(*told), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return told == MAP_FAILED ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
