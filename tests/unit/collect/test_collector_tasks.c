/* Tasks, a command and a control group are watched: processes are real, their events are made up.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "collect/collector_private.h"
#include "made_up_recording.h"
#include "profile/bill.h"
#include "symbol/record.h"
#include "support/skip.h"

#define NOBODY	 5000001u /* no process has such numbers */
#define NEWBORN	 5000002u
#define TICKS_NS UINT64_C(60000000) /* some ticks of /proc/PID/stat */

/* What the samples are in. */
__attribute__((noinline, used)) static int landmark(int value)
{
	__asm__ volatile("" : "+r"(value));
	return value;
}

enum child_kind { CHILD_WAITS, CHILD_HAS_THREAD, CHILD_HAS_CHILD };

struct child {
	pid_t pid;
	pid_t other; /* its thread's number, or its child's */
	int tell;    /* closed: it ends */
};

struct start {
	int wait, say;
};

static void wait_for_end(int fd)
{
	char byte;
	while (read(fd, &byte, 1) < 0 && errno == EINTR)
		;
}

static void *run_thread(void *context)
{
	const struct start *start = context;
	pid_t tid = (pid_t)syscall(SYS_gettid);
	prctl(PR_SET_NAME, "second");
	if (write(start->say, &tid, sizeof(tid)) == sizeof(tid))
		wait_for_end(start->wait);
	return NULL;
}

static void use_time(void)
{
	struct timespec used;
	do
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	while ((uint64_t)used.tv_sec * 1000000000 + (uint64_t)used.tv_nsec < TICKS_NS);
}

/* Its end is told by a byte: then it works before it says that it has. */
static void run_grandchild(const struct start *start)
{
	pid_t pid = getpid();
	char byte;
	if (write(start->say, &pid, sizeof(pid)) == sizeof(pid) &&
	    read(start->wait, &byte, 1) == 1) {
		use_time();
		if (write(start->say, &pid, sizeof(pid)) == sizeof(pid))
			wait_for_end(start->wait);
	}
	_exit(0);
}

static void run_child(enum child_kind kind, const struct start *start)
{
	pthread_t thread;
	pid_t none = 0;
	prctl(PR_SET_NAME, "child");
	if (kind == CHILD_HAS_CHILD && fork() == 0)
		run_grandchild(start);
	if (kind == CHILD_HAS_THREAD &&
	    pthread_create(&thread, NULL, run_thread, (void *)start) != 0)
		_exit(1);
	if (kind == CHILD_WAITS && write(start->say, &none, sizeof(none)) != sizeof(none))
		_exit(1);
	if (kind == CHILD_HAS_CHILD)
		waitpid(-1, NULL, 0);
	else
		wait_for_end(start->wait);
	if (kind == CHILD_HAS_THREAD)
		pthread_join(thread, NULL);
	_exit(0);
}

static void begin_child(struct child *child, int *said, enum child_kind kind)
{
	int tell[2], say[2];
	assert_int_equal(pipe(tell), 0);
	assert_int_equal(pipe(say), 0);
	child->pid = fork();
	assert_true(child->pid >= 0);
	if (child->pid == 0) {
		close(tell[1]);
		close(say[0]);
		run_child(kind, &(struct start){ tell[0], say[1] });
	}
	close(tell[0]);
	close(say[1]);
	child->tell = tell[1];
	*said = say[0];
	assert_int_equal(read(*said, &child->other, sizeof(child->other)), sizeof(child->other));
}

static struct child new_child(enum child_kind kind)
{
	struct child child;
	int said;
	begin_child(&child, &said, kind);
	close(said);
	return child;
}

static void end_child(const struct child *child)
{
	close(child->tell);
	assert_int_equal(waitpid(child->pid, NULL, 0), child->pid);
}

static void sample(struct recording *r, uint32_t pid, uint32_t tid, const void *at, int count)
{
	const struct made_up_sample sample = {
		.pid = pid, .tid = tid, .ip = (uint64_t)(uintptr_t)at, .misc = PERF_RECORD_MISC_USER
	};
	for (int i = 0; i < count; i++)
		recording_sample(r, "cpu-clock", &sample);
}

static void a_command_is_followed_with_what_it_starts(void **state)
{
	(void)state;
	struct recording r;
	struct child child = new_child(CHILD_WAITS);
	uint32_t pid = (uint32_t)child.pid;
	recording_begin(&r, COLLECT_COMMAND, "cpu-clock");
	r.options.command_pid = child.pid;
	r.options.stash = true;
	recording_start(&r);
	assert_int_equal(recording_event(&r, "cpu-clock")->task, -1);
	/* Of what runs on the CPU only what is below it counts. */
	sample(&r, pid, pid, landmark, 3);
	sample(&r, NOBODY, NOBODY, landmark, 5);
	recording_fork(&r, NEWBORN, NEWBORN, pid);
	sample(&r, NEWBORN, NEWBORN, landmark, 2);
	recording_finish(&r);
	assert_int_equal(recording_cells(&r, "cpu-clock", "child", recording_own_path()).samples,
			 5);
	assert_int_equal(recording_billed(&r, "cpu-clock", BILL_STORED), 5);
	assert_int_equal(recording_billed(&r, "cpu-clock", BILL_FILTERED), 5);
	assert_true(recording_stashed(&r, "landmark") & 1u << RECORD_CODE);
	assert_int_equal(recording_stashed(&r, "use_time"), 0); /* no sample, no name */
	recording_end(&r);
	end_child(&child);
}

/* What others run on the CPU is known while it runs, and no longer. */
static void what_is_not_followed_is_forgotten_when_it_ends(void **state)
{
	(void)state;
	const struct timespec settle = { .tv_nsec = 1000000 }; /* nothing is handled sooner */
	struct recording r;
	struct child child = new_child(CHILD_WAITS);
	recording_begin(&r, COLLECT_COMMAND, "cpu-clock");
	r.options.command_pid = child.pid;
	recording_start(&r);
	const struct process_table *processes = &r.collector->session.processes;
	recording_fork(&r, NOBODY, NOBODY, 1);
	recording_comm(&r, NOBODY, NOBODY, "true", true);
	nanosleep(&settle, NULL);
	recording_drain(&r);
	assert_non_null(process_find(processes, NOBODY));
	assert_int_equal(process_find(processes, NOBODY)->exit_ns, 0);
	recording_exit(&r, NOBODY, NOBODY);
	nanosleep(&settle, NULL);
	recording_drain(&r);
	assert_int_not_equal(process_find(processes, NOBODY)->exit_ns, 0);
	recording_end(&r);
	end_child(&child);
}

static void names_become_hashes_and_code_stays_out_where_that_is_asked(void **state)
{
	(void)state;
	struct recording r;
	struct child child = new_child(CHILD_WAITS);
	uint32_t pid = (uint32_t)child.pid;
	recording_begin(&r, COLLECT_COMMAND, "cpu-clock");
	r.options.command_pid = child.pid;
	r.options.stash = r.options.redact = true;
	recording_start(&r);
	sample(&r, pid, pid, landmark, 3);
	recording_finish(&r);
	assert_int_equal(recording_billed(&r, "cpu-clock", BILL_STORED), 3);
	assert_int_equal(recording_cells(&r, "cpu-clock", NULL, recording_own_path()).samples, 0);
	assert_int_equal(recording_stashed(&r, "landmark"), 0);
	const struct table *stash = profile_table(r.got, PROFILE_STASH);
	assert_true(stash->count > 0);
	for (size_t row = 0; row < stash->count; row++)
		assert_int_not_equal(table_keys(stash, row)[STASH_KIND], RECORD_CODE);
	assert_null(profile_source(r.got, 0).command.data);
	recording_end(&r);
	end_child(&child);
}

static int tasks_alone(const struct perf_event_attr *attr, pid_t task, int cpu)
{
	(void)attr;
	(void)cpu;
	return task == -1 ? -EACCES : 0;
}

static void without_the_right_to_cpus_a_command_hands_its_events_on(void **state)
{
	(void)state;
	struct recording r;
	char text[400];
	struct child child = new_child(CHILD_WAITS);
	uint32_t pid = (uint32_t)child.pid;
	recording_begin(&r, COLLECT_COMMAND, "cpu-clock");
	r.options.command_pid = child.pid;
	made_up.judge = tasks_alone;
	recording_start(&r);
	const struct made_up_event *clock = recording_event(&r, "cpu-clock");
	assert_int_equal(clock->task, child.pid);
	assert_true(clock->attr.inherit && clock->attr.enable_on_exec && !clock->counts);
	assert_non_null(strstr(r.notes, "inherit one fixed period instead of random"));
	sample(&r, pid, pid, landmark, 3);
	recording_drain(&r);
	collector_describe_missing(r.collector, 3, text, sizeof(text));
	assert_string_equal(text, "");
	/* It runs a program of which the kernel tells us nothing, nor what it maps. */
	recording_comm(&r, pid, pid, "sudo", true);
	recording_exit(&r, pid, pid);
	recording_finish(&r);
	assert_int_equal(recording_cells(&r, "cpu-clock", "child", recording_own_path()).samples,
			 3);
	collector_describe_missing(r.collector, 3, text, sizeof(text));
	assert_non_null(strstr(text, "'sudo' and what they start have no samples; run culprit as "
				     "root to have them"));
	recording_end(&r);
	/* With a delay they are started by hand. */
	recording_begin(&r, COLLECT_COMMAND, "cpu-clock");
	r.options.command_pid = child.pid;
	r.options.delayed = true;
	made_up.judge = tasks_alone;
	recording_start(&r);
	assert_true(recording_event(&r, "cpu-clock")->counts);
	recording_end(&r);
	end_child(&child);
}

static size_t events_of(pid_t task)
{
	size_t count = 0;
	for (size_t i = 0; i < made_up.count; i++)
		count += made_up.events[i].fd >= 0 && made_up.events[i].task == task;
	return count;
}

static void a_process_is_watched_with_all_its_threads_until_it_ends(void **state)
{
	(void)state;
	struct recording r;
	struct child child = new_child(CHILD_HAS_THREAD);
	recording_begin(&r, COLLECT_TASKS, "cpu-clock");
	r.options.pids = &child.pid;
	r.options.pid_count = 1;
	r.options.identity = COLLECT_PER_THREAD;
	recording_start(&r);
	assert_int_equal(events_of(child.pid), 2); /* the clock, and what tells of processes */
	assert_int_equal(events_of(child.other), 2);
	assert_int_equal(events_of(getpid()), 0);
	const struct made_up_sample early = { .pid = (uint32_t)child.pid,
					      .tid = (uint32_t)child.other,
					      .ip = (uint64_t)(uintptr_t)landmark,
					      .misc = PERF_RECORD_MISC_USER,
					      .before_ns = 2000000 };
	recording_sample(&r, "cpu-clock", &early);
	recording_sample(&r, "cpu-clock", &early);
	assert_int_equal(collector_service(r.collector, &r.err),
			 0); /* what it has mapped is read */
	assert_true(collector_alive(r.collector));
	end_child(&child);
	assert_false(collector_alive(r.collector));
	recording_finish(&r);
	assert_int_equal(recording_cells(&r, "cpu-clock", "child", recording_own_path()).samples,
			 2);
	struct profile_context context = profile_context(r.got, 1);
	assert_true(span_equal(context.thread, span_of_text("second")));
	assert_int_equal(context.tid, optional_of((uint64_t)child.other));
	recording_end(&r);
}

static void a_thread_is_watched_alone_until_it_ends(void **state)
{
	(void)state;
	struct recording r;
	struct child child = new_child(CHILD_HAS_THREAD);
	recording_begin(&r, COLLECT_TASKS, "cpu-clock");
	r.options.tids = &child.other;
	r.options.tid_count = 1;
	recording_start(&r);
	assert_int_equal(events_of(child.other), 2);
	assert_int_equal(events_of(child.pid), 0);
	assert_true(collector_alive(r.collector));
	end_child(&child);
	assert_false(collector_alive(r.collector));
	recording_end(&r);
}

static void what_is_no_process_is_refused_with_its_number(void **state)
{
	(void)state;
	struct recording r;
	struct child child = new_child(CHILD_HAS_THREAD);
	const pid_t nobody = NOBODY;
	char text[64];
	recording_begin(&r, COLLECT_TASKS, "cpu-clock");
	r.options.pids = &nobody;
	r.options.pid_count = 1;
	assert_int_equal(recording_open(&r), -ESRCH);
	assert_string_equal(r.err.text, "there is no process 5000001");
	r.options.pids = &child.other;
	assert_int_equal(recording_open(&r), -ESRCH);
	snprintf(text, sizeof(text), "%d is a thread, not a process; use --tid", child.other);
	assert_string_equal(r.err.text, text);
	recording_end(&r);
	end_child(&child);
}

static int nobodys(const struct perf_event_attr *attr, pid_t task, int cpu)
{
	(void)attr;
	(void)cpu;
	return task > 0 ? -ESRCH : 0;
}

static void what_ended_before_it_was_watched_is_refused(void **state)
{
	(void)state;
	struct recording r;
	struct child child = new_child(CHILD_WAITS);
	const pid_t nobody = NOBODY;
	recording_begin(&r, COLLECT_TASKS, "cpu-clock");
	made_up.judge = nobodys;
	r.options.tids = &nobody;
	r.options.tid_count = 1;
	assert_int_equal(recording_open(&r), -ESRCH);
	assert_string_equal(r.err.text, "there is no thread 5000001");
	r.options.tid_count = 0;
	r.options.pids = &child.pid;
	r.options.pid_count = 1;
	assert_int_equal(recording_open(&r), -ESRCH);
	assert_string_equal(r.err.text, "all that was to be watched has ended");
	recording_end(&r);
	end_child(&child);
}

static pid_t stuck;
static int stuck_in_execve(const struct perf_event_attr *attr, pid_t task, int cpu)
{
	(void)attr;
	(void)cpu;
	return task == stuck ? -ETIMEDOUT : 0;
}

static void processes_below_are_watched_where_that_is_asked(void **state)
{
	(void)state;
	struct recording r;
	char text[200];
	struct child child = new_child(CHILD_HAS_CHILD);
	recording_begin(&r, COLLECT_TASKS, "cpu-clock");
	r.options.pids = &child.pid;
	r.options.pid_count = 1;
	r.options.children = true;
	recording_start(&r);
	assert_int_equal(events_of(child.pid), 2);
	assert_int_equal(events_of(child.other), 2);
	recording_end(&r);

	recording_begin(&r, COLLECT_TASKS, "cpu-clock");
	r.options.pids = &child.pid;
	r.options.pid_count = 1;
	r.options.children = true;
	stuck = child.other;
	made_up.judge = stuck_in_execve;
	recording_start(&r);
	snprintf(text, sizeof(text),
		 "warning: process %d below is not watched: the kernel waits for the end of an "
		 "execve() of its, which does not come\n",
		 stuck);
	assert_non_null(strstr(r.notes, text));
	assert_int_equal(events_of(child.other), 0);
	recording_end(&r);
	end_child(&child);
}

/* A watched thread has made it since: the kernel has given it all that is watched. */
static struct recording *told;
static pid_t inherits, asked;
static int tell_of_fork(const struct perf_event_attr *attr, pid_t task, int cpu)
{
	(void)attr;
	(void)cpu;
	if (task == asked) {
		asked = 0;
		recording_fork(told, (uint32_t)inherits, (uint32_t)inherits, 1);
	}
	return 0;
}

static void what_inherits_our_events_is_not_watched_twice(void **state)
{
	(void)state;
	struct recording r;
	struct child first = new_child(CHILD_WAITS);
	struct child second = new_child(CHILD_HAS_CHILD);
	const pid_t pids[] = { first.pid, second.pid };
	recording_begin(&r, COLLECT_TASKS, "cpu-clock");
	r.options.pids = pids;
	r.options.pid_count = 2;
	r.options.children = true;
	told = &r;
	inherits = second.other;
	asked = second.pid; /* by then the first one's rings are there */
	made_up.judge = tell_of_fork;
	recording_start(&r);
	assert_int_equal(events_of(first.pid), 2);
	assert_int_equal(events_of(second.pid), 2);
	assert_int_equal(events_of(second.other), 0);
	recording_end(&r);
	end_child(&second);
	end_child(&first);
}

static void work_of_processes_below_that_nobody_asked_for_is_told(void **state)
{
	(void)state;
	struct recording r;
	struct child child;
	char text[400], expected[100];
	int said;
	pid_t done;
	begin_child(&child, &said, CHILD_HAS_CHILD);
	recording_begin(&r, COLLECT_TASKS, "cpu-clock");
	r.options.pids = &child.pid;
	r.options.pid_count = 1;
	recording_start(&r);
	assert_int_equal(events_of(child.other), 0);
	assert_int_equal(write(child.tell, "", 1), 1);
	assert_int_equal(read(said, &done, sizeof(done)), sizeof(done));
	recording_finish(&r);
	collector_describe_missing(r.collector, 0, text, sizeof(text));
	snprintf(expected, sizeof(expected), "('child', process %d, 0.", child.other);
	assert_non_null(strstr(text, expected));
	assert_non_null(strstr(text, "1 process below it, which ran already, used 0."));
	recording_end(&r);
	end_child(&child);
	close(said);
}

static void a_control_group_is_watched_by_its_folder(void **state)
{
	(void)state;
	struct recording r;
	recording_begin(&r, COLLECT_CGROUP, "cpu-clock");
	r.options.cgroup = "/no/such/group";
	assert_true(recording_open(&r) < 0);
	if (strcmp(r.err.text, "no control groups are mounted here") == 0) {
		recording_end(&r);
		SKIP("no control groups are mounted here");
	}
	assert_non_null(strstr(r.err.text, "there is no control group '/no/such/group' below '"));
	r.options.cgroup = "/"; /* of the root group; the root folder is none */
	recording_start(&r);
	const struct made_up_event *clock = recording_event(&r, "cpu-clock");
	assert_true(clock->flags & PERF_FLAG_PID_CGROUP);
	assert_true(clock->task > 0);
	assert_int_equal(recording_event(&r, NULL)->task, -1); /* mappings of all are told */
	assert_true(collector_alive(r.collector));
	recording_end(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_command_is_followed_with_what_it_starts),
		cmocka_unit_test(what_is_not_followed_is_forgotten_when_it_ends),
		cmocka_unit_test(names_become_hashes_and_code_stays_out_where_that_is_asked),
		cmocka_unit_test(without_the_right_to_cpus_a_command_hands_its_events_on),
		cmocka_unit_test(a_process_is_watched_with_all_its_threads_until_it_ends),
		cmocka_unit_test(a_thread_is_watched_alone_until_it_ends),
		cmocka_unit_test(what_is_no_process_is_refused_with_its_number),
		cmocka_unit_test(what_ended_before_it_was_watched_is_refused),
		cmocka_unit_test(processes_below_are_watched_where_that_is_asked),
		cmocka_unit_test(what_inherits_our_events_is_not_watched_twice),
		cmocka_unit_test(work_of_processes_below_that_nobody_asked_for_is_told),
		cmocka_unit_test(a_control_group_is_watched_by_its_folder),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
