#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <errno.h>
#include <zstd.h>

#include "base/cleanup.h"
#include "import/formats.h"
#include "import/perf_data/perf_data_types.h"
#include "perf_data_fixture.h"

static void pieces_of_any_size_read_alike(void **state)
{
	(void)state;
	CLEANUP(perf_file_release) struct perf_file file = { 0 };
	begin_usual(&file);
	put_user_sample(&file, 20, 0x30);
	perf_put_empty(&file, PERF_FILE_FINISHED_ROUND);
	put_user_sample(&file, 21, 0x30);
	perf_add_feature_text(&file, PERF_FEATURE_HOSTNAME, "web7");
	perf_file_end(&file);
	for (size_t piece = 1; piece < 300; piece += piece < 20 ? 1 : 37) {
		CLEANUP(outcome_release) struct outcome outcome = { 0 };
		read_file(&file, piece, false, &outcome);
		assert_string_equal(outcome.err.text, "");
		assert_string_equal(buffer_text(&outcome.stacks),
				    USER_STACK("0x1030", "2", "2000"));
		struct profile_source source = profile_source(outcome.profile, 0);
		assert_true(span_equal(source.host, span_of_text("web7")));
	}
}

static void either_byte_order_reads_alike(void **state)
{
	(void)state;
	for (int big = 0; big < 2; big++) {
		CLEANUP(perf_file_release) struct perf_file file = { .big_endian = big };
		begin_usual(&file);
		put_user_sample(&file, 20, 0x30);
		perf_record_begin(&file, PERF_RECORD_LOST, 0);
		perf_put_u64(&file, 0);
		perf_put_u64(&file, 3);
		perf_put_trailer(&file, 7, 7, 21, 0);
		perf_record_end(&file);
		perf_add_feature_text(&file, PERF_FEATURE_HOSTNAME, "web7");
		perf_add_feature_text(&file, PERF_FEATURE_OSRELEASE, "6.1");
		perf_file_end(&file);
		must_be(&file, USER_STACK("0x1030", "1", "1000"),
			"warning: 3 records were lost because a ring buffer was full: counts are "
			"low\n");
	}
}

/* Two halves of all numbers are not none. */
static void lost_records_are_no_fewer_for_being_too_many(void **state)
{
	(void)state;
	CLEANUP(perf_file_release) struct perf_file file = { 0 };
	begin_usual(&file);
	put_user_sample(&file, 20, 0x30);
	for (int i = 0; i < 2; i++) {
		perf_record_begin(&file, PERF_RECORD_LOST, 0);
		perf_put_u64(&file, 0);
		perf_put_u64(&file, UINT64_C(1) << 63);
		perf_put_trailer(&file, 7, 7, 21, 0);
		perf_record_end(&file);
	}
	perf_file_end(&file);
	must_be(&file, USER_STACK("0x1030", "1", "1000"),
		"warning: 18446744073709551615 records were lost because a ring buffer was full: "
		"counts are low\n");
}

/* The only flag of an attribute that is more than a bit. */
static void precision_is_read_in_either_byte_order(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 8; i++) {
		struct perf_event_attr attr = cycles;
		attr.precise_ip = i / 2;
		CLEANUP(perf_file_release) struct perf_file file = { .big_endian = i % 2 };
		CLEANUP(outcome_release) struct outcome outcome = { 0 };
		begin_file_of(&file, &attr);
		put_user_sample(&file, 20, 0x30);
		perf_file_end(&file);
		read_file(&file, SIZE_MAX, false, &outcome);
		assert_string_equal(outcome.err.text, "");
		assert_int_equal(profile_event(outcome.profile, 1).precise, i / 2);
		assert_int_equal(profile_event(outcome.profile, 1).exclude, EXCLUDE_GUEST);
	}
}

static void attributes_of_any_width_are_read(void **state)
{
	(void)state;
	static const size_t widths[] = { 64, 80, 96, 112, 120, 136, 144 };
	for (size_t i = 0; i < sizeof(widths) / sizeof(widths[0]); i++) {
		CLEANUP(perf_file_release) struct perf_file file = { 0 };
		perf_file_begin(&file, &cycles, NULL, 1, widths[i]);
		put_process(&file);
		put_user_sample(&file, 20, 0x30);
		perf_file_end(&file);
		must_be(&file, USER_STACK("0x1030", "1", "1000"), "");
	}
}

static void pipes_have_events_and_features_as_records(void **state)
{
	(void)state;
	CLEANUP(perf_file_release) struct perf_file file = { 0 };
	perf_file_begin_pipe(&file);
	perf_record_begin(&file, PERF_FILE_ATTR, 0);
	perf_put_u32(&file, PERF_TYPE_RAW);
	perf_put_u32(&file, 64);
	perf_put_u64(&file, 0x1cd);
	perf_put_u64(&file, 500); /* period */
	perf_put_u64(&file, PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME);
	for (int i = 0; i < 4; i++)
		perf_put_u64(&file, 0);
	perf_put_u64(&file, 42); /* id */
	perf_record_end(&file);
	perf_record_begin(&file, PERF_FILE_EVENT_UPDATE, 0);
	perf_put_u64(&file, 2); /* name */
	perf_put_u64(&file, 42);
	perf_put_text(&file, "loads:u");
	perf_record_end(&file);
	perf_record_begin(&file, PERF_FILE_TRACING_DATA, 0);
	perf_put_u32(&file, 13);
	perf_record_end(&file);
	perf_put_text(&file, "not a record!!!"); /* 13 rounded up */
	perf_record_begin(&file, PERF_FILE_FEATURE, 0);
	perf_put_u64(&file, PERF_FEATURE_HOSTNAME);
	perf_put_u32(&file, 8);
	perf_put_text(&file, "web7");
	perf_record_end(&file);
	perf_record_begin(&file, PERF_FILE_FEATURE, 0); /* the end of the features */
	perf_put_u64(&file, PERF_FEATURE_CMDLINE);
	perf_record_end(&file);
	put_sample(&file, 0,
		   &(struct sample){
			   .ip = 0x1234, .time = 5, .pid = 7, .mode = PERF_RECORD_MISC_USER });
	static const char text[] = "[ perf record: Woken up 1 times to write data ]\n";
	buffer_append(&file.bytes, text, strlen(text));
	CLEANUP(outcome_release) struct outcome outcome = { 0 };
	CLEANUP(buffer_release) struct buffer leaves = { 0 };
	read_file(&file, SIZE_MAX, false, &outcome);
	assert_string_equal(outcome.err.text, "");
	imported_leaves(outcome.profile, &leaves);
	assert_string_equal(buffer_text(&leaves), "loads:u ?process not seen!0x0 1 500\n");
	assert_string_equal(
		buffer_text(&outcome.said),
		"warning: feature 1 is shorter than it says and was read in part\n"
		"note: text follows the records at byte 232, as perf's own messages do; "
		"it is left out\n");
	struct profile_source source = profile_source(outcome.profile, 0);
	assert_true(span_equal(source.host, span_of_text("web7")));
}

/* COMPRESSED records: one zstd stream, whose pieces end anywhere. */
static void put_named_pmu(struct perf_file *file, uint32_t type, const char *name)
{
	perf_put_u32(file, type);
	perf_put_u32(file, 8);
	perf_put_text(file, name);
}

static void put_pipe_attr(struct perf_file *file, const struct perf_event_attr *attr, uint64_t id)
{
	perf_record_begin(file, PERF_FILE_ATTR, 0);
	buffer_append(&file->bytes, attr, sizeof(*attr));
	perf_put_u64(file, id);
	perf_record_end(file);
}

/* The first name of a PMU stays; groups come in the order of their events. */
static void names_and_groups_that_contradict_go_by_the_first(void **state)
{
	(void)state;
	struct perf_event_attr attr = cycles;
	attr.size = sizeof(attr);
	attr.type = 77;
	attr.config = 5;
	attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_READ;
	attr.read_format = PERF_FORMAT_ID;
	CLEANUP(perf_file_release) struct perf_file file = { 0 };
	CLEANUP(outcome_release) struct outcome outcome = { 0 };
	perf_file_begin_pipe(&file);
	put_pipe_attr(&file, &attr, 41);
	attr.config = 6;
	put_pipe_attr(&file, &attr, 42);
	perf_record_begin(&file, PERF_FILE_FEATURE, 0);
	perf_put_u64(&file, PERF_FEATURE_PMU_MAPPINGS);
	perf_put_u32(&file, 2);
	put_named_pmu(&file, 77, "first");
	put_named_pmu(&file, 77, "second");
	perf_record_end(&file);
	perf_record_begin(&file, PERF_FILE_FEATURE, 0);
	perf_put_u64(&file, PERF_FEATURE_GROUP_DESC);
	perf_put_u32(&file, 2);
	for (uint32_t leader = 0; leader < 2; leader++) {
		perf_put_u32(&file, 8);
		perf_put_text(&file, "g");
		perf_put_u32(&file, leader);
		perf_put_u32(&file, 2 - leader);
	}
	perf_record_end(&file);
	perf_record_begin(&file, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
	perf_put_u64(&file, TEXT);
	perf_put_u64(&file, 9); /* what the counter has, and its id */
	perf_put_u64(&file, 41);
	perf_record_end(&file);
	read_file(&file, SIZE_MAX, false, &outcome);
	assert_string_equal(outcome.err.text, "");
	struct profile_event member = profile_event(outcome.profile, 2);
	assert_true(span_equal(member.name, span_of_text("first/config=0x6/")));
	assert_true(span_equal(member.leader, span_of_text("first/config=0x5/")));
}

static void compressed_records_are_one_stream(void **state)
{
	(void)state;
	for (int second = 0; second < 2; second++) {
		CLEANUP(perf_file_release) struct perf_file plain = { 0 };
		CLEANUP(perf_file_release) struct perf_file file = { 0 };
		begin_usual(&plain);
		for (uint64_t i = 0; i < 100; i++)
			put_user_sample(&plain, 20 + i, 0x30);
		uint8_t packed[8192];
		size_t size = ZSTD_compress(packed, sizeof(packed), plain.bytes.data + plain.data,
					    plain.bytes.size - plain.data, 1);
		assert_false(ZSTD_isError(size));
		perf_file_begin(&file, &cycles, NULL, 1, 128);
		for (size_t at = 0; at < size; at += 50) {
			size_t part = size - at < 50 ? size - at : 50;
			perf_record_begin(&file,
					  second ? PERF_FILE_COMPRESSED2 : PERF_FILE_COMPRESSED, 0);
			if (second)
				perf_put_u64(&file, part);
			buffer_append(&file.bytes, packed + at, part);
			for (size_t pad = part; second && pad % 8; pad++)
				buffer_append_u8(&file.bytes, 0);
			perf_record_end(&file);
		}
		perf_file_end(&file);
		must_be(&file, USER_STACK("0x1030", "100", "100000"), "");
	}
}

/* What they are unpacked to comes in several pieces, and the records of the first are larger than
 * what they were packed as: nothing of the second may be looked for where those were put. */
static void a_compressed_record_outlives_those_in_it(void **state)
{
	(void)state;
	uint64_t chain[400] = { PERF_CONTEXT_USER };
	const size_t depth = sizeof(chain) / sizeof(chain[0]);
	for (size_t i = 1; i < depth; i++)
		chain[i] = TEXT + 0x30;
	for (int i = 0; i < 4; i++) {
		CLEANUP(perf_file_release) struct perf_file plain = { .big_endian = i & 1 };
		CLEANUP(perf_file_release) struct perf_file file = { .big_endian = i & 1 };
		CLEANUP(outcome_release) struct outcome outcome = { 0 };
		begin_usual(&plain);
		for (uint64_t n = 0; n < 1000; n++)
			put_sample(&plain, USUAL_TYPE,
				   &(struct sample){ .ip = TEXT + 0x30,
						     .time = 20,
						     .period = 1000,
						     .pid = 7,
						     .mode = PERF_RECORD_MISC_USER,
						     .chain = chain,
						     .depth = depth });
		uint8_t packed[8192];
		size_t size = ZSTD_compress(packed, sizeof(packed), plain.bytes.data + plain.data,
					    plain.bytes.size - plain.data, 1);
		assert_false(ZSTD_isError(size));
		assert_true(size < sizeof(chain));
		perf_file_begin(&file, &cycles, NULL, 1, 128);
		perf_record_begin(&file, i & 2 ? PERF_FILE_COMPRESSED2 : PERF_FILE_COMPRESSED, 0);
		if (i & 2)
			perf_put_u64(&file, size);
		buffer_append(&file.bytes, packed, size);
		perf_record_end(&file);
		perf_file_end(&file);
		read_file(&file, 100, false, &outcome);
		assert_string_equal(outcome.err.text, "");
		assert_string_equal(buffer_text(&outcome.said), "");
		assert_non_null(strstr(buffer_text(&outcome.stacks), " 1000 1000000\n"));
	}
}

static void what_follows_auxtrace_is_no_record(void **state)
{
	(void)state;
	CLEANUP(perf_file_release) struct perf_file file = { 0 };
	begin_usual(&file);
	perf_record_begin(&file, PERF_FILE_AUXTRACE, 0);
	perf_put_u64(&file, 24);
	for (int i = 0; i < 4; i++)
		perf_put_u64(&file, 0);
	perf_record_end(&file);
	for (int i = 0; i < 3; i++)
		perf_put_u64(&file, 0); /* would end the records */
	put_user_sample(&file, 20, 0x30);
	perf_file_end(&file);
	must_be(&file, USER_STACK("0x1030", "1", "1000"),
		"note: 24 bytes of hardware trace are not decoded; samples are taken\n");
}

static void a_record_without_size_is_a_fault(void **state)
{
	(void)state;
	CLEANUP(perf_file_release) struct perf_file file = { 0 };
	CLEANUP(outcome_release) struct outcome forced = { 0 };
	begin_usual(&file);
	put_user_sample(&file, 20, 0x30);
	perf_put_u64(&file, 0);
	put_user_sample(&file, 21, 0x30);
	perf_file_end(&file);
	must_fail(&file, -EBADMSG,
		  "the record at byte 512 has 0 bytes, which is less than its header");
	read_file(&file, 1000, true, &forced);
	assert_string_equal(buffer_text(&forced.stacks), USER_STACK("0x1030", "1", "1000"));
	assert_string_equal(buffer_text(&forced.said),
			    "warning: the record at byte 512 has 0 bytes, which is less than its "
			    "header; what comes before is kept\n");
}

static void a_killed_recording_is_read_to_its_end(void **state)
{
	(void)state;
	CLEANUP(perf_file_release) struct perf_file file = { 0 };
	begin_usual(&file);
	put_user_sample(&file, 20, 0x30);
	perf_add_feature_text(&file, PERF_FEATURE_HOSTNAME, "web7");
	size_t end = file.bytes.size;
	perf_file_end(&file);
	file.bytes.size = end + 5; /* no features, and a bit of a record */
	memset(file.bytes.data + 48, 0, 8);
	must_be(&file, USER_STACK("0x1030", "1", "1000"),
		"note: 5 stray bytes at the end, at byte 512, are left out\n"
		"warning: incomplete recording: its end was never written; it was read to the end "
		"of "
		"the file\n");
}

static void attributes_may_lie_behind_the_records(void **state)
{
	(void)state;
	CLEANUP(perf_file_release) struct perf_file file = { 0 };
	begin_usual(&file);
	put_user_sample(&file, 20, 0x30);
	size_t end = file.bytes.size;
	perf_file_end(&file);
	uint8_t *row = buffer_extend(&file.bytes, file.attr_size);
	memcpy(row, file.bytes.data + file.attrs, file.attr_size);
	memset(file.bytes.data + file.attrs, 0xff, file.attr_size);
	uint64_t at = end;
	memcpy(file.bytes.data + 24, &at, sizeof(at));
	must_be(&file, USER_STACK("0x1030", "1", "1000"), "");
}

static void put_number(struct perf_file *file, size_t at, uint64_t value)
{
	memcpy((uint8_t *)file->bytes.data + at, &value, sizeof(value));
}

/* Thousands of attributes that share one large section of ids would take minutes. */
static void ids_that_lie_over_each_other_are_refused(void **state)
{
	(void)state;
	const struct perf_event_attr attrs[] = { cycles, cycles, cycles };
	const uint64_t ids[] = { 1, 2, 3 };
	CLEANUP(perf_file_release) struct perf_file file = { 0 };
	perf_file_begin(&file, attrs, ids, 3, 128);
	for (size_t i = 0; i < 3; i++) {
		size_t section = file.attrs + (i + 1) * file.attr_size - 16;
		put_number(&file, section, file.attrs);
		put_number(&file, section + 8, 3 * file.attr_size);
	}
	perf_file_end(&file);
	must_fail(&file, -EBADMSG, "the ids of event 2 at byte 128 lie over others'");
}

static void version_1_is_refused(void **state)
{
	(void)state;
	CLEANUP(perf_file_release) struct perf_file file = { 0 };
	begin_usual(&file);
	perf_file_end(&file);
	memcpy(file.bytes.data, "PERFFILE", 8);
	assert_true(importer_perf_data.recognise(file.bytes.data, file.bytes.size));
	must_fail(&file, -EPROTO,
		  "this perf.data has version 1 of the format, which perf gave up in "
		  "2009; only version 2 can be read");
}

/* A file with something of everything. */
static void rich_file(struct perf_file *file)
{
	struct perf_event_attr attrs[2] = { cycles, cycles };
	const uint64_t ids[] = { 100, 200 };
	const uint64_t chain[] = { PERF_CONTEXT_KERNEL, KERNEL + 0x20, PERF_CONTEXT_USER,
				   TEXT + 0x30 };
	attrs[0].sample_type = attrs[1].sample_type = WITH_ID;
	attrs[1].config = PERF_COUNT_HW_INSTRUCTIONS;
	perf_file_begin(file, attrs, ids, 2, 128);
	perf_put_comm(file, 7, 7, "worker", true, 10, 100);
	perf_put_mmap(file, 7, TEXT, 0x10000, 0x1000, "/bin/worker", 11, 100);
	for (uint64_t i = 0; i < 3; i++)
		put_sample(file, WITH_ID,
			   &(struct sample){ .ip = KERNEL + 0x20,
					     .time = 20 + i,
					     .id = 100 + i % 2 * 100,
					     .period = 10,
					     .pid = 7,
					     .chain = chain,
					     .depth = 4,
					     .mode = PERF_RECORD_MISC_KERNEL });
	perf_put_empty(file, PERF_FILE_FINISHED_ROUND);
	perf_add_feature_text(file, PERF_FEATURE_HOSTNAME, "web7");
	perf_file_end(file);
}

static void cut_files_are_faults_or_profiles(void **state)
{
	(void)state;
	CLEANUP(perf_file_release) struct perf_file file = { 0 };
	rich_file(&file);
	size_t whole = file.bytes.size;
	for (size_t size = 0; size < whole; size++)
		for (int force = 0; force < 2; force++) {
			CLEANUP(outcome_release) struct outcome outcome = { 0 };
			file.bytes.size = size;
			read_file(&file, 100, force, &outcome);
			if (!force)
				assert_int_not_equal(outcome.ret, 0);
			if (outcome.ret < 0)
				assert_int_not_equal(outcome.err.text[0], 0);
		}
}

static void changed_bytes_do_no_harm(void **state)
{
	(void)state;
	CLEANUP(perf_file_release) struct perf_file file = { 0 };
	rich_file(&file);
	for (size_t at = 0; at < file.bytes.size; at++)
		for (unsigned bit = 0; bit < 8; bit++) {
			CLEANUP(outcome_release) struct outcome outcome = { 0 };
			file.bytes.data[at] ^= (uint8_t)(1 << bit);
			read_file(&file, SIZE_MAX, at & 1, &outcome);
			file.bytes.data[at] ^= (uint8_t)(1 << bit);
			if (outcome.ret < 0)
				assert_int_not_equal(outcome.err.text[0], 0);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lost_records_are_no_fewer_for_being_too_many),
		cmocka_unit_test(pieces_of_any_size_read_alike),
		cmocka_unit_test(either_byte_order_reads_alike),
		cmocka_unit_test(precision_is_read_in_either_byte_order),
		cmocka_unit_test(attributes_of_any_width_are_read),
		cmocka_unit_test(pipes_have_events_and_features_as_records),
		cmocka_unit_test(names_and_groups_that_contradict_go_by_the_first),
		cmocka_unit_test(compressed_records_are_one_stream),
		cmocka_unit_test(a_compressed_record_outlives_those_in_it),
		cmocka_unit_test(what_follows_auxtrace_is_no_record),
		cmocka_unit_test(a_record_without_size_is_a_fault),
		cmocka_unit_test(a_killed_recording_is_read_to_its_end),
		cmocka_unit_test(attributes_may_lie_behind_the_records),
		cmocka_unit_test(ids_that_lie_over_each_other_are_refused),
		cmocka_unit_test(version_1_is_refused),
		cmocka_unit_test(cut_files_are_faults_or_profiles),
		cmocka_unit_test(changed_bytes_do_no_harm),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
