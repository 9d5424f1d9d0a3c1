/* What is opened for a recording, and what the kernel refuses of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "bpf/sample_memory.h"
#include "collect/perf_limits.h"
#include "made_up_counters.h"

static void every_event_is_opened_on_every_cpu_and_shares_its_rings(void **state)
{
	(void)state;
	struct scene s;
	scene_begin(&s);
	scene_open(&s);
	assert_int_equal(made_up_open_count(), 2 * (EVENTS + 1));
	assert_int_equal(s.counters.count, 2 * EVENTS);
	for (size_t slot = 0; slot < 2; slot++) {
		int cpu = s.counters.cpus[slot];
		const struct made_up_event *clock = scene_event(&s, CLOCK, cpu);
		const struct made_up_event *cycles = scene_event(&s, CYCLES, cpu);
		const struct made_up_event *members = scene_event(&s, INSTRUCTIONS, cpu);
		assert_int_equal(cpu, slot ? 3 : 0);
		/* The first one brings the ring, and what does not sample writes nowhere. */
		assert_int_equal(clock->output_fd, -1);
		assert_int_equal(cycles->output_fd, clock->fd);
		assert_int_equal(scene_event(&s, FAULTS, cpu)->output_fd, clock->fd);
		assert_int_equal(members->output_fd, -1);
		assert_int_equal(members->leader_fd, cycles->fd);
		assert_int_equal(members->attr.sample_period, 0);
		assert_int_equal(scene_sideband(cpu)->output_fd, -1);
		assert_int_equal(counters_ring(&s.counters, slot, false)->data_bytes,
				 PAGES * (size_t)sysconf(_SC_PAGESIZE));
		/* Leaders alone are started; their groups go with them. */
		assert_true(clock->counts && cycles->counts && clock->attr.disabled);
		assert_false(members->attr.disabled);
		assert_true(clock->attr.exclude_idle);
		assert_true(cycles->attr.read_format & PERF_FORMAT_GROUP);
		assert_true(cycles->attr.sample_type & PERF_SAMPLE_READ);
		assert_false(clock->attr.sample_type & PERF_SAMPLE_READ);
		assert_ptr_equal(counters_by_id(&s.counters, cycles->id)->fd, cycles->fd);
	}
	assert_null(counters_by_id(&s.counters, 1));
	counters_disable(&s.counters);
	assert_false(scene_event(&s, CLOCK, 3)->counts || scene_event(&s, CYCLES, 0)->counts);
	scene_end(&s);
}

static void a_half_full_ring_and_news_of_processes_wake_apart(void **state)
{
	(void)state;
	struct scene s;
	scene_begin(&s);
	scene_open(&s);
	struct pollfd fds[2] = { { s.counters.watch.fd, POLLIN, 0 },
				 { s.counters.sideband_watch.fd, POLLIN, 0 } };
	size_t bytes = PAGES * (size_t)sysconf(_SC_PAGESIZE);
	assert_int_equal(scene_event(&s, CLOCK, 0)->attr.wakeup_watermark, bytes / 2);
	assert_int_equal(scene_sideband(0)->attr.wakeup_watermark, 1);
	assert_int_equal(poll(fds, 2, 0), 0);
	made_up_wake(scene_sideband(3));
	assert_int_equal(poll(fds, 2, 0), 1);
	assert_int_equal(fds[1].revents, POLLIN);
	made_up_wake(scene_event(&s, CLOCK, 0));
	assert_int_equal(poll(fds, 2, 0), 2);
	scene_end(&s);
}

static int no_kernel(const struct perf_event_attr *attr, pid_t task, int cpu)
{
	(void)task;
	(void)cpu;
	return attr->exclude_kernel ? 0 : -EACCES;
}

static void without_the_right_to_the_kernel_user_code_is_sampled(void **state)
{
	(void)state;
	struct scene s;
	scene_begin(&s);
	made_up.judge = no_kernel;
	scene_open(&s);
	assert_true(s.counters.kernel_dropped);
	for (size_t i = 0; i < EVENTS; i++)
		assert_true(scene_event(&s, i, 3)->attr.exclude_kernel &&
			    s.counters.samplers[i].attr.exclude_kernel);
	assert_true(scene_sideband(0)->attr.exclude_kernel && !scene_sideband(0)->attr.ksymbol);
	scene_end(&s);

	/* Where only the kernel's code was asked for nothing is left. */
	scene_begin(&s);
	s.events.events[CLOCK].attr.exclude_user = 1;
	made_up.judge = no_kernel;
	scene_init(&s);
	assert_int_equal(counters_open(&s.counters, -1, 0, &s.err), -EACCES);
	assert_non_null(strstr(s.err.text, "cannot sample 'cpu-clock' on CPU 0: "));
	scene_end(&s);
}

static int least_precise(const struct perf_event_attr *attr, pid_t task, int cpu)
{
	(void)task;
	(void)cpu;
	return attr->precise_ip > 1 ? -EOPNOTSUPP : 0;
}

static void the_highest_precision_that_opens_is_taken(void **state)
{
	(void)state;
	struct scene s;
	scene_begin(&s);
	made_up.judge = least_precise;
	s.events.events[FAULTS].max_precise = true;
	s.events.events[FAULTS].attr.precise_ip = 3;
	scene_open(&s);
	assert_int_equal(scene_event(&s, FAULTS, 0)->attr.precise_ip, 1);
	assert_int_equal(scene_event(&s, FAULTS, 3)->attr.precise_ip, 1);
	scene_end(&s);
	/* What was asked for exactly is not replaced. */
	scene_begin(&s);
	made_up.judge = least_precise;
	s.events.events[FAULTS].attr.precise_ip = 2;
	scene_init(&s);
	assert_int_equal(counters_open(&s.counters, -1, 0, &s.err), -EOPNOTSUPP);
	assert_non_null(strstr(s.err.text, "cannot sample 'page-faults' on CPU 0: "));
	scene_end(&s);
}

static void rings_shrink_to_the_memory_that_may_be_locked(void **state)
{
	(void)state;
	struct scene s;
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	scene_begin(&s);
	s.options.sample_pages = 64;
	made_up.pages_most = 16;
	scene_open(&s);
	for (size_t slot = 0; slot < 2; slot++) {
		assert_int_equal(counters_ring(&s.counters, slot, false)->data_bytes, 16 * page);
		assert_int_equal(counters_ring(&s.counters, slot, true)->data_bytes, 8 * page);
	}
	scene_end(&s);
	scene_begin(&s);
	made_up.pages_most = 2;
	scene_init(&s);
	assert_int_equal(counters_open(&s.counters, -1, 0, &s.err), -EPERM);
	char told[256];
	snprintf(told, sizeof(told),
		 "cannot map a perf ring of 4 pages on CPU 0: this user's other recordings hold "
		 "what his rings may have; end one, or raise kernel.perf_event_mlock_kb (%" PRIu64
		 " now) or ulimit -l",
		 perf_limit_ring_kb());
	assert_string_equal(s.err.text, told);
	scene_end(&s);
}

static int refusal;
static int refuse_sideband(const struct perf_event_attr *attr, pid_t task, int cpu)
{
	(void)task;
	return attr->config == PERF_COUNT_SW_DUMMY && cpu == 3 ? refusal : 0;
}

static void what_the_kernel_refuses_is_told_with_its_place(void **state)
{
	(void)state;
	static const struct {
		int code;
		const char *text;
	} cases[] = {
		{ -EMFILE, "cannot watch processes on CPU 3: Too many open files" },
		{ -ECANCELED, "asked to end before task 77 could be watched" },
		{ -ETIMEDOUT, "cannot watch task 77: the kernel waits for the end of an execve() "
			      "of its, which does not come" },
	};
	struct scene s;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		scene_begin(&s);
		s.options.inherit = true;
		refusal = cases[i].code;
		made_up.judge = refuse_sideband;
		scene_init(&s);
		assert_int_equal(counters_open(&s.counters, 77, 0, &s.err), refusal);
		assert_string_equal(s.err.text, cases[i].text);
		scene_end(&s);
	}
	/* A task that has ended is no mistake: no sentence. */
	scene_begin(&s);
	refusal = -ESRCH;
	made_up.judge = refuse_sideband;
	scene_init(&s);
	s.err.text[0] = 0;
	assert_int_equal(counters_open(&s.counters, 77, 0, &s.err), -ESRCH);
	assert_string_equal(s.err.text, "");
	scene_end(&s);
}

static unsigned interruptions;
static int interrupted(const struct perf_event_attr *attr, pid_t task, int cpu)
{
	(void)attr;
	(void)task;
	(void)cpu;
	return interruptions && interruptions-- ? -EINTR : 0;
}

static void a_task_that_makes_us_wait_is_waited_for_as_long_as_there_is_patience(void **state)
{
	(void)state;
	struct scene s;
	scene_begin(&s);
	interruptions = 5;
	made_up.judge = interrupted;
	scene_init(&s);
	assert_int_equal(counters_open(&s.counters, 77, 0, &s.err), 0);
	assert_int_equal(interruptions, 0);
	assert_true(s.counters.patience.left_ns < TASK_PATIENCE_NS);
	interruptions = UINT32_MAX;
	s.counters.patience.left_ns = 1;
	assert_int_equal(counters_open(&s.counters, 78, 0, &s.err), -ETIMEDOUT);
	assert_int_equal(s.counters.patience.left_ns, 0);
	/* Of whole CPUs nobody makes us wait. */
	assert_int_equal(counters_open(&s.counters, -1, 0, &s.err), -EINTR);
	scene_end(&s);
}

static void an_event_that_cannot_be_started_or_named_is_told(void **state)
{
	(void)state;
	struct scene s;
	scene_begin(&s);
	scene_init(&s);
	assert_int_equal(counters_open(&s.counters, -1, 0, &s.err), 0);
	scene_event(&s, FAULTS, 3)->refused_controls = 1;
	assert_int_equal(counters_enable(&s.counters, &s.err), -EIO);
	assert_string_equal(s.err.text, "cannot start 'page-faults' on CPU 3: Input/output error");
	scene_end(&s);
}

/* What samples come with takes rights that we do not have: they come without. */
static void samples_come_without_their_memory_where_it_may_not_be_read(void **state)
{
	(void)state;
	struct scene s;
	struct sample_memory closed = SAMPLE_MEMORY_CLOSED;
	scene_begin(&s);
	s.options.memory = &closed.extra;
	scene_init(&s);
	s.counters.samplers[CLOCK].memory = true;
	assert_int_equal(counters_open(&s.counters, -1, 0, &s.err), 0);
	assert_true(s.counters.memory_refusal < 0);
	assert_false(s.counters.samplers[CLOCK].memory);
	assert_int_equal(made_up_open_count(), 2 * (EVENTS + 1));
	for (size_t slot = 0; slot < 2; slot++) {
		assert_int_equal(s.counters.output_fds[slot], -1);
		assert_int_equal(counters_ring(&s.counters, slot, false)->attached_id, 0);
	}
	scene_end(&s);
}

int __wrap_sample_table_attach(struct sample_table *table, int event_fd, unsigned event);
int __wrap_sample_table_attach(struct sample_table *table, int event_fd, unsigned event)
{
	(void)table;
	(void)event_fd;
	(void)event;
	return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

/* Events that are counted in the kernel write no samples, and that they were throttled into the
 * ring of news. Those apart keep to the ring of samples. */
static void what_is_counted_in_the_kernel_is_heard_of_when_it_is_throttled(void **state)
{
	(void)state;
	struct scene s;
	int table;
	scene_begin(&s);
	s.options.table = (struct sample_table *)&table; /* nobody looks into it */
	scene_init(&s);
	s.counters.samplers[CYCLES].apart = true;
	assert_int_equal(counters_open(&s.counters, -1, 0, &s.err), 0);
	for (int cpu = 0; cpu <= 3; cpu += 3) {
		const struct made_up_event *sideband = scene_sideband(cpu);
		assert_int_equal(scene_event(&s, CLOCK, cpu)->output_fd, sideband->fd);
		assert_int_equal(scene_event(&s, FAULTS, cpu)->output_fd, sideband->fd);
		assert_null(scene_event(&s, CLOCK, cpu)->ring);
		assert_int_equal(scene_event(&s, CYCLES, cpu)->output_fd, -1);
		assert_non_null(scene_event(&s, CYCLES, cpu)->ring);
		assert_int_equal(scene_event(&s, INSTRUCTIONS, cpu)->output_fd, -1);
	}
	for (size_t i = 0; i < EVENTS; i++)
		assert_false(s.counters.samplers[i].throttles_silently);
	scene_end(&s);

	/* Where that cannot be, nobody claims that it never was. */
	scene_begin(&s);
	s.options.table = (struct sample_table *)&table;
	made_up.refuses_output = true;
	scene_init(&s);
	assert_int_equal(counters_open(&s.counters, -1, 0, &s.err), 0);
	assert_true(s.counters.samplers[CLOCK].throttles_silently);
	scene_end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_event_is_opened_on_every_cpu_and_shares_its_rings),
		cmocka_unit_test(a_half_full_ring_and_news_of_processes_wake_apart),
		cmocka_unit_test(without_the_right_to_the_kernel_user_code_is_sampled),
		cmocka_unit_test(the_highest_precision_that_opens_is_taken),
		cmocka_unit_test(rings_shrink_to_the_memory_that_may_be_locked),
		cmocka_unit_test(what_the_kernel_refuses_is_told_with_its_place),
		cmocka_unit_test(
			a_task_that_makes_us_wait_is_waited_for_as_long_as_there_is_patience),
		cmocka_unit_test(an_event_that_cannot_be_started_or_named_is_told),
		cmocka_unit_test(samples_come_without_their_memory_where_it_may_not_be_read),
		cmocka_unit_test(what_is_counted_in_the_kernel_is_heard_of_when_it_is_throttled),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
