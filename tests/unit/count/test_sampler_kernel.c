/* What a sampler opens on kernels and machines that this one is not, and what it makes of their
 * records. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <stdbool.h>
#include <unistd.h>
#include <linux/perf_event.h>

#include "base/buffer.h"
#include "count/sampler_private.h"
#include "counting_machine.h"
#include "support/made_up_events.h"

#define SEEN_MOST 64

struct scene {
	struct tree tree;
	struct culprit_sampler *sampler;
	struct culprit_error error;
	struct buffer records;
	size_t seen;
	struct culprit_sample samples[SEEN_MOST];
	uint64_t calls[8]; /* of the last one */
};

static void see(void *context, const struct culprit_sample *sample)
{
	struct scene *s = context;
	s->samples[s->seen++] = *sample;
	memcpy(s->calls, sample->calls ? sample->calls : s->calls,
	       sample->call_count * sizeof(uint64_t));
}

static void begin(struct scene *s, const struct tree_file *machine)
{
	*s = (struct scene){ .seen = 0 };
	made_up_begin();
	tree_make(&s->tree, machine);
}

static int open_with(struct scene *s, const char *event, struct culprit_sampler_options options)
{
	const struct count_world world = { &count_kernel_real, s->tree.path };
	options.function = see;
	options.context = s;
	return sampler_open(&world, event, &options, &s->sampler, &s->error);
}

static void end(struct scene *s)
{
	assert_int_equal(culprit_sampler_close(s->sampler, &s->error), 0);
	assert_int_equal(made_up_open_count(), 0);
	made_up_begin();
	tree_remove(&s->tree);
	buffer_release(&s->records);
}

static struct made_up_event *dummy_on(int cpu)
{
	return made_up_find(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY, cpu);
}

static struct made_up_event *cycles_on(int cpu)
{
	return made_up_find(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, cpu);
}

static struct made_up_event *clock_on(int cpu)
{
	return made_up_find(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, cpu);
}

struct made_sample {
	uint64_t address, time_ns, period;
	uint32_t pid, tid, cpu;
	const uint64_t *chain;
	size_t chain_count;
};

static void put_sample(struct scene *s, uint16_t misc, const struct made_sample *sample,
		       bool with_chain)
{
	size_t words = 7 + (with_chain ? 1 + sample->chain_count : 0);
	buffer_append_u32(&s->records, PERF_RECORD_SAMPLE);
	buffer_append_u32(&s->records, misc | (uint32_t)(words * 8) << 16);
	buffer_append_u64(&s->records, 1); /* the event's number */
	buffer_append_u64(&s->records, sample->address);
	buffer_append_u32(&s->records, sample->pid);
	buffer_append_u32(&s->records, sample->tid);
	buffer_append_u64(&s->records, sample->time_ns);
	buffer_append_u64(&s->records, sample->cpu);
	buffer_append_u64(&s->records, sample->period);
	if (!with_chain)
		return;
	buffer_append_u64(&s->records, sample->chain_count);
	buffer_append(&s->records, sample->chain, sample->chain_count * sizeof(uint64_t));
}

/* LOST and THROTTLE: two words, or three, of numbers, and the trailer. */
static void put_numbers(struct scene *s, uint32_t type, const uint64_t *words, size_t count)
{
	buffer_append_u32(&s->records, type);
	buffer_append_u32(&s->records, (uint32_t)(8 + 8 * count + 32) << 16);
	buffer_append(&s->records, words, count * sizeof(*words));
	for (int i = 0; i < 4; i++)
		buffer_append_u64(&s->records, 0);
}

static void write_records(struct scene *s)
{
	assert_true(made_up_write(dummy_on(-1), &s->records));
}

/* ---- what is opened */

static void a_dummy_leads_and_brings_the_ring(void **state)
{
	(void)state;
	struct scene s;
	begin(&s, counting_intel);
	assert_int_equal(open_with(&s, "cycles", (struct culprit_sampler_options){ .period = 77 }),
			 0);
	assert_string_equal(culprit_sampler_event(s.sampler), "cycles");
	const struct made_up_event *dummy = dummy_on(-1), *cycles = cycles_on(-1);
	assert_true(dummy->counts && dummy->attr.mmap2 && dummy->attr.comm && dummy->attr.task);
	assert_false(cycles->counts);
	assert_int_equal(cycles->leader_fd, dummy->fd);
	assert_int_equal(cycles->output_fd, dummy->fd);
	assert_int_equal(cycles->attr.sample_period, 77);
	assert_false(cycles->attr.freq || cycles->attr.inherit);
	/* one ring, one layout and one clock */
	assert_int_equal(dummy->attr.sample_type, cycles->attr.sample_type);
	assert_int_equal(dummy->attr.clockid, cycles->attr.clockid);
	assert_true(dummy->attr.use_clockid && cycles->attr.use_clockid);
	assert_int_equal(dummy->data_bytes, 512 << 10);
	assert_int_equal(culprit_sampler_start(s.sampler), 0);
	assert_true(cycles->counts);
	assert_int_equal(culprit_sampler_stop(s.sampler), 0);
	assert_true(!cycles->counts && dummy->counts);
	end(&s);
}

static void without_a_rate_it_is_the_events_own_or_1000_hz(void **state)
{
	(void)state;
	struct scene s;
	begin(&s, counting_intel);
	assert_int_equal(open_with(&s, "cycles", (struct culprit_sampler_options){ .period = 0 }),
			 0);
	assert_true(cycles_on(-1)->attr.freq);
	assert_int_equal(cycles_on(-1)->attr.sample_freq, 1000);
	end(&s);
	begin(&s, counting_intel);
	assert_int_equal(open_with(&s, "cpu/event=0x3c,period=100003/",
				   (struct culprit_sampler_options){ .period = 0 }),
			 0);
	assert_false(made_up_find(4, 0x3c, -1)->attr.freq);
	assert_int_equal(made_up_find(4, 0x3c, -1)->attr.sample_period, 100003);
	end(&s);
}

static int no_hardware(const struct perf_event_attr *attr, pid_t task, int cpu)
{
	(void)task;
	(void)cpu;
	return attr->type == PERF_TYPE_SOFTWARE ? 0 : -ENOENT;
}

static int no_kernel(const struct perf_event_attr *attr, pid_t task, int cpu)
{
	(void)task;
	(void)cpu;
	return attr->exclude_kernel ? 0 : -EACCES;
}

static int neither(const struct perf_event_attr *attr, pid_t task, int cpu)
{
	int refusal = no_kernel(attr, task, cpu);
	return refusal ? refusal : no_hardware(attr, task, cpu);
}

static void cycles_become_a_clock_where_nothing_counts_them(void **state)
{
	(void)state;
	struct scene s;
	begin(&s, counting_no_pmu);
	made_up.judge = no_hardware;
	assert_int_equal(
		open_with(&s, "cycles", (struct culprit_sampler_options){ .period = 9999 }), 0);
	assert_string_equal(culprit_sampler_event(s.sampler), "cpu-clock");
	assert_int_equal(clock_on(-1)->attr.sample_period, 9999);
	end(&s);
}

static void another_event_that_nothing_counts_is_refused(void **state)
{
	(void)state;
	struct scene s;
	begin(&s, counting_no_pmu);
	made_up.judge = no_hardware;
	assert_int_equal(open_with(&s, "instructions", (struct culprit_sampler_options){ .fd = 0 }),
			 -ENOENT);
	assert_string_equal(s.error.text,
			    "cannot sample 'instructions': this machine has no hardware "
			    "counters (no PMU)");
	assert_int_equal(s.error.code, -ENOENT);
	end(&s);
}

static void the_kernel_is_left_out_where_there_is_no_right_to_it(void **state)
{
	(void)state;
	static const struct {
		const char *asked, *sampled;
		int (*judge)(const struct perf_event_attr *attr, pid_t task, int cpu);
	} rows[] = {
		{ "cycles", "cycles:u", no_kernel },
		{ "cycles:pp", "cycles:ppu", no_kernel },
		{ "cpu/event=0x3c/", "cpu/event=0x3c/u", no_kernel },
		{ "cycles", "cpu-clock:u", neither },
		{ "cycles:u", "cpu-clock:u", neither },
		{ "cpu-clock", "cpu-clock:u", neither },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct scene s;
		begin(&s, counting_intel);
		made_up.judge = rows[i].judge;
		assert_int_equal(
			open_with(&s, rows[i].asked, (struct culprit_sampler_options){ .fd = 0 }),
			0);
		assert_string_equal(culprit_sampler_event(s.sampler), rows[i].sampled);
		const struct made_up_event *last = &made_up.events[made_up.count - 1];
		assert_true(last->attr.exclude_kernel && last->attr.exclude_hv &&
			    last->attr.exclude_callchain_kernel && !last->attr.exclude_user);
		end(&s);
	}
}

static int nothing_at_all(const struct perf_event_attr *attr, pid_t task, int cpu)
{
	(void)attr;
	(void)task;
	(void)cpu;
	return -EACCES;
}

static void no_right_at_all_is_said_with_the_setting(void **state)
{
	(void)state;
	struct scene s;
	begin(&s, counting_intel);
	made_up.judge = nothing_at_all;
	assert_int_equal(open_with(&s, "cycles", (struct culprit_sampler_options){ .fd = 0 }),
			 -EACCES);
	assert_memory_equal(s.error.text, "cannot sample 'cycles': permission denied", 41);
	end(&s);
}

static void a_hybrid_machine_has_an_event_for_each_type_of_cores(void **state)
{
	(void)state;
	struct scene s;
	begin(&s, counting_hybrid);
	assert_int_equal(open_with(&s, "cycles", (struct culprit_sampler_options){ .fd = 0 }), 0);
	assert_int_equal(made_up_open_count(), 3);
	const struct made_up_event *events = made_up.events;
	assert_int_equal(events[1].leader_fd, events[0].fd);
	assert_int_equal(events[2].leader_fd, -1); /* another PMU: no group */
	assert_int_equal(events[1].output_fd, events[0].fd);
	assert_int_equal(events[2].output_fd, events[0].fd);
	assert_int_equal(culprit_sampler_start(s.sampler), 0);
	assert_true(events[1].counts && events[2].counts);
	end(&s);
}

/* ---- threads */

static int second_cpu_is_off(const struct perf_event_attr *attr, pid_t task, int cpu)
{
	(void)attr;
	(void)task;
	return cpu == 1 ? -ENODEV : 0;
}

static void threads_are_sampled_on_each_cpu_that_is_there(void **state)
{
	(void)state;
	struct scene s;
	size_t cpus = (size_t)sysconf(_SC_NPROCESSORS_CONF);
	begin(&s, counting_intel);
	made_up.judge = second_cpu_is_off;
	assert_int_equal(open_with(&s, "cycles", (struct culprit_sampler_options){ .threads = 1 }),
			 0);
	assert_int_equal(made_up_open_count(), 2 * (cpus > 1 ? cpus - 1 : 1));
	assert_null(cycles_on(1));
	assert_true(cycles_on(0)->attr.inherit && cycles_on(0)->attr.inherit_thread);
	assert_true(dummy_on(0)->attr.inherit && dummy_on(0)->attr.inherit_thread);
	end(&s);
}

/* Linux 5.12: knows neither PERF_FORMAT_LOST nor inherit_thread. */
static int old_kernel(const struct perf_event_attr *attr, pid_t task, int cpu)
{
	(void)task;
	(void)cpu;
	return attr->inherit_thread || attr->read_format & PERF_FORMAT_LOST ? -EINVAL : 0;
}

static void on_an_old_kernel_samples_of_child_processes_are_dropped(void **state)
{
	(void)state;
	struct scene s;
	const uint64_t lost[] = { 1, 5 };
	const struct made_sample ours = { .address = 1, .pid = (uint32_t)getpid() },
				 theirs = { .address = 2, .pid = ours.pid + 1 };
	struct culprit_sampler_counts counts;
	begin(&s, counting_intel);
	made_up.judge = old_kernel;
	assert_int_equal(open_with(&s, "cycles", (struct culprit_sampler_options){ .threads = 1 }),
			 0);
	assert_true(cycles_on(0)->attr.inherit);
	put_sample(&s, PERF_RECORD_MISC_USER, &theirs, false);
	put_sample(&s, PERF_RECORD_MISC_USER, &ours, false);
	put_numbers(&s, PERF_RECORD_LOST, lost, 2);
	assert_true(made_up_write(dummy_on(0), &s.records));
	assert_int_equal(culprit_sampler_drain(s.sampler), 0);
	assert_int_equal(s.seen, 1);
	assert_int_equal(s.samples[0].address, 1);
	culprit_sampler_counts(s.sampler, &counts);
	assert_int_equal(counts.samples, 1);
	assert_int_equal(counts.lost, 5);
	end(&s);
}

static void a_start_that_fails_leaves_nothing_running(void **state)
{
	(void)state;
	struct scene s;
	begin(&s, counting_hybrid);
	assert_int_equal(open_with(&s, "cycles", (struct culprit_sampler_options){ .fd = 0 }), 0);
	made_up.events[2].refused_controls = 1;
	assert_int_equal(culprit_sampler_start(s.sampler), -EIO);
	assert_false(made_up.events[1].counts || made_up.events[2].counts);
	assert_int_equal(culprit_sampler_start(s.sampler), 0);
	assert_true(made_up.events[1].counts && made_up.events[2].counts);
	end(&s);
}

/* ---- the ring */

static void a_default_ring_is_as_large_as_may_be_locked(void **state)
{
	(void)state;
	struct scene s;
	begin(&s, counting_intel);
	made_up.pages_most = 16;
	assert_int_equal(open_with(&s, "cycles", (struct culprit_sampler_options){ .fd = 0 }), 0);
	assert_int_equal(dummy_on(-1)->data_bytes, 16 * (size_t)sysconf(_SC_PAGESIZE));
	end(&s);
}

static void a_ring_of_a_size_that_was_asked_for_is_that_or_none(void **state)
{
	(void)state;
	struct scene s;
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	begin(&s, counting_intel);
	made_up.pages_most = 16;
	assert_int_equal(
		open_with(&s, "cycles",
			  (struct culprit_sampler_options){ .buffer_bytes = 16 * page + 1 }),
		-EPERM);
	assert_non_null(strstr(s.error.text, "more than this user may lock"));
	assert_int_equal(made_up_open_count(), 0);
	assert_int_equal(
		open_with(&s, "cycles",
			  (struct culprit_sampler_options){ .buffer_bytes = 8 * page + 1 }),
		0);
	assert_int_equal(dummy_on(-1)->data_bytes, 16 * page);
	end(&s);
}

static void a_sample_is_handed_on_with_who_when_and_by_which_calls(void **state)
{
	(void)state;
	struct scene s;
	const uint64_t chain[] = {
		(uint64_t)PERF_CONTEXT_KERNEL, 0xffffffff81000010, 0xffffffff81000020,
		(uint64_t)PERF_CONTEXT_USER,   0x401000,	   0x402000
	};
	const struct made_sample made = { .address = 0xffffffff81000010,
					  .time_ns = 12345,
					  .period = 678,
					  .pid = 9,
					  .tid = 10,
					  .cpu = 3,
					  .chain = chain,
					  .chain_count = 6 };
	begin(&s, counting_intel);
	assert_int_equal(open_with(&s, "cycles", (struct culprit_sampler_options){ .stacks = 1 }),
			 0);
	put_sample(&s, PERF_RECORD_MISC_KERNEL, &made, true);
	put_sample(
		&s, PERF_RECORD_MISC_USER,
		&(struct made_sample){ .address = 0x401000, .chain = chain + 3, .chain_count = 3 },
		true);
	write_records(&s);
	assert_int_equal(culprit_sampler_drain(s.sampler), 0);
	assert_int_equal(s.seen, 2);
	const struct culprit_sample *kernel = &s.samples[0], *user = &s.samples[1];
	assert_int_equal(kernel->address, made.address);
	assert_int_equal(kernel->time_ns, 12345);
	assert_int_equal(kernel->period, 678);
	assert_int_equal(kernel->pid, 9);
	assert_int_equal(kernel->tid, 10);
	assert_int_equal(kernel->cpu, 3);
	assert_true(kernel->kernel && !user->kernel);
	assert_int_equal(kernel->call_count, 3); /* marks and the address itself are none */
	assert_int_equal(user->call_count, 1);
	assert_int_equal(s.calls[0], 0x402000);
	end(&s);
}

static void without_stacks_there_are_no_calls(void **state)
{
	(void)state;
	struct scene s;
	begin(&s, counting_intel);
	assert_int_equal(open_with(&s, "cycles", (struct culprit_sampler_options){ .stacks = 0 }),
			 0);
	put_sample(&s, PERF_RECORD_MISC_USER, &(struct made_sample){ .address = 5 }, false);
	write_records(&s);
	assert_int_equal(culprit_sampler_stop(s.sampler), 0);
	assert_int_equal(s.seen, 1);
	assert_null(s.samples[0].calls);
	assert_int_equal(s.samples[0].call_count, 0);
	end(&s);
}

static void what_was_lost_is_what_the_event_says_and_throttling_is_counted(void **state)
{
	(void)state;
	struct scene s;
	const uint64_t lost[] = { 1, 5 }, dropped[] = { 2 }, throttle[] = { 100, 1, 1 };
	struct culprit_sampler_counts counts;
	begin(&s, counting_intel);
	assert_int_equal(open_with(&s, "cycles", (struct culprit_sampler_options){ .fd = 0 }), 0);
	put_numbers(&s, PERF_RECORD_THROTTLE, throttle, 3);
	put_numbers(&s, PERF_RECORD_UNTHROTTLE, throttle, 3);
	put_numbers(&s, PERF_RECORD_THROTTLE, throttle, 3);
	put_numbers(&s, PERF_RECORD_LOST, lost, 2);
	put_numbers(&s, PERF_RECORD_LOST_SAMPLES, dropped, 1);
	write_records(&s);
	cycles_on(-1)->lost = 9; /* of which the kernel has told 5 by now */
	assert_int_equal(culprit_sampler_drain(s.sampler), 0);
	culprit_sampler_counts(s.sampler, &counts);
	assert_int_equal(counts.samples, 0);
	assert_int_equal(counts.lost, 9 + 2); /* the PMU's own beside them */
	assert_int_equal(counts.throttled, 2);
	end(&s);
}

static void a_record_that_is_no_sample_is_an_error_and_those_beside_it_count(void **state)
{
	(void)state;
	struct scene s;
	const struct made_sample good = { .address = 1 };
	begin(&s, counting_intel);
	assert_int_equal(open_with(&s, "cycles", (struct culprit_sampler_options){ .fd = 0 }), 0);
	put_sample(&s, PERF_RECORD_MISC_USER, &good, false);
	buffer_append_u32(&s.records, PERF_RECORD_SAMPLE);
	buffer_append_u32(&s.records, 16u << 16); /* shorter than its fields */
	buffer_append_u64(&s.records, 1);
	put_sample(&s, PERF_RECORD_MISC_USER, &good, false);
	write_records(&s);
	assert_int_equal(culprit_sampler_drain(s.sampler), -EBADMSG);
	assert_int_equal(s.seen, 2);
	assert_int_equal(culprit_sampler_drain(s.sampler), 0);
	end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_dummy_leads_and_brings_the_ring),
		cmocka_unit_test(without_a_rate_it_is_the_events_own_or_1000_hz),
		cmocka_unit_test(cycles_become_a_clock_where_nothing_counts_them),
		cmocka_unit_test(another_event_that_nothing_counts_is_refused),
		cmocka_unit_test(the_kernel_is_left_out_where_there_is_no_right_to_it),
		cmocka_unit_test(no_right_at_all_is_said_with_the_setting),
		cmocka_unit_test(a_hybrid_machine_has_an_event_for_each_type_of_cores),
		cmocka_unit_test(threads_are_sampled_on_each_cpu_that_is_there),
		cmocka_unit_test(on_an_old_kernel_samples_of_child_processes_are_dropped),
		cmocka_unit_test(a_start_that_fails_leaves_nothing_running),
		cmocka_unit_test(a_default_ring_is_as_large_as_may_be_locked),
		cmocka_unit_test(a_ring_of_a_size_that_was_asked_for_is_that_or_none),
		cmocka_unit_test(a_sample_is_handed_on_with_who_when_and_by_which_calls),
		cmocka_unit_test(without_stacks_there_are_no_calls),
		cmocka_unit_test(what_was_lost_is_what_the_event_says_and_throttling_is_counted),
		cmocka_unit_test(a_record_that_is_no_sample_is_an_error_and_those_beside_it_count),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
