/* The CPU time of what is watched: known while all of it is there, and not otherwise. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "daemon/command.h"
#include "daemon/watched_time.h"
#include "profile/profile.h"

#define WORK_NS 50000000
#define TICK_NS 10000000 /* of user and system time each */

static struct proc_ask ask;

static pid_t ended_process(void)
{
	pid_t pid = fork();
	if (pid == 0)
		_exit(0);
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	return pid;
}

static void work(void)
{
	struct timespec begin, now;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
	do
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	while ((now.tv_sec - begin.tv_sec) * 1000000000 + now.tv_nsec - begin.tv_nsec < WORK_NS);
}

/* Stores the CPU time that the bill of a recording of these says. False: it says none. */
static bool bills(struct watched_time *watched, uint64_t *time_ns)
{
	CLEANUP(profile_freep) struct profile *profile = profile_new();
	const struct command none = { 0 };
	watched_time_begin(watched, &ask);
	work();
	watched_time_end(watched, &ask);
	assert_int_equal(watched_time_add(watched, &none, profile), 0);
	watched_time_release(watched);
	const struct table *bill = profile_table(profile, PROFILE_BILL);
	*time_ns = 0;
	for (size_t row = 0; row < bill->count; row++)
		*time_ns += table_values(bill, row)[0];
	return bill->count > 0;
}

static void who_is_there_has_a_time(void **state)
{
	const pid_t here[] = { getpid() };
	uint64_t time_ns;
	(void)state;
	assert_true(bills(&(struct watched_time){ .pids = here, .pid_count = 1 }, &time_ns));
	assert_in_range(time_ns, WORK_NS - 2 * TICK_NS, 2000000000);
	assert_true(bills(&(struct watched_time){ .tids = here, .tid_count = 1 }, &time_ns));
	assert_in_range(time_ns, WORK_NS - 2 * TICK_NS, 2000000000);
}

static void of_who_had_ended_at_the_first_reading_nothing_is_known(void **state)
{
	const pid_t both[] = { getpid(), ended_process() };
	uint64_t time_ns;
	(void)state;
	assert_false(bills(&(struct watched_time){ .pids = both, .pid_count = 2 }, &time_ns));
	assert_false(bills(&(struct watched_time){ .tids = both, .tid_count = 2 }, &time_ns));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_is_there_has_a_time),
		cmocka_unit_test(of_who_had_ended_at_the_first_reading_nothing_is_known),
	};
	return cmocka_run_group_tests_name("watched time", tests, NULL, NULL);
}
