/* A child that runs this program again is traced for real; what its breakpoints count is made up.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "collect/breakpoints.h"
#include "support/made_up_events.h"

__attribute__((noinline, used)) static int landmark(int value)
{
	__asm__ volatile("" : "+r"(value));
	return value;
}

struct traced {
	pid_t pid;
	int release;
	struct breakpoints *breakpoints;
	struct error err;
	int wait_status;
};

/* Our own is refused, so that nothing is tried by it. */
static int refuse_own(const struct perf_event_attr *attr, pid_t task, int cpu)
{
	(void)attr;
	(void)cpu;
	return task == 0 ? -ENOSPC : 0;
}

/* It waits to be released to its exec. */
static void begin_program(struct traced *traced, const char *program, const char *text,
			  uint64_t limit)
{
	int pipes[2];
	*traced = (struct traced){ 0 };
	made_up_begin();
	made_up.judge = refuse_own;
	assert_int_equal(pipe(pipes), 0);
	traced->pid = fork();
	assert_true(traced->pid >= 0);
	if (traced->pid == 0) {
		char byte;
		close(pipes[1]);
		if (read(pipes[0], &byte, 1) == 0)
			execl(program, "again", "again", (char *)NULL);
		_exit(1);
	}
	close(pipes[0]);
	traced->release = pipes[1];
	assert_int_equal(breakpoints_new(&text, 1, limit, &traced->breakpoints, &traced->err), 0);
	assert_int_equal(breakpoints_watch(traced->breakpoints, traced->pid, &traced->err), 0);
}

/* This one, whose landmark is to be counted. */
static void begin(struct traced *traced, uint64_t limit)
{
	begin_program(traced, "/proc/self/exe", "landmark", limit);
}

static int serve(struct traced *traced)
{
	return breakpoints_service(traced->breakpoints, &traced->wait_status, &traced->err);
}

static void nap(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = 500000 }, NULL);
}

/* Until the breakpoint is there; the command then waits for a signal. */
static struct made_up_event *run_to(struct traced *traced, size_t which)
{
	size_t count;
	const struct breakpoint *list = breakpoints_list(traced->breakpoints, &count);
	close(traced->release);
	for (int i = 0; i < 20000 && !list[which].counted; i++, nap())
		assert_int_equal(serve(traced), 0);
	assert_true(list[which].counted);
	struct made_up_event *event = made_up_find(PERF_TYPE_BREAKPOINT, 0, -1);
	assert_non_null(event);
	return event;
}

static void end(struct traced *traced)
{
	breakpoints_free(traced->breakpoints);
	assert_int_equal(made_up_open_count(), 0);
	made_up_begin();
}

static void let_end(struct traced *traced)
{
	int ret;
	kill(traced->pid, SIGTERM);
	while ((ret = serve(traced)) == 0)
		nap();
	assert_int_equal(ret, 1);
	assert_true(WIFSIGNALED(traced->wait_status) && WTERMSIG(traced->wait_status) == SIGTERM);
}

static void an_instruction_of_the_new_program_is_counted(void **state)
{
	(void)state;
	struct traced t;
	size_t count;
	begin(&t, 1000);
	assert_int_equal(serve(&t), 0);
	struct made_up_event *event = run_to(&t, 0);
	const struct breakpoint *list = breakpoints_list(t.breakpoints, &count);
	assert_int_equal(count, 1);
	assert_string_equal(list[0].place.procedure, "landmark");
	assert_int_equal(event->attr.bp_addr, list[0].place.address);
	assert_true(event->attr.inherit && event->attr.remove_on_exec);
	assert_int_equal(event->task, t.pid);
	event->value = 999;
	assert_int_equal(serve(&t), 0);
	assert_int_equal(list[0].count, 999);
	assert_false(list[0].limited);
	let_end(&t);
	assert_int_equal(list[0].count, 999);
	end(&t);
}

static void a_hot_place_is_let_go_at_the_limit(void **state)
{
	(void)state;
	struct traced t;
	size_t count;
	begin(&t, 1000);
	struct made_up_event *event = run_to(&t, 0);
	const struct breakpoint *list = breakpoints_list(t.breakpoints, &count);
	event->value = 1003;
	assert_int_equal(serve(&t), 0);
	assert_true(list[0].limited && list[0].counted);
	assert_int_equal(list[0].count, 1003);
	assert_int_equal(made_up_open_count(), 0);
	let_end(&t);
	assert_int_equal(list[0].count, 1003);
	end(&t);
}

static int refusal;
static bool first_only;
static int refuse(const struct perf_event_attr *attr, pid_t task, int cpu)
{
	if (refuse_own(attr, task, cpu))
		return -ENOSPC;
	return first_only && !attr->remove_on_exec ? 0 : refusal;
}

static void an_older_kernel_leaves_it_in_the_next_program(void **state)
{
	(void)state;
	struct traced t;
	begin(&t, 1000);
	refusal = -EINVAL;
	first_only = true;
	made_up.judge = refuse;
	assert_false(run_to(&t, 0)->attr.remove_on_exec);
	let_end(&t);
	end(&t);
	first_only = false;
}

/* The command was killed before it began. */
static void expect_refusal(struct traced *traced, int code, const char *sentence)
{
	int ret;
	close(traced->release);
	while ((ret = serve(traced)) == 0)
		nap();
	assert_int_equal(ret, code);
	assert_string_equal(traced->err.text, sentence);
	assert_true(WIFSIGNALED(traced->wait_status) && WTERMSIG(traced->wait_status) == SIGKILL);
}

static void what_cannot_be_counted_ends_the_command(void **state)
{
	(void)state;
	static const struct {
		int code;
		const char *text;
	} cases[] = {
		{ -ENOSPC, "cannot count 'landmark': all of the CPU's breakpoint registers are in "
			   "use" },
		{ -EACCES, "cannot count 'landmark': permission denied "
			   "(kernel.perf_event_paranoid, or a seccomp filter)" },
		{ -EOPNOTSUPP, "cannot count 'landmark': no execution breakpoints here" },
		{ -EIO, "cannot count 'landmark': Input/output error" },
	};
	struct traced t;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		begin(&t, 1000);
		refusal = cases[i].code;
		made_up.judge = refuse;
		expect_refusal(&t, refusal, cases[i].text);
		end(&t);
	}
	/* Nothing that it starts with has it, which is known when the program itself begins. */
	begin_program(&t, "/bin/true", "no_such_procedure", 1000);
	expect_refusal(&t, -ENOENT,
		       "cannot count 'no_such_procedure': neither the command's program nor a "
		       "library that it starts with has it");
	end(&t);
}

/* A kernel that accepts a breakpoint which the CPU never reaches is told from one that refuses. */
static void breakpoints_that_count_nothing_are_told(void **state)
{
	struct error err;
	(void)state;
	made_up_begin();
	assert_int_equal(breakpoints_try(&err), -EOPNOTSUPP);
	assert_string_equal(err.text, "no execution breakpoints here: one was executed 4 times and "
				      "counted 0 (some virtual machines have no debug registers)");
	refusal = -ENOSPC;
	made_up.judge = refuse;
	assert_int_equal(breakpoints_try(&err), 0);
	assert_int_equal(made_up_open_count(), 0);
	made_up_begin();
	/* before the first one of a command is set */
	struct traced t;
	begin(&t, 1000);
	made_up.judge = NULL;
	expect_refusal(&t, -EOPNOTSUPP,
		       "no execution breakpoints here: one was executed 4 times and counted 0 "
		       "(some virtual machines have no debug registers)");
	end(&t);
}

/* The command: a few calls, then it waits for the signal that ends it. */
static _Noreturn void run_again(void)
{
	for (int i = 0; i < 3; i++)
		landmark(i);
	for (;;)
		pause();
}

int main(int argc, char **argv)
{
	(void)argv;
	if (argc > 1)
		run_again();
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_instruction_of_the_new_program_is_counted),
		cmocka_unit_test(a_hot_place_is_let_go_at_the_limit),
		cmocka_unit_test(an_older_kernel_leaves_it_in_the_next_program),
		cmocka_unit_test(what_cannot_be_counted_ends_the_command),
		cmocka_unit_test(breakpoints_that_count_nothing_are_told),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
