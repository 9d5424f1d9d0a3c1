/* A whole machine of one CPU is watched, whose events are made up (made_up_recording.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <poll.h>

#include "base/clock.h"
#include "made_up_recording.h"
#include "profile/bill.h"

/* No process has such numbers: /proc knows none of them. */
#define SHELL	5000001u
#define WORKER	5000002u
#define THREAD	5000003u
#define LIBRARY UINT64_C(0x7f0000000000)

static void exec(struct recording *r, uint32_t pid, const char *name)
{
	recording_fork(r, pid, pid, 1);
	recording_comm(r, pid, pid, name, true);
}

static void sample(struct recording *r, const char *event, uint32_t pid, uint64_t ip,
		   uint64_t count)
{
	const struct made_up_sample sample = {
		.pid = pid, .tid = pid, .ip = ip, .misc = PERF_RECORD_MISC_USER
	};
	for (uint64_t i = 0; i < count; i++)
		recording_sample(r, event, &sample);
}

static void samples_are_whose_and_where_records_say(void **state)
{
	(void)state;
	struct recording r;
	recording_begin(&r, COLLECT_SYSTEM, "cpu-clock");
	recording_start(&r);
	exec(&r, SHELL, "shell");
	recording_map(&r, SHELL, LIBRARY, 0x10000, "/nowhere/library.so");
	sample(&r, "cpu-clock", SHELL, LIBRARY + 0x123, 3);
	sample(&r, "cpu-clock", SHELL, 0x1000, 1); /* nothing lies there */
	recording_fork(&r, WORKER, WORKER, SHELL);
	sample(&r, "cpu-clock", WORKER, LIBRARY + 0x123, 2); /* it has the same name and mappings */
	recording_comm(&r, WORKER, WORKER, "worker", true);
	recording_map(&r, WORKER, 0x400000, 0x1000, "/nowhere/worker");
	sample(&r, "cpu-clock", WORKER, 0x400010, 4);
	recording_exit(&r, WORKER, WORKER);
	const struct made_up_sample reaped = {
		.pid = UINT32_MAX, .tid = UINT32_MAX, .ip = LIBRARY, .misc = PERF_RECORD_MISC_USER
	};
	recording_sample(&r, "cpu-clock", &reaped); /* the last that exited there */
	recording_finish(&r);
	assert_int_equal(recording_cells(&r, "cpu-clock", "shell", NULL).samples, 6);
	assert_int_equal(recording_cells(&r, "cpu-clock", "worker", NULL).samples, 5);
	assert_int_equal(recording_cells(&r, "cpu-clock", "shell", "/nowhere/library.so").samples,
			 5);
	assert_int_equal(recording_cells(&r, "cpu-clock", "worker", "/nowhere/worker").samples, 4);
	assert_int_equal(recording_cells(&r, "cpu-clock", "shell", "no mapping").samples, 1);
	assert_int_equal(recording_billed(&r, "cpu-clock", BILL_STORED), 11);
	assert_int_equal(recording_billed(&r, "cpu-clock", BILL_RUNS), 11);
	recording_end(&r);
}

static void in_mode(struct recording *r, uint16_t misc, uint64_t ip)
{
	recording_sample(
		r, "cpu-clock",
		&(struct made_up_sample){ .pid = SHELL, .tid = SHELL, .ip = ip, .misc = misc });
}

static void a_hypervisor_and_guests_are_told_apart(void **state)
{
	(void)state;
	struct recording r;
	recording_begin(&r, COLLECT_SYSTEM, "cpu-clock");
	recording_start(&r);
	exec(&r, SHELL, "shell");
	in_mode(&r, PERF_RECORD_MISC_HYPERVISOR, 64);
	for (int i = 0; i < 2; i++)
		in_mode(&r, PERF_RECORD_MISC_GUEST_KERNEL, 64);
	for (int i = 0; i < 3; i++)
		in_mode(&r, PERF_RECORD_MISC_GUEST_USER, 64);
	recording_finish(&r);
	assert_int_equal(recording_cells(&r, "cpu-clock", "shell", "hypervisor").samples, 1);
	assert_int_equal(
		recording_cells(&r, "cpu-clock", "shell", "guest kernel of a virtual machine")
			.samples,
		2);
	assert_int_equal(
		recording_cells(&r, "cpu-clock", "shell", "guest user code of a virtual machine")
			.samples,
		3);
	recording_end(&r);
}

static void put_program(struct recording *r, uint64_t address, const char *name, uint16_t flags)
{
	struct made_up_event *sideband = recording_event(r, NULL);
	perf_record_begin(&r->put, PERF_RECORD_KSYMBOL, 0);
	perf_put_u64(&r->put, address);
	perf_put_u32(&r->put, 64);
	perf_put_u16(&r->put, PERF_RECORD_KSYMBOL_TYPE_BPF);
	perf_put_u16(&r->put, flags);
	perf_put_text(&r->put, name);
	perf_put_trailer(&r->put, SHELL, SHELL, clock_monotonic_ns(), sideband->id);
	perf_record_end(&r->put);
	recording_write(r, sideband);
}

static void the_kernel_its_modules_and_programs_have_names(void **state)
{
	(void)state;
	struct recording r;
	recording_begin(&r, COLLECT_SYSTEM, "cpu-clock");
	r.options.user_only = false;
	r.options.stash = true;
	recording_start(&r);
	exec(&r, SHELL, "shell");
	put_program(&r, MADE_UP_PROGRAM + 0x1000, "bpf_prog_new", 0);
	in_mode(&r, PERF_RECORD_MISC_KERNEL, MADE_UP_KERNEL + 0x110);
	in_mode(&r, PERF_RECORD_MISC_KERNEL, MADE_UP_MODULE + 0x10);
	in_mode(&r, PERF_RECORD_MISC_KERNEL, MADE_UP_PROGRAM + 0x10);
	in_mode(&r, PERF_RECORD_MISC_KERNEL, MADE_UP_PROGRAM + 0x1010);
	in_mode(&r, PERF_RECORD_MISC_KERNEL, 0x1000);
	put_program(&r, MADE_UP_PROGRAM + 0x1000, "bpf_prog_new",
		    PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER);
	recording_finish(&r);
	static const char *const names[] = { "loaded", "bpf_prog_known", "bpf_prog_new",
					     "kernel address outside all text" };
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(recording_cells(&r, "cpu-clock", "shell", names[i]).samples, 1);
	assert_int_equal(recording_billed(&r, "cpu-clock", BILL_STORED), 5);
	assert_true(recording_stashed(&r, "do_work") && recording_stashed(&r, "module_work"));
	assert_true(recording_stashed(&r, "bpf_prog_known") &&
		    recording_stashed(&r, "bpf_prog_new"));
	assert_false(recording_stashed(&r, "do_rest") || recording_stashed(&r, "module_rest"));
	recording_end(&r);
}

static void a_kernel_that_hides_its_addresses_has_none(void **state)
{
	(void)state;
	static const struct made_up_file hidden[] = {
		{ "/proc/kallsyms", "0000000000000000 T _stext\n0000000000000000 T _etext\n" },
		{ "/proc/modules", NULL },
		{ NULL, NULL },
	};
	struct recording r;
	recording_begin(&r, COLLECT_SYSTEM, "cpu-clock");
	made_up_files = hidden;
	r.options.kernel_only = true;
	r.options.user_only = false;
	recording_start(&r);
	assert_non_null(strstr(r.notes, "warning: the kernel hides its addresses"));
	exec(&r, SHELL, "shell");
	in_mode(&r, PERF_RECORD_MISC_KERNEL, MADE_UP_KERNEL + 0x110);
	recording_finish(&r);
	assert_int_equal(recording_cells(&r, "cpu-clock", "shell", "kernel base unknown").samples,
			 1);
	recording_end(&r);
}

static void set(struct recording *r, const char *event, uint64_t value, uint64_t ns)
{
	struct made_up_event *made = recording_event(r, event);
	made->value = value;
	made->enabled_ns = made->running_ns = ns;
}

static void samples_of_a_leader_bring_what_its_group_has_counted(void **state)
{
	(void)state;
	struct recording r;
	recording_begin(&r, COLLECT_SYSTEM, "{cycles,instructions}");
	r.options.frequency_hz = 0;
	r.options.period = 1500;
	recording_start(&r);
	exec(&r, SHELL, "shell");
	exec(&r, WORKER, "worker");
	set(&r, "cycles", 1000, 1000);
	set(&r, "instructions", 2000, 1000);
	sample(&r, "cycles", SHELL, 0x1000, 1);
	set(&r, "cycles", 2600, 2000);
	set(&r, "instructions", 5000, 2000);
	sample(&r, "cycles", WORKER, 0x1000, 1);
	/* The kernel says with the next one that there were others. */
	set(&r, "cycles", 6000, 4000);
	set(&r, "instructions", 9000, 4000);
	recording_event(&r, "cycles")->lost = 1;
	sample(&r, "cycles", SHELL, 0x1000, 1);
	recording_finish(&r);
	/* The first reading is where counting begins; what was counted beside a loss is nobody's.
	 */
	assert_int_equal(recording_cells(&r, "instructions", "worker", NULL).estimate, 3000);
	assert_int_equal(recording_cells(&r, "instructions", "shell", NULL).estimate, 2000);
	assert_int_equal(recording_billed(&r, "instructions", BILL_LOST_ESTIMATE), 4000);
	/* So it is with cycles, but for the period that ended with the sample. */
	struct cell shell = recording_cells(&r, "cycles", "shell", NULL);
	assert_int_equal(shell.samples, 2);
	assert_int_equal(shell.estimate, 1000 + 1500);
	assert_true(shell.squares == 1000 * 1000 + 1500 * 1500);
	struct cell worker = recording_cells(&r, "cycles", "worker", NULL);
	assert_int_equal(worker.samples, 1);
	assert_int_equal(worker.estimate, 1600);
	assert_int_equal(recording_billed(&r, "cycles", BILL_LOST_RING), 1);
	assert_int_equal(recording_billed(&r, "cycles", BILL_LOST_ESTIMATE), 1900);
	assert_int_equal(recording_billed(&r, "cycles", BILL_COUNT), 6000);
	recording_end(&r);
}

/* As in the groups of TopDown, which slots leads: here cycles lead, and instructions are sampled.
 */
static void samples_of_a_member_bring_what_its_leader_has_counted(void **state)
{
	(void)state;
	struct recording r;
	recording_begin(&r, COLLECT_SYSTEM, "{cycles,instructions:S,branches}");
	recording_start(&r);
	const struct made_up_event *leader = recording_event(&r, "cycles");
	const struct made_up_event *sampled = recording_event(&r, "instructions:S");
	const struct made_up_event *member = recording_event(&r, "branches");
	assert_true(sampled->leader_fd == leader->fd && member->leader_fd == leader->fd);
	assert_true(leader->attr.disabled && leader->counts);
	assert_false(sampled->attr.disabled || member->attr.disabled);
	assert_int_equal(leader->attr.sample_period, 0);
	assert_int_not_equal(sampled->attr.sample_period, 0);
	assert_int_equal(member->attr.sample_period, 0);
	assert_true(sampled->attr.sample_type & PERF_SAMPLE_READ);
	/* What goes into the ring is of the sampled event, whoever leads. */
	assert_non_null(sampled->ring);
	assert_null(leader->ring);
	exec(&r, SHELL, "shell");
	exec(&r, WORKER, "worker");
	set(&r, "cycles", 1000, 1000);
	set(&r, "instructions:S", 2000, 1000);
	set(&r, "branches", 100, 1000);
	sample(&r, "instructions:S", SHELL, 0x1000, 1);
	set(&r, "cycles", 2000, 2000);
	set(&r, "instructions:S", 4000, 2000);
	set(&r, "branches", 150, 2000);
	sample(&r, "instructions:S", WORKER, 0x1000, 1);
	/* The leader's count comes before the one that tells of the loss. */
	set(&r, "cycles", 4000, 4000);
	set(&r, "instructions:S", 8000, 4000);
	set(&r, "branches", 160, 4000);
	recording_event(&r, "instructions:S")->lost = 1;
	sample(&r, "instructions:S", SHELL, 0x1000, 1);
	recording_finish(&r);
	assert_int_equal(recording_cells(&r, "cycles", "worker", NULL).estimate, 1000);
	assert_int_equal(recording_cells(&r, "cycles", "shell", NULL).estimate, 1000);
	assert_int_equal(recording_cells(&r, "cycles", NULL, NULL).samples, 0);
	assert_int_equal(recording_cells(&r, "branches", "worker", NULL).estimate, 50);
	assert_int_equal(recording_billed(&r, "cycles", BILL_LOST_ESTIMATE), 2000);
	assert_int_equal(recording_billed(&r, "branches", BILL_LOST_ESTIMATE), 10);
	assert_int_equal(recording_cells(&r, "instructions:S", "shell", NULL).samples, 2);
	/* Across the loss no more was counted than a period. */
	assert_int_equal(recording_cells(&r, "instructions:S", "shell", NULL).estimate, 6000);
	assert_int_equal(recording_cells(&r, "instructions:S", "worker", NULL).estimate, 2000);
	assert_int_equal(recording_billed(&r, "instructions:S", BILL_COUNT), 8000);
	assert_int_equal(recording_billed(&r, "cycles", BILL_COUNT), 4000);
	/* no number is known of what was not sampled */
	assert_int_equal(recording_billed(&r, "cycles", BILL_STORED), -1);
	const struct table *events = profile_table(r.got, PROFILE_EVENT);
	for (size_t id = 1; id <= events->count; id++) {
		struct profile_event event = profile_event(r.got, id);
		bool own = span_equal(event.name, span_of_text("instructions:S"));
		assert_int_equal(event.sampled, own);
		assert_true(span_equal(event.leader, own ? (struct span){ NULL, 0 }
							 : span_of_text("instructions:S")));
		assert_int_equal(event.policy, own ? PERIOD_FREQUENCY : PERIOD_NONE);
	}
	recording_end(&r);
}

/* A clock's sample has its weight at once, by its period, also where another event leads. */
static void a_clock_that_does_not_lead_weighs_its_period(void **state)
{
	(void)state;
	struct recording r;
	recording_begin(&r, COLLECT_SYSTEM, "{cycles,cpu-clock:S}");
	r.options.frequency_hz = 0;
	r.options.period = 1000003;
	recording_start(&r);
	exec(&r, SHELL, "shell");
	set(&r, "cycles", 3000000, 1000);
	sample(&r, "cpu-clock:S", SHELL, 0x1000, 1);
	recording_finish(&r);
	assert_int_equal(recording_cells(&r, "cpu-clock:S", "shell", NULL).samples, 1);
	uint64_t weight = recording_cells(&r, "cpu-clock:S", "shell", NULL).estimate;
	assert_true(weight >= 1000003 && weight <= 1500004); /* half of one for the start */
	assert_int_equal(recording_cells(&r, "cycles", "shell", NULL).estimate, 3000000);
	recording_end(&r);
}

static void put_lost(struct recording *r, struct made_up_event *event, uint64_t lost)
{
	perf_record_begin(&r->put, PERF_RECORD_LOST, 0);
	perf_put_u64(&r->put, event->id);
	perf_put_u64(&r->put, lost);
	perf_put_trailer(&r->put, SHELL, SHELL, clock_monotonic_ns(), event->id);
	perf_record_end(&r->put);
	recording_write(r, event);
}

static void what_was_lost_is_in_the_bill(void **state)
{
	(void)state;
	struct recording r;
	recording_begin(&r, COLLECT_SYSTEM, "cpu-clock");
	recording_start(&r);
	struct made_up_event *clock = recording_event(&r, "cpu-clock");
	exec(&r, SHELL, "shell");
	sample(&r, "cpu-clock", SHELL, 0x1000, 2);
	put_lost(&r, clock, 7);
	clock->lost = 7; /* which counts: records may be lost themselves */
	put_lost(&r, recording_event(&r, NULL), 6);
	recording_event(&r, NULL)->lost = 5;
	perf_record_begin(&r.put, PERF_RECORD_THROTTLE, 0);
	perf_put_u64(&r.put, clock_monotonic_ns());
	perf_put_u64(&r.put, clock->id);
	perf_put_u64(&r.put, clock->id);
	perf_put_trailer(&r.put, SHELL, SHELL, clock_monotonic_ns(), clock->id);
	perf_record_end(&r.put);
	recording_write(&r, clock);
	/* One that is too short for what it must hold, and one of nobody's. */
	perf_record_begin(&r.put, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
	perf_put_u64(&r.put, clock->id);
	perf_record_end(&r.put);
	recording_write(&r, clock);
	perf_record_begin(&r.put, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
	perf_put_u64(&r.put, 77);
	perf_record_end(&r.put);
	recording_write(&r, clock);
	recording_finish(&r);
	assert_int_equal(recording_billed(&r, "cpu-clock", BILL_STORED), 2);
	assert_int_equal(recording_billed(&r, "cpu-clock", BILL_LOST_RING), 7);
	assert_int_equal(recording_billed(&r, "cpu-clock", BILL_LOST_DAMAGED), 1);
	assert_int_equal(recording_billed(&r, "cpu-clock", BILL_RUNS), 10);
	assert_int_equal(recording_billed(&r, "cpu-clock", BILL_THROTTLED), 1);
	assert_int_equal(recording_billed(&r, NULL, BILL_LOST_SIDEBAND), 5);
	recording_end(&r);
}

static int no_count_of_losses(const struct perf_event_attr *attr, pid_t task, int cpu)
{
	(void)task;
	(void)cpu;
	return attr->read_format & PERF_FORMAT_LOST ? -EINVAL : 0;
}

static void an_older_kernel_tells_of_losses_by_records_alone(void **state)
{
	(void)state;
	struct recording r;
	recording_begin(&r, COLLECT_SYSTEM, "cpu-clock");
	made_up.judge = no_count_of_losses;
	recording_start(&r);
	exec(&r, SHELL, "shell");
	sample(&r, "cpu-clock", SHELL, 0x1000, 2);
	put_lost(&r, recording_event(&r, "cpu-clock"), 7);
	recording_finish(&r);
	assert_int_equal(recording_billed(&r, "cpu-clock", BILL_LOST_RING), 7);
	assert_int_equal(recording_billed(&r, "cpu-clock", BILL_RUNS), 9);
	recording_end(&r);
}

static void records_go_on_where_the_ring_begins_anew(void **state)
{
	(void)state;
	struct recording r;
	recording_begin(&r, COLLECT_SYSTEM, "cpu-clock");
	r.options.ring_pages = 1;
	recording_start(&r);
	exec(&r, SHELL, "shell");
	/* 40 bytes each: 4096 / 40 leaves a rest, so that one lies at both ends each time. */
	const struct perf_event_mmap_page *control =
		made_up_control(recording_event(&r, "cpu-clock"));
	for (int turn = 0; turn < 5; turn++) {
		sample(&r, "cpu-clock", SHELL, 0x1000, 100);
		assert_int_equal(collector_service(r.collector, &r.err), 0);
		assert_int_equal(control->data_tail, control->data_head);
	}
	assert_true(control->data_head > 4 * 4096);
	recording_finish(&r);
	assert_int_equal(recording_billed(&r, "cpu-clock", BILL_STORED), 500);
	assert_int_equal(recording_cells(&r, "cpu-clock", "shell", NULL).samples, 500);
	assert_int_equal(recording_billed(&r, "cpu-clock", BILL_LOST_DAMAGED), 0);
	recording_end(&r);
}

static void a_ring_whose_ends_make_no_sense_ends_it(void **state)
{
	(void)state;
	struct recording r;
	recording_begin(&r, COLLECT_SYSTEM, "cpu-clock");
	recording_start(&r);
	made_up_control(recording_event(&r, "cpu-clock"))->data_head = UINT64_C(1) << 40;
	assert_int_equal(collector_service(r.collector, &r.err), -EOVERFLOW);
	assert_string_equal(r.err.text, "a perf ring cannot be read: Value too large for defined "
					"data type");
	recording_end(&r);
}

/* How many processes of that name have contexts of their own; those without a number are one. */
static size_t processes_called(const struct recording *r, const char *comm)
{
	const struct table *contexts = profile_table(r->got, PROFILE_CONTEXT);
	size_t count = 0;
	for (size_t row = 1; row <= contexts->count; row++)
		count += span_equal(profile_context(r->got, row).comm, span_of_text(comm));
	return count;
}

/* Ten processes of each, of which one kind is chosen by name, another by what it maps, in the
 * middle of its life; the same is counted as without a choice. */
static void only_chosen_processes_have_contexts_of_their_own(void **state)
{
	(void)state;
	static const char *const kept[] = { "server", "image:/nowhere/library.so" };
	for (size_t choices = 0; choices <= 2; choices += 2) {
		struct recording r;
		recording_begin(&r, COLLECT_SYSTEM, "cpu-clock");
		r.options.kept = kept;
		r.options.kept_count = choices;
		recording_start(&r);
		for (uint32_t i = 0; i < 10; i++) {
			static const char *const names[] = { "server", "cc", "loader" };
			for (uint32_t kind = 0; kind < 3; kind++) {
				uint32_t pid = SHELL + 3 * i + kind;
				exec(&r, pid, names[kind]);
				sample(&r, "cpu-clock", pid, 0x1000, 2);
				if (kind == 2)
					recording_map(&r, pid, LIBRARY, 0x10000,
						      "/nowhere/library.so");
				sample(&r, "cpu-clock", pid, 0x1000, 3);
				/* a new program is nothing that was chosen */
				if (kind == 2) {
					recording_comm(&r, pid, pid, "cc", true);
					sample(&r, "cpu-clock", pid, 0x1000, 1);
				}
			}
		}
		recording_finish(&r);
		assert_int_equal(processes_called(&r, "server"), choices ? 10 : 1);
		assert_int_equal(processes_called(&r, "cc"), 1);
		assert_int_equal(processes_called(&r, "loader"), choices ? 10 + 1 : 1);
		assert_int_equal(recording_cells(&r, "cpu-clock", "server", NULL).samples, 50);
		assert_int_equal(recording_cells(&r, "cpu-clock", "cc", NULL).samples, 60);
		assert_int_equal(recording_cells(&r, "cpu-clock", "loader", NULL).samples, 50);
		assert_int_equal(recording_cells(&r, "cpu-clock", NULL, NULL).samples, 160);
		recording_end(&r);
	}
}

static void an_epoch_has_what_came_since_the_one_before(void **state)
{
	(void)state;
	struct recording r;
	recording_begin(&r, COLLECT_SYSTEM, "cpu-clock");
	r.options.identity = COLLECT_PER_PROCESS | COLLECT_PER_THREAD | COLLECT_PER_CPU;
	recording_start(&r);
	exec(&r, SHELL, "shell");
	recording_fork(&r, SHELL, THREAD, SHELL);
	recording_comm(&r, SHELL, THREAD, "helper", false);
	const struct made_up_sample early = {
		.pid = SHELL, .tid = THREAD, .ip = 0x1000, .misc = PERF_RECORD_MISC_USER
	};
	recording_sample(&r, "cpu-clock", &early);
	/* What is newer than half a millisecond may have something before it on another CPU. */
	uint64_t sampled_ns = clock_monotonic_ns();
	while (clock_monotonic_ns() - sampled_ns < 2000000)
		;
	recording_end_epoch(&r);
	assert_int_equal(recording_cells(&r, "cpu-clock", "shell", NULL).samples, 1);
	sample(&r, "cpu-clock", SHELL, 0x1000, 3);
	recording_finish(&r);
	assert_int_equal(recording_cells(&r, "cpu-clock", "shell", NULL).samples, 4);
	const struct table *sources = profile_table(r.got, PROFILE_SOURCE);
	assert_int_equal(sources->count, 2);
	for (size_t row = 0; row < 2; row++) {
		struct profile_source source = profile_source(r.got, row);
		assert_int_equal(source.epoch, row);
		assert_true(source.duration_ns > 0 && source.start_ns > 0);
		assert_true(span_equal(source.tool, span_of_text("culprit " CULPRIT_VERSION)));
	}
	const struct table *contexts = profile_table(r.got, PROFILE_CONTEXT);
	bool seen = false;
	for (size_t row = 1; row <= contexts->count; row++) {
		struct profile_context context = profile_context(r.got, row);
		seen |= context.tid == optional_of(THREAD) && context.pid == optional_of(SHELL) &&
			context.cpu == optional_of(0) &&
			span_equal(context.thread, span_of_text("helper"));
	}
	assert_true(seen);
	recording_end(&r);
}

static void stacks_are_kept_beside_their_leaves(void **state)
{
	(void)state;
	struct recording r;
	recording_begin(&r, COLLECT_SYSTEM, "cpu-clock");
	r.options.stacks = COLLECT_STACKS_FRAME_POINTERS;
	recording_start(&r);
	exec(&r, SHELL, "shell");
	recording_map(&r, SHELL, LIBRARY, 0x10000, "/nowhere/library.so");
	const uint64_t chain[] = { (uint64_t)PERF_CONTEXT_USER, LIBRARY + 0x10, LIBRARY + 0x20,
				   LIBRARY + 0x30 };
	struct made_up_sample sampled = { .pid = SHELL,
					  .tid = SHELL,
					  .ip = LIBRARY + 0x10,
					  .misc = PERF_RECORD_MISC_USER,
					  .chain = chain,
					  .depth = 4 };
	recording_sample(&r, "cpu-clock", &sampled);
	recording_sample(&r, "cpu-clock", &sampled);
	sampled.depth = 3;
	recording_sample(&r, "cpu-clock", &sampled);
	recording_finish(&r);
	const struct table *stacks = profile_table(r.got, PROFILE_STACK);
	assert_int_equal(stacks->count, 2);
	for (size_t row = 0; row < 2; row++) {
		uint32_t node = (uint32_t)table_keys(stacks, row)[STACK_NODE], depth = 0;
		for (uint32_t parent; node; node = parent, depth++)
			profile_node(r.got, node, &parent);
		assert_int_equal(table_values(stacks, row)[CELL_SAMPLES], depth == 3 ? 2 : 1);
	}
	assert_int_equal(recording_cells(&r, "cpu-clock", "shell", "/nowhere/library.so").samples,
			 3);
	recording_end(&r);
}

/* As many calls as this test's PMU keeps. */
#define CALLS_KEPT 3u
unsigned __wrap_probe_branch_depth(const char *pmu);
unsigned __wrap_probe_branch_depth(const char *pmu)
{
	(void)pmu;
	return CALLS_KEPT;
}

/* Where the frames of a stack are, innermost first; "?" for a cause. */
static void text_of_stack(const struct recording *r, uint32_t node, char *text, size_t size)
{
	size_t at = 0;
	text[0] = 0;
	for (uint32_t parent; node; node = parent) {
		struct profile_frame frame = profile_node(r->got, node, &parent);
		const char *between = at ? " " : "";
		at += frame.vaddr ? (size_t)snprintf(text + at, size - at, "%s%" PRIx64, between,
						     frame.vaddr)
				  : (size_t)snprintf(text + at, size - at, "%s?", between);
		assert_true(at < size);
	}
}

static void calls_that_the_cpu_keeps_are_stacks(void **state)
{
	(void)state;
	struct recording r;
	recording_begin(&r, COLLECT_SYSTEM, "cpu-clock");
	r.options.stacks = COLLECT_STACKS_BRANCHES;
	recording_start(&r);
	const struct perf_event_attr *attr = &recording_event(&r, "cpu-clock")->attr;
	assert_true(attr->sample_type & PERF_SAMPLE_BRANCH_STACK);
	assert_true(attr->sample_type & PERF_SAMPLE_CALLCHAIN && attr->exclude_callchain_user);
	assert_int_equal(attr->branch_sample_type & ~(uint64_t)(PERF_SAMPLE_BRANCH_NO_FLAGS |
								PERF_SAMPLE_BRANCH_NO_CYCLES),
			 PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_CALL_STACK);
	exec(&r, SHELL, "shell");
	recording_map(&r, SHELL, LIBRARY, 0x10000, "/nowhere/library.so");
	/* The newest call went from 0x205 to 0x100, the one before from 0x305 to 0x200. */
	const uint64_t calls[] = { LIBRARY + 0x205, LIBRARY + 0x100, 0,
				   LIBRARY + 0x305, LIBRARY + 0x200, 0,
				   LIBRARY + 0x405, LIBRARY + 0x300, 0 };
	struct made_up_sample sampled = { .pid = SHELL,
					  .tid = SHELL,
					  .ip = LIBRARY + 0x110,
					  .misc = PERF_RECORD_MISC_USER,
					  .branches = calls,
					  .branch_count = 2 };
	recording_sample(&r, "cpu-clock", &sampled);
	sampled.branch_count = CALLS_KEPT;
	recording_sample(&r, "cpu-clock", &sampled);
	recording_sample(&r, "cpu-clock", &sampled);
	sampled.branch_count = 0;
	recording_sample(&r, "cpu-clock", &sampled);
	recording_finish(&r);
	const struct table *stacks = profile_table(r.got, PROFILE_STACK);
	/* What calls were kept of, what fills the CPU's room, and what came without. */
	static const struct {
		const char *text;
		uint64_t samples;
	} expected[] = { { "110 205 305", 1 }, { "110 205 305 405 ?", 2 }, { "110 ?", 1 } };
	assert_int_equal(stacks->count, 3);
	for (size_t row = 0; row < 3; row++) {
		char text[512];
		size_t i = 0;
		text_of_stack(&r, (uint32_t)table_keys(stacks, row)[STACK_NODE], text,
			      sizeof(text));
		while (i < 3 && strcmp(text, expected[i].text) != 0)
			i++;
		if (i == 3)
			fail_msg("a stack is '%s'", text);
		assert_int_equal(table_values(stacks, row)[CELL_SAMPLES], expected[i].samples);
	}
	assert_int_equal(recording_billed(&r, "cpu-clock", BILL_STACKS_CUT), 2);
	recording_end(&r);
}

/* News about processes wake us at once, and not again for a while. */
static void who_waits_is_woken_by_news_and_by_the_clock(void **state)
{
	(void)state;
	struct recording r;
	recording_begin(&r, COLLECT_SYSTEM, "cpu-clock");
	assert_int_equal(recording_open(&r), 0);
	struct pollfd waiting = { collector_poll_fd(r.collector), POLLIN, 0 };
	assert_int_equal(poll(&waiting, 1, 0), 0); /* nothing counts yet */
	assert_false(recording_event(&r, "cpu-clock")->counts);
	assert_int_equal(collector_start(r.collector, &r.err), 0);
	assert_true(recording_event(&r, "cpu-clock")->counts);
	exec(&r, SHELL, "shell");
	made_up_wake(recording_event(&r, NULL));
	assert_int_equal(poll(&waiting, 1, 0), 1);
	/* The event is as ready as it was, and for 5 ms nobody is woken by it. On a machine that
	 * does something else meanwhile those are over, or the clock is due: then once more. */
	int ready = 1;
	for (int tries = 0; tries < 20 && ready != 0; tries++) {
		assert_int_equal(collector_service(r.collector, &r.err), 0);
		ready = poll(&waiting, 1, 0);
	}
	assert_int_equal(ready, 0);
	assert_int_equal(poll(&waiting, 1, 10000), 1); /* 5 ms later */
	assert_int_equal(collector_service(r.collector, &r.err), 0);
	assert_int_equal(poll(&waiting, 1, 0), 1);
	assert_true(collector_alive(r.collector));
	recording_finish(&r);
	assert_false(recording_event(&r, "cpu-clock")->counts);
	recording_end(&r);
}

/* Read twice in a moment its counters would stand still, as those of a CPU that was away. */
static void a_drain_in_which_weights_are_due_takes_no_cpu_for_away(void **state)
{
	(void)state;
	struct recording r;
	recording_begin(&r, COLLECT_SYSTEM, "page-faults");
	recording_start(&r);
	struct made_up_event *faults = recording_event(&r, "page-faults");
	struct pollfd waiting = { collector_poll_fd(r.collector), POLLIN, 0 };
	assert_int_equal(poll(&waiting, 1, 10000), 1); /* for the clock */
	faults->value = 100;
	faults->enabled_ns = faults->running_ns = 100000000;
	recording_drain(&r);
	assert_ptr_equal(recording_event(&r, "page-faults"), faults); /* not opened anew */
	assert_int_equal(recording_billed(&r, "page-faults", BILL_COUNT), 100);
	assert_int_equal(recording_billed(&r, NULL, BILL_OFFLINE_NS), -1);
	recording_end(&r);
}

static int user_code_alone(const struct perf_event_attr *attr, pid_t task, int cpu)
{
	(void)task;
	(void)cpu;
	return attr->exclude_kernel ? 0 : -EACCES;
}

static int nothing(const struct perf_event_attr *attr, pid_t task, int cpu)
{
	(void)attr;
	(void)task;
	(void)cpu;
	return -EACCES;
}

static void what_may_not_be_sampled_is_said(void **state)
{
	(void)state;
	struct recording r;
	recording_begin(&r, COLLECT_SYSTEM, "cpu-clock");
	r.options.user_only = false;
	made_up.judge = user_code_alone;
	recording_start(&r);
	assert_non_null(strstr(r.notes, "warning: no right to sample the kernel: user code only"));
	exec(&r, SHELL, "shell");
	sample(&r, "cpu-clock", SHELL, 0x1000, 2);
	recording_finish(&r);
	assert_int_equal(recording_cells(&r, "cpu-clock:u", "shell", NULL).samples, 2);
	recording_end(&r);

	recording_begin(&r, COLLECT_SYSTEM, "cpu-clock");
	made_up.judge = nothing;
	assert_int_equal(recording_open(&r), -EACCES);
	assert_non_null(strstr(r.err.text, "cannot sample 'cpu-clock' on CPU 0: "));
	assert_null(r.collector);
	recording_end(&r);
}

static void a_rate_is_chosen_where_the_cost_of_a_sample_cannot_be_told(void **state)
{
	(void)state;
	struct recording r;
	recording_begin(&r, COLLECT_SYSTEM, "cpu-clock");
	r.options.frequency_hz = 0;
	made_up.judge = nothing;
	assert_int_equal(recording_open(&r), -EACCES);
	assert_string_equal(r.notes, "the cost of a sample could not be measured: 499 samples a "
				     "second and CPU\n");
	recording_end(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(samples_are_whose_and_where_records_say),
		cmocka_unit_test(a_hypervisor_and_guests_are_told_apart),
		cmocka_unit_test(the_kernel_its_modules_and_programs_have_names),
		cmocka_unit_test(a_kernel_that_hides_its_addresses_has_none),
		cmocka_unit_test(samples_of_a_leader_bring_what_its_group_has_counted),
		cmocka_unit_test(samples_of_a_member_bring_what_its_leader_has_counted),
		cmocka_unit_test(a_clock_that_does_not_lead_weighs_its_period),
		cmocka_unit_test(what_was_lost_is_in_the_bill),
		cmocka_unit_test(an_older_kernel_tells_of_losses_by_records_alone),
		cmocka_unit_test(records_go_on_where_the_ring_begins_anew),
		cmocka_unit_test(a_ring_whose_ends_make_no_sense_ends_it),
		cmocka_unit_test(only_chosen_processes_have_contexts_of_their_own),
		cmocka_unit_test(an_epoch_has_what_came_since_the_one_before),
		cmocka_unit_test(stacks_are_kept_beside_their_leaves),
		cmocka_unit_test(calls_that_the_cpu_keeps_are_stacks),
		cmocka_unit_test(who_waits_is_woken_by_news_and_by_the_clock),
		cmocka_unit_test(a_drain_in_which_weights_are_due_takes_no_cpu_for_away),
		cmocka_unit_test(what_may_not_be_sampled_is_said),
		cmocka_unit_test(a_rate_is_chosen_where_the_cost_of_a_sample_cannot_be_told),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
