#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <errno.h>

#include "base/cleanup.h"
#include "import/perf_data/perf_data_types.h"
#include "perf_data_fixture.h"
#include "profile/bill.h"

static void reads_samples_with_their_calls(void **state)
{
	(void)state;
	CLEANUP(perf_file_release) struct perf_file file = { 0 };
	const uint64_t chain[] = { PERF_CONTEXT_KERNEL, KERNEL + 0x20, KERNEL + 0x40,
				   PERF_CONTEXT_USER,	TEXT + 0x30,   TEXT + 0x100 };
	begin_usual(&file);
	put_user_sample(&file, 20, 0x30);
	put_user_sample(&file, 21, 0x30);
	put_user_sample(&file, 22, 0x34);
	put_sample(&file, USUAL_TYPE,
		   &(struct sample){ .ip = KERNEL + 0x20,
				     .time = 23,
				     .period = 7,
				     .pid = 7,
				     .mode = PERF_RECORD_MISC_KERNEL,
				     .chain = chain,
				     .depth = 6 });
	perf_file_end(&file);
	must_be(&file,
		"cycles [worker] /bin/worker!0x1100|/bin/worker!0x1030 2 2000\n"
		"cycles [worker] /bin/worker!0x1100|/bin/worker!0x1030|!0x40|!0x20 1 7\n"
		"cycles [worker] /bin/worker!0x1100|/bin/worker!0x1034 1 1000\n",
		"");
}

static void a_sample_may_precede_its_mapping(void **state)
{
	(void)state;
	CLEANUP(perf_file_release) struct perf_file file = { 0 };
	perf_file_begin(&file, &cycles, NULL, 1, 128);
	put_user_sample(&file, 20, 0x30); /* one CPU's turn, then the other's */
	perf_put_comm(&file, 7, 7, "worker", true, 10, 0);
	perf_put_mmap(&file, 7, TEXT, 0x10000, 0x1000, "/bin/worker", 11, 0);
	perf_put_empty(&file, PERF_FILE_FINISHED_ROUND);
	perf_put_mmap(&file, 7, TEXT, 0x10000, 0x1000, "/bin/other", 30, 0);
	perf_put_empty(&file, PERF_FILE_FINISHED_ROUND);
	put_user_sample(&file, 40, 0x30);
	put_user_sample(&file, 29, 0x30); /* still before the other mapping */
	perf_file_end(&file);
	must_be(&file,
		"cycles [worker] /bin/other!0x1100|/bin/other!0x1030 1 1000\n"
		"cycles [worker] /bin/worker!0x1100|/bin/worker!0x1030 2 2000\n",
		"");
}

static void samples_belong_to_the_event_of_their_id(void **state)
{
	(void)state;
	struct perf_event_attr attrs[2] = { cycles, cycles };
	const uint64_t ids[] = { 100, 200 };
	attrs[0].sample_type = attrs[1].sample_type = WITH_ID;
	attrs[1].config = PERF_COUNT_HW_INSTRUCTIONS;
	CLEANUP(perf_file_release) struct perf_file file = { 0 };
	perf_file_begin(&file, attrs, ids, 2, 128);
	perf_put_comm(&file, 7, 7, "worker", true, 10, 100);
	perf_put_mmap(&file, 7, TEXT, 0x10000, 0x1000, "/bin/worker", 11, 100);
	static const uint64_t sent[] = { 100, 200, 200, 999 };
	for (size_t i = 0; i < 4; i++)
		put_sample(&file, WITH_ID,
			   &(struct sample){ .ip = TEXT,
					     .time = 20 + i,
					     .id = sent[i],
					     .period = 10,
					     .pid = 7,
					     .mode = PERF_RECORD_MISC_USER });
	perf_file_end(&file);
	must_be(&file,
		"cycles [worker] /bin/worker!0x1000 1 10\n"
		"instructions [worker] /bin/worker!0x1000 2 20\n",
		"warning: 1 samples belong to no event of the file and are left out\n");
}

static uint64_t bill_item(const struct profile *profile, const char *event, const char *item)
{
	const struct table *bill = profile_table(profile, PROFILE_BILL);
	for (size_t row = 0; row < bill->count; row++) {
		const uint64_t *keys = table_keys(bill, row);
		struct span name = keys[BILL_EVENT] ? profile_event(profile, keys[BILL_EVENT]).name
						    : span_of_text("");
		if (span_equal(name, span_of_text(event)) &&
		    span_equal(profile_bytes(profile, keys[BILL_ITEM]), span_of_text(item)))
			return table_values(bill, row)[0];
	}
	return UINT64_MAX;
}

static void group_members_weigh_what_they_advanced_by(void **state)
{
	(void)state;
	struct perf_event_attr attrs[2] = { cycles, cycles };
	const uint64_t ids[] = { 100, 200 };
	for (int i = 0; i < 2; i++) {
		attrs[i].sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
				       PERF_SAMPLE_ID | PERF_SAMPLE_READ;
		attrs[i].read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID | PERF_FORMAT_LOST;
	}
	attrs[1].config = PERF_COUNT_HW_INSTRUCTIONS;
	attrs[1].sample_period = 0;
	CLEANUP(perf_file_release) struct perf_file file = { 0 };
	perf_file_begin(&file, attrs, ids, 2, 136);
	static const uint64_t counts[][2] = { { 1000, 400 }, { 2000, 400 }, { 3500, 1000 } };
	for (size_t i = 0; i < 3; i++) {
		begin_user_sample(&file, 7, 20 + i, 0);
		perf_put_u64(&file, 100);
		perf_put_u64(&file, 2);
		for (size_t k = 0; k < 2; k++) {
			perf_put_u64(&file, counts[i][k]);
			perf_put_u64(&file, ids[k]);
			perf_put_u64(&file, 0); /* lost */
		}
		perf_record_end(&file);
	}
	perf_file_end(&file);
	CLEANUP(outcome_release) struct outcome outcome = { 0 };
	CLEANUP(buffer_release) struct buffer leaves = { 0 };
	read_file(&file, SIZE_MAX, false, &outcome);
	assert_string_equal(outcome.err.text, "");
	imported_leaves(outcome.profile, &leaves);
	assert_string_equal(buffer_text(&leaves), "cycles ?process not seen!0x0 3 3500\n"
						  "instructions ?process not seen!0x0 - 1000\n");
	/* the second sample read that it had not advanced */
	assert_int_equal(bill_item(outcome.profile, "instructions", BILL_READS), 2);
	assert_int_equal(bill_item(outcome.profile, "cycles", BILL_STORED), 3);
}

/* What was counted while samples were lost belongs to none of those that came, but goes to the
 * bill; the leader's sample stands for its period all the same. */
static void what_was_counted_across_lost_samples_is_billed(void **state)
{
	(void)state;
	struct perf_event_attr attrs[2] = { cycles, cycles };
	const uint64_t ids[] = { 100, 200 };
	for (int i = 0; i < 2; i++) {
		attrs[i].sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
				       PERF_SAMPLE_ID | PERF_SAMPLE_PERIOD | PERF_SAMPLE_READ;
		attrs[i].read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID |
				       PERF_FORMAT_TOTAL_TIME_ENABLED |
				       PERF_FORMAT_TOTAL_TIME_RUNNING;
	}
	attrs[1].config = PERF_COUNT_HW_INSTRUCTIONS;
	attrs[1].sample_period = 0;
	for (int lost = 0; lost < 2; lost++) {
		CLEANUP(perf_file_release) struct perf_file file = { 0 };
		perf_file_begin(&file, attrs, ids, 2, 136);
		/* the group ran half of the time from the second sample on */
		static const uint64_t counts[][3] = { { 1000, 400, 10 },
						      { 2000, 700, 20 },
						      { 6000, 1700, 40 } };
		static const uint64_t running[] = { 10, 20, 30 };
		for (size_t i = 0; i < 3; i++) {
			begin_user_sample(&file, 7, 20 + 2 * i, 0);
			perf_put_u64(&file, 100);
			perf_put_u64(&file, 1000);
			perf_put_u64(&file, 2);
			perf_put_u64(&file, counts[i][2]); /* enabled */
			perf_put_u64(&file, running[i]);
			for (size_t k = 0; k < 2; k++) {
				perf_put_u64(&file, counts[i][k]);
				perf_put_u64(&file, ids[k]);
			}
			perf_record_end(&file);
			if (i != 1 || !lost)
				continue;
			perf_record_begin(&file, PERF_RECORD_LOST, 0);
			perf_put_u64(&file, 100);
			perf_put_u64(&file, 3);
			perf_put_trailer(&file, 7, 7, 23, 100);
			perf_record_end(&file);
		}
		perf_file_end(&file);
		CLEANUP(outcome_release) struct outcome outcome = { 0 };
		CLEANUP(buffer_release) struct buffer leaves = { 0 };
		read_file(&file, SIZE_MAX, false, &outcome);
		imported_leaves(outcome.profile, &leaves);
		assert_string_equal(buffer_text(&leaves),
				    lost ? "cycles ?process not seen!0x0 3 3000\n"
					   "instructions ?process not seen!0x0 - 700\n"
					 : "cycles ?process not seen!0x0 3 10000\n"
					   "instructions ?process not seen!0x0 - 2700\n");
		assert_int_equal(bill_item(outcome.profile, "cycles", BILL_LOST_ESTIMATE),
				 lost ? 7000 : UINT64_MAX);
		assert_int_equal(bill_item(outcome.profile, "instructions", BILL_LOST_ESTIMATE),
				 lost ? 2000 : UINT64_MAX);
	}
}

static void call_stacks_of_the_hardware_are_the_users_calls(void **state)
{
	(void)state;
	struct perf_event_attr attr = cycles;
	attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
			   PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_BRANCH_STACK;
	attr.branch_sample_type = PERF_SAMPLE_BRANCH_USER | PERF_BRANCH_CALL_STACK;
	CLEANUP(perf_file_release) struct perf_file file = { 0 };
	begin_file_of(&file, &attr);
	begin_user_sample(&file, 7, 20, 0x55);
	perf_put_u64(&file, 2); /* chain */
	perf_put_u64(&file, PERF_CONTEXT_USER);
	perf_put_u64(&file, TEXT + 0x55);
	perf_put_u64(&file, 2); /* branches, newest first */
	static const uint64_t branches[] = { 0x210, 0x50, 0, 0x110, 0x200, 0 };
	for (size_t i = 0; i < 6; i++)
		perf_put_u64(&file, i % 3 == 2 ? 0 : TEXT + branches[i]);
	perf_record_end(&file);
	perf_file_end(&file);
	must_be(&file,
		"cycles [worker] /bin/worker!0x1110|/bin/worker!0x1210|/bin/worker!0x1050 1 1000\n",
		"");
}

/* Chains that the kernel followed by frame pointers may break; those of stacks, unwound by tables,
 * or of the CPU's records of calls are another matter. */
static void how_stacks_were_made_is_in_the_bill(void **state)
{
	(void)state;
	static const struct {
		uint64_t sample_type, branch_sample_type, followed;
	} ways[] = {
		{ PERF_SAMPLE_CALLCHAIN, 0, 1 },
		{ 0, 0, UINT64_MAX },
		{ PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_BRANCH_STACK,
		  PERF_SAMPLE_BRANCH_USER | PERF_BRANCH_CALL_STACK, UINT64_MAX },
		{ PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER, 0,
		  UINT64_MAX },
	};
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		struct perf_event_attr attr = cycles;
		uint64_t type = ways[i].sample_type;
		attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | type;
		attr.branch_sample_type = ways[i].branch_sample_type;
		CLEANUP(perf_file_release) struct perf_file file = { 0 };
		begin_file_of(&file, &attr);
		begin_user_sample(&file, 7, 20, 0x55);
		if (type & PERF_SAMPLE_CALLCHAIN)
			perf_put_u64(&file, 0);
		if (type & PERF_SAMPLE_BRANCH_STACK)
			perf_put_u64(&file, 0);
		if (type & PERF_SAMPLE_REGS_USER)
			perf_put_u64(&file, PERF_SAMPLE_REGS_ABI_NONE);
		if (type & PERF_SAMPLE_STACK_USER)
			perf_put_u64(&file, 0); /* size */
		perf_record_end(&file);
		perf_file_end(&file);
		CLEANUP(outcome_release) struct outcome outcome = { 0 };
		read_file(&file, SIZE_MAX, false, &outcome);
		assert_string_equal(outcome.err.text, "");
		assert_int_equal(bill_item(outcome.profile, "cycles", BILL_STORED), 1);
		assert_int_equal(bill_item(outcome.profile, "cycles", BILL_STACKS_FOLLOWED),
				 ways[i].followed);
	}
}

static void branches_become_edges_and_ranges(void **state)
{
	(void)state;
	for (int big = 0; big < 2; big++) {
		struct perf_event_attr attr = cycles;
		attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
				   PERF_SAMPLE_BRANCH_STACK;
		attr.branch_sample_type = PERF_SAMPLE_BRANCH_ANY;
		CLEANUP(perf_file_release) struct perf_file file = { .big_endian = big };
		CLEANUP(outcome_release) struct outcome outcome = { 0 };
		begin_file_of(&file, &attr);
		begin_user_sample(&file, 7, 20, 0);
		perf_put_u64(&file, 3);
		/* newest: mispredicted, 9 cycles; then one of a wrong path; then the oldest */
		const uint64_t flags[] = { big ? UINT64_C(1) << 63 | UINT64_C(9) << 44 : 1 | 9 << 4,
					   big ? UINT64_C(1) << 38 : 1 << 24, 0 };
		static const uint64_t ends[][2] = { { 0x40, 0x80 }, { 0x5, 0x6 }, { 0x10, 0x30 } };
		for (size_t i = 0; i < 3; i++) {
			perf_put_u64(&file, TEXT + ends[i][0]);
			perf_put_u64(&file, TEXT + ends[i][1]);
			perf_put_u64(&file, flags[i]);
		}
		perf_record_end(&file);
		perf_add_feature_text(&file, PERF_FEATURE_HOSTNAME, "web7");
		perf_file_end(&file);
		read_file(&file, SIZE_MAX, false, &outcome);
		assert_string_equal(outcome.err.text, "");
		assert_string_equal(
			buffer_text(&outcome.said),
			"note: 1 branches were fetched but not taken and are left out\n");
		const struct table *edges = profile_table(outcome.profile, PROFILE_EDGE);
		const struct table *ranges = profile_table(outcome.profile, PROFILE_RANGE);
		assert_int_equal(edges->count, 2);
		assert_int_equal(table_keys(edges, 0)[EDGE_FROM_VADDR], 0x1040);
		assert_int_equal(table_keys(edges, 0)[EDGE_TO_VADDR], 0x1080);
		assert_int_equal(table_values(edges, 0)[1], 1);
		assert_int_equal(table_values(edges, 1)[1], 0);
		assert_int_equal(ranges->count, 1);
		assert_int_equal(table_keys(ranges, 0)[RANGE_FIRST], 0x1030);
		assert_int_equal(table_keys(ranges, 0)[RANGE_LAST], 0x1040);
		assert_int_equal(table_values(ranges, 0)[1], 9);
		assert_int_equal(table_values(ranges, 0)[2], 81);
	}
}

static void put_kernel_sample(struct perf_file *file, uint64_t time, const uint64_t *chain,
			      size_t depth)
{
	put_sample(file, USUAL_TYPE,
		   &(struct sample){ .ip = KERNEL + 0x20,
				     .time = time,
				     .period = 1,
				     .pid = 7,
				     .mode = PERF_RECORD_MISC_KERNEL,
				     .chain = chain,
				     .depth = depth });
}

/* Marks say whose the following addresses are; what a broken frame pointer finds may look like one.
 */
static void marks_in_chains_are_no_frames(void **state)
{
	(void)state;
	const uint64_t deferred = (uint64_t)-640, none = (uint64_t)-3;
	const uint64_t later[] = { PERF_CONTEXT_KERNEL, KERNEL + 0x20, deferred, 77 };
	const uint64_t broken[] = { PERF_CONTEXT_KERNEL, KERNEL + 0x20, PERF_CONTEXT_USER,
				    TEXT + 0x30,	 deferred,	0,
				    TEXT + 0x100 };
	const uint64_t zero[] = { PERF_CONTEXT_KERNEL, KERNEL + 0x20, PERF_CONTEXT_USER, none, 0 };
	CLEANUP(perf_file_release) struct perf_file file = { 0 };
	begin_usual(&file);
	put_kernel_sample(&file, 20, later, 4);
	put_kernel_sample(&file, 21, broken, 7);
	put_kernel_sample(&file, 22, zero, 5);
	perf_file_end(&file);
	must_be(&file,
		"cycles [worker] /bin/worker!0x1100|?no mapping!0x0|/bin/worker!0x1030|!0x20 1 1\n"
		"cycles [worker] ?no mapping!0x0|!0x20 1 1\n"
		"cycles [worker] ?user stack not unwound!0x0|!0x20 1 1\n",
		"");
}

/* A sample that waits to be unwound keeps what its process had mapped before its exec. */
static void samples_that_wait_keep_the_mappings_before_an_exec(void **state)
{
	(void)state;
	struct perf_event_attr attr = cycles;
	attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
			   PERF_SAMPLE_PERIOD | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
	CLEANUP(perf_file_release) struct perf_file file = { 0 };
	begin_file_of(&file, &attr);
	perf_put_comm(&file, 7, 7, "next", true, 12, 0);
	begin_user_sample(&file, 7, 13, 0x30);
	perf_put_u64(&file, 5);
	perf_put_u64(&file, PERF_SAMPLE_REGS_ABI_NONE);
	perf_put_u64(&file, 0); /* bytes of the stack */
	perf_record_end(&file);
	for (uint64_t time = 14; time < 17; time++) {
		perf_put_comm(&file, 7, 7, "later", true, time, 0);
		perf_put_mmap(&file, 7, TEXT, 0x1000, 0, "/bin/later", time, 0);
	}
	perf_file_end(&file);
	CLEANUP(outcome_release) struct outcome outcome = { 0 };
	read_file(&file, SIZE_MAX, false, &outcome);
	assert_string_equal(outcome.err.text, "");
	struct buffer flat = { 0 };
	imported_leaves(outcome.profile, &flat);
	assert_string_equal(buffer_text(&flat), "cycles [next] /bin/worker!0x1030 1 5\n");
	buffer_release(&flat);
}

/* arm64 signs return addresses above those that a process has, be they of 39 bits; on x86-64 such a
 * word is no address. */
static void only_arm64_signs_addresses(void **state)
{
	(void)state;
	const uint64_t signature = UINT64_C(0x12345) << 38, kernels = UINT64_C(0x80) << 48;
	const uint64_t arm64_kernel = 0xffff800080000000;
	const uint64_t calls[] = { PERF_CONTEXT_USER, TEXT + 0x30, (TEXT + 0x100) | signature };
	const uint64_t broken[] = { PERF_CONTEXT_USER, TEXT + 0x30, (TEXT + 0x100) | kernels };
	struct sample sample = { .ip = TEXT + 0x30,
				 .time = 20,
				 .period = 1000,
				 .pid = 7,
				 .mode = PERF_RECORD_MISC_USER,
				 .chain = calls,
				 .depth = 3 };
	for (int arm64 = 0; arm64 < 2; arm64++) {
		CLEANUP(perf_file_release) struct perf_file file = { 0 };
		perf_file_begin(&file, &cycles, NULL, 1, 128);
		uint64_t kernel = arm64 ? arm64_kernel : KERNEL;
		perf_put_mmap(&file, UINT32_MAX, kernel, 0x1000000, kernel,
			      "[kernel.kallsyms]_text", 0, 0);
		perf_put_comm(&file, 7, 7, "worker", true, 10, 0);
		perf_put_mmap(&file, 7, TEXT, 0x10000, 0x1000, "/bin/worker", 11, 0);
		sample.chain = calls;
		put_sample(&file, USUAL_TYPE, &sample);
		sample.chain = broken;
		sample.time++;
		put_sample(&file, USUAL_TYPE, &sample);
		perf_file_end(&file);
		must_be(&file,
			arm64 ? "cycles [worker] /bin/worker!0x1100|/bin/worker!0x1030 1 1000\n"
				"cycles [worker] ?no mapping!0x0|/bin/worker!0x1030 1 1000\n"
			      : "cycles [worker] ?no mapping!0x0|/bin/worker!0x1030 2 2000\n",
			"");
	}
}

static void put_fork(struct perf_file *file, uint16_t misc, uint32_t pid, uint64_t time)
{
	perf_record_begin(file, PERF_RECORD_FORK, misc);
	perf_put_u32(file, pid);
	perf_put_u32(file, 7); /* parent */
	perf_put_u32(file, pid);
	perf_put_u32(file, 7);
	perf_put_u64(file, time);
	perf_put_u32(file, pid); /* sample id */
	perf_put_u32(file, pid);
	perf_put_u64(file, time);
	perf_record_end(file);
}

static void what_ran_before_the_recording_inherits_no_mappings(void **state)
{
	(void)state;
	CLEANUP(perf_file_release) struct perf_file file = { 0 };
	begin_usual(&file);
	put_fork(&file, PERF_RECORD_MISC_FORK_EXEC, 8, 12);
	put_fork(&file, 0, 9, 12);
	const uint64_t chain[] = { PERF_CONTEXT_USER, TEXT + 0x30, TEXT + 0x100 };
	struct sample sample = { .ip = TEXT + 0x30,
				 .time = 20,
				 .period = 1000,
				 .mode = PERF_RECORD_MISC_USER,
				 .chain = chain,
				 .depth = 3 };
	for (sample.pid = 8; sample.pid < 10; sample.pid++)
		put_sample(&file, USUAL_TYPE, &sample);
	perf_file_end(&file);
	must_be(&file,
		"cycles [worker] /bin/worker!0x1100|/bin/worker!0x1030 1 1000\n"
		"cycles [worker] ?no mapping!0x0|?no mapping!0x0 1 1000\n",
		"");
}

static void start_up_code_behind_the_kernels_text_is_the_kernels(void **state)
{
	(void)state;
	const uint64_t end = KERNEL + 0x1000000;
	const uint64_t calls[] = { PERF_CONTEXT_KERNEL, KERNEL + 0x30, end + 0x2000000,
				   end + 0x40000000 };
	const struct sample sample = { .ip = KERNEL + 0x30,
				       .time = 20,
				       .period = 1000,
				       .pid = 0,
				       .mode = PERF_RECORD_MISC_KERNEL,
				       .chain = calls,
				       .depth = 4 };
	CLEANUP(perf_file_release) struct perf_file file = { 0 };
	perf_file_begin(&file, &cycles, NULL, 1, 128);
	perf_put_mmap(&file, UINT32_MAX, KERNEL, 0x1000000, KERNEL, "[kernel.kallsyms]_text", 0, 0);
	put_sample(&file, USUAL_TYPE, &sample);
	perf_file_end(&file);
	must_be(&file,
		"cycles [swapper] ?kernel address outside all text!0x0|!0x3000000|!0x30 1 1000\n",
		"");
}

static void losses_reach_the_bill(void **state)
{
	(void)state;
	CLEANUP(perf_file_release) struct perf_file file = { 0 };
	CLEANUP(outcome_release) struct outcome outcome = { 0 };
	begin_usual(&file);
	put_user_sample(&file, 20, 0x30);
	perf_record_begin(&file, PERF_RECORD_LOST_SAMPLES, 0);
	perf_put_u64(&file, 4);
	perf_put_trailer(&file, 7, 7, 21, 0);
	perf_record_end(&file);
	for (int i = 0; i < 2; i++) {
		perf_record_begin(&file, i ? PERF_RECORD_UNTHROTTLE : PERF_RECORD_THROTTLE, 0);
		for (int k = 0; k < 3; k++)
			perf_put_u64(&file, 0);
		perf_put_trailer(&file, 7, 7, 22, 0);
		perf_record_end(&file);
	}
	perf_record_begin(&file, PERF_RECORD_AUX, 0);
	for (int k = 0; k < 3; k++)
		perf_put_u64(&file, 1); /* the flags: truncated */
	perf_put_trailer(&file, 7, 7, 23, 0);
	perf_record_end(&file);
	perf_record_begin(&file, PERF_RECORD_MMAP, PERF_RECORD_MISC_PROC_MAP_PARSE_TIMEOUT | 2);
	perf_put_u32(&file, 9);
	perf_put_u32(&file, 9);
	for (int k = 0; k < 4; k++)
		perf_put_u64(&file, 0);
	perf_put_trailer(&file, 9, 9, 24, 0);
	perf_record_end(&file);
	perf_file_end(&file);
	read_file(&file, SIZE_MAX, false, &outcome);
	assert_string_equal(outcome.err.text, "");
	assert_int_equal(bill_item(outcome.profile, "", BILL_TRACE_CUT), 1);
	assert_int_equal(bill_item(outcome.profile, "", BILL_MAPS_CUT), 1);
	assert_int_equal(bill_item(outcome.profile, "cycles", BILL_STORED), 1);
	assert_int_equal(bill_item(outcome.profile, "cycles", BILL_RUNS), 5);
	assert_int_equal(bill_item(outcome.profile, "cycles", BILL_LOST_HARDWARE), 4);
	assert_int_equal(bill_item(outcome.profile, "cycles", BILL_LOST_RING), 0);
	assert_int_equal(bill_item(outcome.profile, "cycles", BILL_THROTTLED), 1);
}

static void guests_are_kept_apart(void **state)
{
	(void)state;
	struct perf_event_attr attr = cycles;
	attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
	CLEANUP(perf_file_release) struct perf_file file = { 0 };
	CLEANUP(outcome_release) struct outcome outcome = { 0 };
	CLEANUP(buffer_release) struct buffer leaves = { 0 };
	perf_file_begin(&file, &attr, NULL, 1, 128);
	for (uint16_t mode = PERF_RECORD_MISC_HYPERVISOR; mode <= PERF_RECORD_MISC_GUEST_USER;
	     mode++)
		put_sample(&file, 0,
			   &(struct sample){ .ip = 0x99, .time = mode, .pid = 7, .mode = mode });
	perf_file_end(&file);
	read_file(&file, SIZE_MAX, false, &outcome);
	imported_leaves(outcome.profile, &leaves);
	assert_string_equal(buffer_text(&leaves),
			    "cycles ?guest kernel of a virtual machine!0x0 1 1000\n"
			    "cycles ?guest user code of a virtual machine!0x0 1 1000\n"
			    "cycles ?hypervisor!0x0 1 1000\n");
	assert_string_equal(
		buffer_text(&outcome.said),
		"note: 2 samples are of virtual machines' guests, whose code the file does "
		"not name\n");
}

#define CONTAINER "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void contexts_are_names_and_control_groups(void **state)
{
	(void)state;
	struct perf_event_attr attr = cycles;
	attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CGROUP;
	CLEANUP(perf_file_release) struct perf_file file = { 0 };
	CLEANUP(outcome_release) struct outcome outcome = { 0 };
	begin_file_of(&file, &attr);
	perf_put_comm(&file, 7, 8, "helper", false, 12, 0);
	perf_record_begin(&file, PERF_RECORD_CGROUP, 0);
	perf_put_u64(&file, 55);
	perf_put_text(&file, "/docker/" CONTAINER);
	perf_put_trailer(&file, 7, 7, 13, 0);
	perf_record_end(&file);
	for (uint32_t tid = 7; tid < 9; tid++) {
		begin_user_sample(&file, tid, 20, 0);
		perf_put_u64(&file, tid == 8 ? 55 : 56);
		perf_record_end(&file);
	}
	perf_file_end(&file);
	read_file(&file, SIZE_MAX, false, &outcome);
	assert_string_equal(outcome.err.text, "");
	assert_int_equal(profile_table(outcome.profile, PROFILE_CONTEXT)->count, 2);
	struct profile_context main = profile_context(outcome.profile, 1);
	struct profile_context helper = profile_context(outcome.profile, 2);
	assert_true(span_equal(main.comm, span_of_text("worker")));
	assert_null(main.thread.data);
	assert_null(main.cgroup.data);
	assert_true(span_equal(helper.comm, span_of_text("worker")));
	assert_true(span_equal(helper.thread, span_of_text("helper")));
	assert_null(main.container.data);
	assert_true(span_equal(helper.cgroup, span_of_text("/docker/" CONTAINER)));
	assert_true(span_equal(helper.container, span_of_text(CONTAINER)));
}

static void sums_past_64_bits_are_refused(void **state)
{
	(void)state;
	CLEANUP(perf_file_release) struct perf_file file = { 0 };
	begin_usual(&file);
	for (uint64_t i = 0; i < 2; i++)
		put_sample(&file, USUAL_TYPE,
			   &(struct sample){ .ip = TEXT,
					     .time = 20 + i,
					     .period = UINT64_MAX,
					     .pid = 7,
					     .mode = PERF_RECORD_MISC_USER });
	perf_file_end(&file);
	must_fail(&file, -EOVERFLOW, "the weights of an event add up to more than 64 bits");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_samples_with_their_calls),
		cmocka_unit_test(a_sample_may_precede_its_mapping),
		cmocka_unit_test(samples_belong_to_the_event_of_their_id),
		cmocka_unit_test(group_members_weigh_what_they_advanced_by),
		cmocka_unit_test(what_was_counted_across_lost_samples_is_billed),
		cmocka_unit_test(call_stacks_of_the_hardware_are_the_users_calls),
		cmocka_unit_test(branches_become_edges_and_ranges),
		cmocka_unit_test(marks_in_chains_are_no_frames),
		cmocka_unit_test(only_arm64_signs_addresses),
		cmocka_unit_test(what_ran_before_the_recording_inherits_no_mappings),
		cmocka_unit_test(samples_that_wait_keep_the_mappings_before_an_exec),
		cmocka_unit_test(start_up_code_behind_the_kernels_text_is_the_kernels),
		cmocka_unit_test(how_stacks_were_made_is_in_the_bill),
		cmocka_unit_test(losses_reach_the_bill),
		cmocka_unit_test(guests_are_kept_apart),
		cmocka_unit_test(contexts_are_names_and_control_groups),
		cmocka_unit_test(sums_past_64_bits_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
