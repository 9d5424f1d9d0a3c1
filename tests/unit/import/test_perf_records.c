/* Records as other kernels, systems and processors write them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <errno.h>
#include <sys/mman.h>

#include "base/cleanup.h"
#include "import/formats.h"
#include "import/perf_data/perf_data_types.h"
#include "perf_data_fixture.h"
#include "profile/bill.h"
#include "support/test_profile.h"

/* Android's process names are those of packages. */
static void processes_with_long_names_stay_apart(void **state)
{
	(void)state;
	CLEANUP(perf_file_release) struct perf_file file = { 0 };
	static const char *const names[] = { "com.example.android.one", "com.example.android.two" };
	perf_file_begin(&file, &cycles, NULL, 1, 128);
	for (uint32_t i = 0; i < 2; i++) {
		perf_put_comm(&file, 7 + i, 7 + i, names[i], true, 10, 0);
		perf_put_mmap(&file, 7 + i, TEXT, 0x10000, 0x1000, "/bin/app", 11, 0);
		put_sample(&file, USUAL_TYPE,
			   &(struct sample){ .ip = TEXT,
					     .time = 20,
					     .period = 10 + i,
					     .pid = 7 + i,
					     .mode = PERF_RECORD_MISC_USER });
	}
	perf_file_end(&file);
	must_be(&file,
		"cycles [com.example.android.one] /bin/app!0x1000 1 10\n"
		"cycles [com.example.android.two] /bin/app!0x1000 1 11\n",
		"");
}

/* MMAP2 as Linux 3.12 had it first, and RHEL 7 has it: without protection and flags. */
static void put_short_mmap2(struct perf_file *file, uint32_t pid, uint64_t start, const char *path)
{
	perf_record_begin(file, PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER);
	perf_put_u32(file, pid);
	perf_put_u32(file, pid);
	perf_put_u64(file, start);
	perf_put_u64(file, 0x1000);
	perf_put_u64(file, 0x3000);
	perf_put_u32(file, 8);
	perf_put_u32(file, 1);
	perf_put_u64(file, 1234);
	perf_put_u64(file, 5678);
	perf_put_text(file, path);
	perf_put_trailer(file, pid, pid, 11, 0);
	perf_record_end(file);
}

static void mmap2_of_rhel_7_has_no_protection(void **state)
{
	(void)state;
	static const char *const paths[] = { "/usr/bin/worker", "/a", "//anon", "[vdso]" };
	static const char *const stacks[] = { "cycles [w] /usr/bin/worker!0x3010 1 1\n",
					      "cycles [w] /a!0x3010 1 1\n",
					      "cycles [w] w 7 0 e3ff33ab!0x400010 1 1\n",
					      "cycles [w] [vdso]!0x3010 1 1\n" };
	for (size_t i = 0; i < 8; i++) {
		CLEANUP(perf_file_release) struct perf_file file = { .big_endian = i >= 4 };
		perf_file_begin(&file, &cycles, NULL, 1, 128);
		perf_put_comm(&file, 7, 7, "w", true, 10, 0);
		put_short_mmap2(&file, 7, TEXT, paths[i % 4]);
		put_sample(&file, USUAL_TYPE,
			   &(struct sample){ .ip = TEXT + 0x10,
					     .time = 20,
					     .period = 1,
					     .pid = 7,
					     .mode = PERF_RECORD_MISC_USER });
		perf_add_feature_text(&file, PERF_FEATURE_HOSTNAME, "web7");
		perf_file_end(&file);
		must_be(&file, stacks[i % 4], "");
	}
}

#define HEAP 0x7000000

static void put_anonymous(struct perf_file *file, uint32_t protection, uint16_t misc)
{
	perf_record_begin(file, PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER | misc);
	perf_put_u32(file, 7);
	perf_put_u32(file, 7);
	perf_put_u64(file, HEAP);
	perf_put_u64(file, 0x1000);
	for (int i = 0; i < 4; i++) /* offset, device, inode, generation */
		perf_put_u64(file, 0);
	perf_put_u32(file, protection);
	perf_put_u32(file, MAP_PRIVATE);
	perf_put_text(file, "//anon");
	perf_put_trailer(file, 7, 7, 12, 0);
	perf_record_end(file);
}

#define MINUTE_NS UINT64_C(60000000000)

/* The image of the code that process 7 made, in a recording that tells these. */
static void runtime_image(const char *host, uint64_t first_ns, uint64_t wall_ns, char *name,
			  size_t room)
{
	CLEANUP(perf_file_release) struct perf_file file = { 0 };
	CLEANUP(outcome_release) struct outcome outcome = { 0 };
	begin_usual(&file);
	put_anonymous(&file, PROT_READ | PROT_EXEC, 0);
	put_sample(&file, USUAL_TYPE,
		   &(struct sample){ .ip = HEAP,
				     .time = first_ns,
				     .period = 1,
				     .pid = 7,
				     .mode = PERF_RECORD_MISC_USER });
	perf_add_feature_text(&file, PERF_FEATURE_HOSTNAME, host);
	if (wall_ns)
		perf_add_feature_clock(&file, PERF_FEATURE_CLOCK_DATA, wall_ns, first_ns);
	perf_file_end(&file);
	read_file(&file, SIZE_MAX, false, &outcome);
	assert_int_equal(outcome.ret, 0);
	const struct table *images = profile_table(outcome.profile, PROFILE_IMAGE);
	*name = '\0';
	for (uint32_t id = 1; id <= images->count; id++) {
		struct profile_image image = profile_image(outcome.profile, id);
		if (image.kind == IMAGE_JIT)
			snprintf(name, room, "%.*s", (int)image.name.size,
				 (const char *)image.name.data);
	}
	assert_int_equal(strncmp(name, "worker 7 0 ", 11), 0);
}

/* A number of a process says nothing beside that of another boot, or another machine. */
static void runtime_code_is_one_boots(void **state)
{
	(void)state;
	const uint64_t started = 5000000 * MINUTE_NS + MINUTE_NS / 2;
	char here[64], later[64], other[64];
	runtime_image("web7", 20, started + 20, here, sizeof(here));
	/* as clocks are set: 3 s apart */
	runtime_image("web7", 9 * MINUTE_NS, started + 9 * MINUTE_NS + 3000000000, later,
		      sizeof(later));
	assert_string_equal(here, later);
	runtime_image("web8", 20, started + 20, other, sizeof(other));
	assert_string_not_equal(here, other);
	runtime_image("web7", 20, started + 20 + 5 * MINUTE_NS, other, sizeof(other));
	assert_string_not_equal(here, other);
	/* Where the clock is not told, nobody knows: no two recordings share it. */
	runtime_image("web7", 20, 0, here, sizeof(here));
	runtime_image("web7", 20, 0, later, sizeof(later));
	assert_string_equal(here, later);
	runtime_image("web7", 21, 0, other, sizeof(other));
	assert_string_not_equal(here, other);
}

#define RUNTIME "worker 7 0 27fc81ce" /* the last word stands for host and boot */

/* What a broken frame pointer finds on the heap is no code that was compiled at run time. */
static void a_return_into_memory_that_cannot_run_is_no_code(void **state)
{
	(void)state;
	static const struct {
		uint32_t protection;
		const char *caller, *leaf;
	} cases[] = {
		{ PROT_READ | PROT_WRITE, "?no mapping!0x0", RUNTIME "!0x7000010" },
		{ PROT_READ, "?no mapping!0x0", RUNTIME "!0x7000010" },
		{ PROT_READ | PROT_EXEC, RUNTIME "!0x7000020", RUNTIME "!0x7000010" },
		{ PROT_READ | PROT_WRITE | PROT_EXEC, RUNTIME "!0x7000020", RUNTIME "!0x7000010" },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CLEANUP(perf_file_release) struct perf_file file = { 0 };
		CLEANUP(buffer_release) struct buffer wanted = { 0 };
		const uint64_t called[] = { PERF_CONTEXT_USER, TEXT + 0x30, HEAP + 0x20 };
		const uint64_t sampled[] = { PERF_CONTEXT_USER, HEAP + 0x10, TEXT + 0x30 };
		begin_usual(&file);
		put_anonymous(&file, cases[i].protection,
			      cases[i].protection & PROT_EXEC ? 0 : PERF_RECORD_MISC_MMAP_DATA);
		for (size_t k = 0; k < 2; k++)
			put_sample(&file, USUAL_TYPE,
				   &(struct sample){ .ip = (k ? sampled : called)[1],
						     .time = 20 + k,
						     .period = 1,
						     .pid = 7,
						     .mode = PERF_RECORD_MISC_USER,
						     .chain = k ? sampled : called,
						     .depth = 3 });
		perf_file_end(&file);
		buffer_printf(&wanted,
			      "cycles [worker] /bin/worker!0x1030|%s 1 1\n"
			      "cycles [worker] %s|/bin/worker!0x1030 1 1\n",
			      cases[i].leaf, cases[i].caller);
		must_be(&file, buffer_text(&wanted), "");
	}
}

static void put_counted(struct perf_file *file, struct buffer *out, const char *text)
{
	const size_t size = strlen(text);
	for (size_t i = 0; i < 8; i++)
		buffer_append_u8(out, (uint8_t)(size >> 8 * (file->big_endian ? 7 - i : i)));
	buffer_append_text(out, text);
}

static void put_count(struct perf_file *file, struct buffer *out, uint32_t count)
{
	for (size_t i = 0; i < 4; i++)
		buffer_append_u8(out, (uint8_t)(count >> 8 * (file->big_endian ? 3 - i : i)));
}

/* As /sys/kernel/tracing has them. */
static void put_tracing(struct perf_file *file, struct buffer *out)
{
	buffer_append(out, "\x17\x08\x44tracing0.5", 14);
	buffer_append_u8(out, file->big_endian);
	buffer_append_u8(out, 8);
	put_count(file, out, 4096);
	buffer_append(out, "header_page", 12);
	put_counted(file, out, "\tfield: u64 timestamp;\n");
	buffer_append(out, "header_event", 13);
	put_counted(file, out, "");
	put_count(file, out, 1);
	put_counted(file, out, "name: print\nID: 5\n");
	put_count(file, out, 2);
	buffer_append(out, "sched", 6);
	put_count(file, out, 2);
	put_counted(file, out, "name: sched_wakeup\nID: 311\nformat:\n");
	put_counted(file, out, "name: sched_switch\nID: 314\nformat:\n\tfield: x;\n");
	buffer_append(out, "syscalls", 9);
	put_count(file, out, 1);
	put_counted(file, out, "name: sys_enter\nID: none\n");
	put_count(file, out, 0); /* kernel symbols, and more that nobody reads */
}

/* Old pipes have neither EVENT_UPDATE nor the list of events that files have. */
static void tracepoints_are_called_as_their_formats_say(void **state)
{
	(void)state;
	for (int i = 0; i < 4; i++) {
		CLEANUP(perf_file_release) struct perf_file file = { .big_endian = i % 2 };
		CLEANUP(outcome_release) struct outcome outcome = { 0 };
		CLEANUP(buffer_release) struct buffer formats = { 0 };
		perf_file_begin_pipe(&file);
		perf_record_begin(&file, PERF_FILE_ATTR, 0);
		perf_put_u32(&file, PERF_TYPE_TRACEPOINT);
		perf_put_u32(&file, 64);
		perf_put_u64(&file, 314);
		perf_put_u64(&file, 1);
		perf_put_u64(&file, PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME);
		for (int k = 0; k < 4; k++)
			perf_put_u64(&file, 0);
		perf_record_end(&file);
		put_tracing(&file, &formats);
		if (i >= 2) /* the formats of sched are not whole */
			formats.size = 150;
		perf_record_begin(&file, PERF_FILE_TRACING_DATA, 0);
		perf_put_u32(&file, (uint32_t)formats.size);
		perf_record_end(&file);
		while (formats.size % 8)
			buffer_append_u8(&formats, 0);
		buffer_append(&file.bytes, formats.data, formats.size);
		put_sample(
			&file, 0,
			&(struct sample){
				.ip = TEXT, .time = 20, .pid = 7, .mode = PERF_RECORD_MISC_USER });
		read_file(&file, 7, false, &outcome);
		assert_string_equal(outcome.err.text, "");
		assert_true(
			span_equal(profile_event(outcome.profile, 1).name,
				   span_of_text(i >= 2 ? "tracepoint 314" : "sched:sched_switch")));
		assert_string_equal(buffer_text(&outcome.said),
				    i >= 2 ? "warning: feature 1 is shorter than it says and was "
					     "read in part\n"
					   : "");
	}
}

/* The bucket of that kind of value, plus one; 0: there is none. */
static uint64_t bucket_of(const struct profile *profile, enum value_of kind)
{
	const struct table *values = profile_table(profile, PROFILE_VALUE);
	for (size_t row = 0; row < values->count; row++)
		if (table_keys(values, row)[VALUE_KIND] == (uint64_t)kind)
			return table_keys(values, row)[VALUE_BUCKET] + 1;
	return 0;
}

static void a_weight_of_three_parts_is_three_latencies(void **state)
{
	(void)state;
	static const struct {
		uint64_t type, weight, buckets[3]; /* plus one */
	} cases[] = {
		{ PERF_SAMPLE_WEIGHT_STRUCT,
		  UINT64_C(9) << 48 | UINT64_C(70) << 32 | 300,
		  { 9, 7, 4 } },
		{ PERF_SAMPLE_WEIGHT_STRUCT, UINT64_C(1) << 48, { 0, 0, 1 } },
		{ PERF_SAMPLE_WEIGHT_STRUCT, UINT64_C(65535) << 32, { 0, 16, 0 } },
		{ PERF_SAMPLE_WEIGHT, UINT64_C(9) << 48, { 52, 0, 0 } },
	};
	for (size_t i = 0; i < 2 * sizeof(cases) / sizeof(cases[0]); i++) {
		struct perf_event_attr attr = cycles;
		attr.sample_type =
			PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | cases[i / 2].type;
		CLEANUP(perf_file_release) struct perf_file file = { .big_endian = i % 2 };
		CLEANUP(outcome_release) struct outcome outcome = { 0 };
		begin_file_of(&file, &attr);
		begin_user_sample(&file, 7, 20, 0);
		perf_put_u64(&file, cases[i / 2].weight);
		perf_record_end(&file);
		perf_add_feature_text(&file, PERF_FEATURE_HOSTNAME, "web7");
		perf_file_end(&file);
		read_file(&file, SIZE_MAX, false, &outcome);
		assert_string_equal(outcome.err.text, "");
		const uint64_t *wanted = cases[i / 2].buckets;
		assert_int_equal(bucket_of(outcome.profile, VALUE_LATENCY), wanted[0]);
		assert_int_equal(bucket_of(outcome.profile, VALUE_INSTRUCTION_LATENCY), wanted[1]);
		assert_int_equal(bucket_of(outcome.profile, VALUE_RETIRE_LATENCY), wanted[2]);
	}
}

static void put_trace(struct perf_file *file, uint32_t writer)
{
	perf_record_begin(file, PERF_FILE_AUXTRACE_INFO, 0);
	perf_put_u32(file, writer);
	perf_put_u32(file, 0);
	perf_record_end(file);
	perf_record_begin(file, PERF_FILE_AUXTRACE, 0);
	perf_put_u64(file, 24);
	for (int i = 0; i < 4; i++)
		perf_put_u64(file, 0);
	perf_record_end(file);
	for (int i = 0; i < 3; i++)
		perf_put_u64(file, 0);
}

/* IBS writes its registers beside each sample; what has none has four bytes of padding. */
static void raw_data_and_traces_are_said_to_be_left_out(void **state)
{
	(void)state;
	struct perf_event_attr attr = cycles;
	attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_RAW;
	for (int big = 0; big < 2; big++) {
		CLEANUP(perf_file_release) struct perf_file file = { .big_endian = big };
		CLEANUP(outcome_release) struct outcome outcome = { 0 };
		begin_file_of(&file, &attr);
		for (uint32_t i = 0; i < 3; i++) {
			begin_user_sample(&file, 7, 20, 0);
			perf_put_u32(&file, i ? 12 : 4);
			for (uint32_t word = 0; word < (i ? 3 : 1); word++)
				perf_put_u32(&file, 77);
			perf_record_end(&file);
		}
		put_trace(&file, PERF_TRACE_ARM_SPE);
		perf_add_feature_text(&file, PERF_FEATURE_HOSTNAME, "web7");
		perf_file_end(&file);
		read_file(&file, SIZE_MAX, false, &outcome);
		assert_string_equal(outcome.err.text, "");
		assert_string_equal(buffer_text(&outcome.said),
				    "note: 24 bytes of hardware trace of Arm SPE are not decoded; "
				    "samples are taken\n"
				    "note: samples of 'cycles' have 24 bytes of raw data, which "
				    "are left out\n");
		assert_int_equal(test_billed(outcome.profile, BILL_TRACE_LEFT_OUT), 24);
		assert_int_equal(test_billed(outcome.profile, BILL_RAW_LEFT_OUT), 24);
	}
	CLEANUP(perf_file_release) struct perf_file alone = { 0 };
	begin_usual(&alone);
	put_trace(&alone, 99);
	perf_file_end(&alone);
	must_fail(&alone, -ENODATA,
		  "the recording has no samples, but 24 bytes of a hardware trace, which culprit "
		  "does not decode");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(processes_with_long_names_stay_apart),
		cmocka_unit_test(mmap2_of_rhel_7_has_no_protection),
		cmocka_unit_test(runtime_code_is_one_boots),
		cmocka_unit_test(a_return_into_memory_that_cannot_run_is_no_code),
		cmocka_unit_test(tracepoints_are_called_as_their_formats_say),
		cmocka_unit_test(a_weight_of_three_parts_is_three_latencies),
		cmocka_unit_test(raw_data_and_traces_are_said_to_be_left_out),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
