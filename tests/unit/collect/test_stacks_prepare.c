/* Of which files unwind rules are made before samples come; the helper that reads files is a
 * double. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>
#include <sys/wait.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "collect/file_learn.h"
#include "collect/file_table.h"
#include "collect/stacks.h"
#include "made_up_session.h"

#define FILES 16u
#define PID   4000000u /* and up: such processes there are not */

static unsigned reads[FILES];
static uint32_t numbers[4]; /* of the files */
static uint64_t takes_ns;   /* reading a file */

int __wrap_file_learn_frames(struct file_table *files, uint32_t number, struct buffer *out);
int __wrap_file_learn_frames(struct file_table *files, uint32_t number, struct buffer *out)
{
	(void)files;
	(void)out;
	assert_true(number < FILES);
	reads[number]++;
	for (uint64_t until = clock_monotonic_ns() + takes_ns; clock_monotonic_ns() < until;)
		;
	return -ENOENT;
}

/* Processes 0, 1 and 2, of which 1 was busy; each has mapped file 3 and its own. */
static struct session *begin(void)
{
	struct session *session = made_up_session_new();
	assert_int_equal(file_table_init(&session->files, session->profile, NULL, &session->shares),
			 0);
	for (size_t i = 0; i < 4; i++) {
		const char *const names[] = { "/a", "/b", "/c", "/shared" };
		const struct file_hint hint = { .share = &session->shares.own,
						.payer = &session->shares.own,
						.major = 200,
						.inode = i + 1,
						.path = span_of_text(names[i]) };
		assert_int_equal(file_table_find(&session->files, &hint, &numbers[i]), 0);
		assert_true(numbers[i] < FILES);
	}
	frame_tables_init(&session->frames, &session->files, NULL);
	for (uint32_t i = 0; i < 3; i++) {
		struct process *process = process_need(&session->processes, PID + i);
		assert_non_null(process);
		process->busy = i == 1;
		const struct mapping own = { .start = 0x1000, .end = 0x2000, .file = numbers[i] };
		const struct mapping shared = { .start = 0x3000,
						.end = 0x4000,
						.file = numbers[3] };
		assert_int_equal(process_map(&session->processes, PID + i, &own), 0);
		assert_int_equal(process_map(&session->processes, PID + i, &shared), 0);
	}
	for (size_t i = 0; i < FILES; i++)
		reads[i] = 0;
	takes_ns = 0;
	return session;
}

static void end(struct session *session)
{
	frame_tables_release(&session->frames);
	file_table_release(&session->files);
	process_table_release(&session->processes);
	groups_release(&session->groups);
	made_up_session_free(session);
}

static unsigned read_files(void)
{
	unsigned count = 0;
	for (size_t i = 0; i < FILES; i++)
		count += reads[i];
	return count;
}

static void rules_are_made_of_what_was_busy(void **state)
{
	(void)state;
	struct session *session = begin();
	assert_int_equal(stacks_prepare(session, NULL, 0), 0);
	assert_int_equal(reads[numbers[1]], 1);
	assert_int_equal(reads[numbers[3]], 1);
	assert_int_equal(read_files(), 2);
	/* What is known is not read again. */
	assert_int_equal(stacks_prepare(session, NULL, 0), 0);
	assert_int_equal(read_files(), 2);
	end(session);
}

static void or_of_what_is_watched(void **state)
{
	(void)state;
	const pid_t pids[] = { PID, PID + 2, PID + 77 };
	struct session *session = begin();
	assert_int_equal(stacks_prepare(session, pids, 3), 0);
	assert_int_equal(reads[numbers[0]], 1);
	assert_int_equal(reads[numbers[2]], 1);
	assert_int_equal(reads[numbers[3]], 1);
	assert_int_equal(read_files(), 3);
	end(session);
}

static void for_a_second_at_most(void **state)
{
	(void)state;
	struct session *session = begin();
	takes_ns = 1100000000;
	assert_int_equal(stacks_prepare(session, NULL, 0), 0);
	assert_int_equal(read_files(), 1);
	end(session);
}

/* Whether /proc says of a process that it is busy, within 10 s: on a slow machine forking is a part
 * of a young one's time. */
static bool comes_to_be(bool busy, pid_t pid)
{
	for (int tries = 0; tries < 100; tries++) {
		struct session *session = begin();
		usleep(100000);
		assert_int_equal(session_scan_process(session, (uint32_t)pid), 0);
		const struct process *process = process_find(&session->processes, (uint32_t)pid);
		assert_non_null(process);
		bool is = process->busy == busy;
		end(session);
		if (is)
			return true;
	}
	return false;
}

/* A process of ours that sleeps is not, one that runs is busy. */
static void what_proc_says_tells_the_busy_ones(void **state)
{
	(void)state;
	for (int busy = 0; busy <= 1; busy++) {
		pid_t child = fork();
		assert_true(child >= 0);
		while (child == 0)
			if (!busy)
				pause();
		bool came = comes_to_be(busy, child);
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
		assert_true(came);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rules_are_made_of_what_was_busy),
		cmocka_unit_test(or_of_what_is_watched),
		cmocka_unit_test(for_a_second_at_most),
		cmocka_unit_test(what_proc_says_tells_the_busy_ones),
	};
	return cmocka_run_group_tests_name("stacks prepare", tests, NULL, NULL);
}
