#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "machine/perf_record.h"

static const struct perf_layout plain = {
	.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
	.sample_id_all = true,
};

static void begin(struct buffer *out, uint32_t type, uint16_t misc)
{
	out->size = 0;
	buffer_append_u32(out, type);
	buffer_append_u32(out, misc);
}

static void put_trailer(struct buffer *out)
{
	buffer_append_u32(out, 11);  /* pid */
	buffer_append_u32(out, 12);  /* tid */
	buffer_append_u64(out, 777); /* time */
	buffer_append_u64(out, 99);  /* id */
}

static void put_text(struct buffer *out, const char *text)
{
	buffer_append(out, text, strlen(text) + 1);
	while (out->size % 8)
		buffer_append_u8(out, 0);
}

static void finish(struct buffer *out)
{
	uint16_t size = (uint16_t)out->size;
	memcpy(out->data + 6, &size, sizeof(size));
}

static struct perf_record decode(const struct buffer *bytes, const struct perf_layout *layout)
{
	struct perf_record record;
	assert_int_equal(perf_record_decode(bytes->data, bytes->size, layout, &record),
			 (int)bytes->size);
	return record;
}

/* Every shorter size, in the header or in the bytes, is refused or gives a shorter text; no read
 * passes the end (the copy is exactly as long, for the sanitizer to see). */
static void cut_everywhere(const struct buffer *bytes, const struct perf_layout *layout)
{
	for (size_t size = 0; size < bytes->size; size++) {
		uint8_t *copy = malloc(size + 1);
		struct perf_record record;
		assert_non_null(copy);
		memcpy(copy, bytes->data, size);
		assert_int_equal(perf_record_decode(copy, size, layout, &record), -EBADMSG);
		if (size >= 8) {
			uint16_t said = (uint16_t)size;
			memcpy(copy + 6, &said, sizeof(said));
			int ret = perf_record_decode(copy, size, layout, &record);
			assert_true(ret == -EBADMSG || ret == (int)size);
		}
		free(copy);
	}
	for (size_t at = 0; at < bytes->size; at++) {
		uint8_t *copy = malloc(bytes->size);
		struct perf_record record;
		assert_non_null(copy);
		memcpy(copy, bytes->data, bytes->size);
		copy[at] ^= 0xff;
		int ret = perf_record_decode(copy, bytes->size, layout, &record);
		assert_true(ret == -EBADMSG || (ret >= 8 && ret <= (int)bytes->size));
		free(copy);
	}
}

static void a_mapping_has_an_inode_or_a_build_id(void **state)
{
	(void)state;
	CLEANUP(buffer_release) struct buffer bytes = { 0 };
	for (int with_build_id = 0; with_build_id < 2; with_build_id++) {
		begin(&bytes, PERF_RECORD_MMAP2,
		      with_build_id ? PERF_RECORD_MISC_USER | PERF_RECORD_MISC_MMAP_BUILD_ID
				    : PERF_RECORD_MISC_USER);
		buffer_append_u32(&bytes, 1);
		buffer_append_u32(&bytes, 2);
		buffer_append_u64(&bytes, 0x1000);
		buffer_append_u64(&bytes, 0x2000);
		buffer_append_u64(&bytes, 0x3000);
		if (with_build_id) {
			buffer_append_u32(&bytes, 20);
			for (int i = 0; i < 20; i++)
				buffer_append_u8(&bytes, (uint8_t)(i + 1));
		} else {
			buffer_append_u32(&bytes, 8);
			buffer_append_u32(&bytes, 1);
			buffer_append_u64(&bytes, 1234);
			buffer_append_u64(&bytes, 5678);
		}
		buffer_append_u32(&bytes, 5);
		buffer_append_u32(&bytes, 2);
		put_text(&bytes, "/bin/x");
		put_trailer(&bytes);
		finish(&bytes);
		struct perf_record record = decode(&bytes, &plain);
		assert_int_equal(record.identity.time, 777);
		assert_int_equal(record.identity.id, 99);
		assert_int_equal(record.identity.tid, 12);
		assert_int_equal(record.mapping.start, 0x1000);
		assert_int_equal(record.mapping.offset, 0x3000);
		assert_int_equal(record.mapping.protection, 5);
		assert_true(span_equal(record.mapping.path, span_of_text("/bin/x")));
		assert_int_equal(record.mapping.has_inode, !with_build_id);
		if (with_build_id) {
			assert_int_equal(record.mapping.build_id.size, 20);
			assert_int_equal(((const uint8_t *)record.mapping.build_id.data)[19], 20);
		} else {
			assert_int_equal(record.mapping.inode, 1234);
			assert_int_equal(record.mapping.generation, 5678);
			assert_int_equal(record.mapping.major, 8);
		}
		cut_everywhere(&bytes, &plain);
	}
}

static void a_flag_that_the_kernel_left_set_is_not_believed(void **state)
{
	(void)state;
	CLEANUP(buffer_release) struct buffer bytes = { 0 };
	begin(&bytes, PERF_RECORD_MMAP2, PERF_RECORD_MISC_MMAP_BUILD_ID);
	for (int i = 0; i < 4; i++)
		buffer_append_u64(&bytes, 1);
	buffer_append_u64(&bytes, 0xfe);
	buffer_append_u64(&bytes, 1234);
	buffer_append_u64(&bytes, 5);
	buffer_append_u64(&bytes, 0);
	put_text(&bytes, "/x");
	put_trailer(&bytes);
	finish(&bytes);
	struct perf_layout layout = plain;
	layout.never_build_id = true;
	struct perf_record record = decode(&bytes, &layout);
	assert_true(record.mapping.has_inode);
	assert_int_equal(record.mapping.inode, 1234);
	assert_int_equal(record.mapping.build_id.size, 0);
}

static void tasks_names_and_losses(void **state)
{
	(void)state;
	CLEANUP(buffer_release) struct buffer bytes = { 0 };
	begin(&bytes, PERF_RECORD_FORK, 0);
	for (uint32_t i = 1; i <= 4; i++)
		buffer_append_u32(&bytes, i);
	buffer_append_u64(&bytes, 55);
	put_trailer(&bytes);
	finish(&bytes);
	struct perf_record record = decode(&bytes, &plain);
	assert_int_equal(record.task.pid, 1);
	assert_int_equal(record.task.parent_pid, 2);
	assert_int_equal(record.task.tid, 3);
	assert_int_equal(record.task.parent_tid, 4);
	assert_int_equal(record.task.time, 55);
	cut_everywhere(&bytes, &plain);

	begin(&bytes, PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC);
	buffer_append_u32(&bytes, 1);
	buffer_append_u32(&bytes, 2);
	put_text(&bytes, "name");
	put_trailer(&bytes);
	finish(&bytes);
	record = decode(&bytes, &plain);
	assert_true(record.comm.exec);
	assert_true(span_equal(record.comm.name, span_of_text("name")));
	cut_everywhere(&bytes, &plain);

	begin(&bytes, PERF_RECORD_LOST, 0);
	buffer_append_u64(&bytes, 99);
	buffer_append_u64(&bytes, 1000);
	put_trailer(&bytes);
	finish(&bytes);
	assert_int_equal(decode(&bytes, &plain).lost.lost, 1000);
	cut_everywhere(&bytes, &plain);

	begin(&bytes, PERF_RECORD_KSYMBOL, 0);
	buffer_append_u64(&bytes, 0xffffffffc0000000);
	buffer_append_u32(&bytes, 128);
	buffer_append_u32(&bytes, 1 | 1 << 16);
	put_text(&bytes, "bpf_prog_1");
	put_trailer(&bytes);
	finish(&bytes);
	record = decode(&bytes, &plain);
	assert_int_equal(record.symbol.size_bytes, 128);
	assert_int_equal(record.symbol.flags, 1);
	assert_true(span_equal(record.symbol.name, span_of_text("bpf_prog_1")));
	cut_everywhere(&bytes, &plain);

	begin(&bytes, PERF_RECORD_TEXT_POKE, 0);
	buffer_append_u64(&bytes, 0x1234);
	buffer_append_u32(&bytes, 2 | 3 << 16);
	buffer_append(&bytes, "oonnn\0\0\0", 8);
	put_trailer(&bytes);
	finish(&bytes);
	record = decode(&bytes, &plain);
	assert_int_equal(record.poke.old_bytes.size, 2);
	assert_memory_equal(record.poke.new_bytes.data, "nnn", 3);
	cut_everywhere(&bytes, &plain);
}

static void a_sample_with_everything(void **state)
{
	(void)state;
	CLEANUP(buffer_release) struct buffer bytes = { 0 };
	struct perf_layout layout = {
		.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
			       PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR | PERF_SAMPLE_ID |
			       PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD |
			       PERF_SAMPLE_READ | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW |
			       PERF_SAMPLE_BRANCH_STACK | PERF_SAMPLE_REGS_USER |
			       PERF_SAMPLE_STACK_USER | PERF_SAMPLE_WEIGHT | PERF_SAMPLE_DATA_SRC |
			       PERF_SAMPLE_TRANSACTION | PERF_SAMPLE_REGS_INTR |
			       PERF_SAMPLE_PHYS_ADDR | PERF_SAMPLE_CGROUP |
			       PERF_SAMPLE_DATA_PAGE_SIZE | PERF_SAMPLE_CODE_PAGE_SIZE,
		.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID | PERF_FORMAT_LOST |
			       PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
		.branch_sample_type = UINT64_C(1) << 17,
		.regs_user = 7,
		.regs_interrupt = 1,
		.sample_id_all = true,
	};
	begin(&bytes, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_KERNEL);
	for (uint64_t i = 1; i <= 9; i++) /* id ip tid time addr id stream cpu period */
		buffer_append_u64(&bytes, i);
	buffer_append_u64(&bytes, 2); /* group of two */
	buffer_append_u64(&bytes, 100);
	buffer_append_u64(&bytes, 50);
	for (uint64_t i = 0; i < 6; i++)
		buffer_append_u64(&bytes, 1000 + i);
	buffer_append_u64(&bytes, 3);
	buffer_append_u64(&bytes, PERF_CONTEXT_USER);
	buffer_append_u64(&bytes, 0x11);
	buffer_append_u64(&bytes, 0x22);
	buffer_append_u32(&bytes, 4);
	buffer_append_u32(&bytes, 0xabcdef);
	buffer_append_u64(&bytes, 1); /* branches */
	buffer_append_u64(&bytes, 0);
	for (uint64_t i = 0; i < 3; i++)
		buffer_append_u64(&bytes, 0xb0 + i);
	buffer_append_u64(&bytes, 2); /* user registers */
	for (uint64_t i = 0; i < 3; i++)
		buffer_append_u64(&bytes, 0xc0 + i);
	buffer_append_u64(&bytes, 16); /* user stack, of which 8 bytes are real */
	buffer_append_u64(&bytes, 1);
	buffer_append_u64(&bytes, 2);
	buffer_append_u64(&bytes, 8);
	for (uint64_t i = 0; i < 3; i++) /* weight, source, transaction */
		buffer_append_u64(&bytes, 0xd0 + i);
	buffer_append_u64(&bytes, 2); /* interrupt registers */
	buffer_append_u64(&bytes, 0xe0);
	for (uint64_t i = 0; i < 4; i++) /* physical, cgroup, page sizes */
		buffer_append_u64(&bytes, 0xf0 + i);
	finish(&bytes);

	struct perf_record record = decode(&bytes, &layout);
	const struct perf_sample *sample = &record.sample;
	assert_int_equal(sample->ip, 2);
	assert_int_equal(record.identity.time, 4);
	assert_int_equal(record.identity.cpu, 8);
	assert_int_equal(sample->period, 9);
	assert_int_equal(sample->read.count, 2);
	assert_int_equal(sample->read.time_running, 50);
	assert_int_equal(perf_read_value(&sample->read, 1), 1003);
	assert_int_equal(perf_read_id(&sample->read, 1), 1004);
	assert_int_equal(perf_read_lost(&sample->read, 1), 1005);
	assert_int_equal(sample->chain.count, 3);
	assert_int_equal(perf_word(&sample->chain, 2), 0x22);
	assert_int_equal(sample->raw.size, 4);
	assert_int_equal(perf_word(&sample->branches, 1), 0xb1);
	assert_int_equal(perf_word(&sample->user_registers, 2), 0xc2);
	assert_int_equal(sample->user_stack.size, 8);
	assert_int_equal(sample->data_source, 0xd1);
	assert_int_equal(perf_word(&sample->interrupt_registers, 0), 0xe0);
	assert_int_equal(sample->code_page_bytes, 0xf3);
	cut_everywhere(&bytes, &layout);
}

static void a_single_value_stands_before_its_times(void **state)
{
	(void)state;
	CLEANUP(buffer_release) struct buffer bytes = { 0 };
	struct perf_layout layout = { .sample_type = PERF_SAMPLE_READ,
				      .read_format = PERF_FORMAT_TOTAL_TIME_ENABLED |
						     PERF_FORMAT_TOTAL_TIME_RUNNING |
						     PERF_FORMAT_ID | PERF_FORMAT_LOST };
	begin(&bytes, PERF_RECORD_SAMPLE, 0);
	for (uint64_t i = 1; i <= 5; i++)
		buffer_append_u64(&bytes, i);
	finish(&bytes);
	struct perf_record record = decode(&bytes, &layout);
	assert_int_equal(perf_read_value(&record.sample.read, 0), 1);
	assert_int_equal(record.sample.read.time_enabled, 2);
	assert_int_equal(record.sample.read.time_running, 3);
	assert_int_equal(perf_read_id(&record.sample.read, 0), 4);
	assert_int_equal(perf_read_lost(&record.sample.read, 0), 5);
	cut_everywhere(&bytes, &layout);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_mapping_has_an_inode_or_a_build_id),
		cmocka_unit_test(a_flag_that_the_kernel_left_set_is_not_believed),
		cmocka_unit_test(tasks_names_and_losses),
		cmocka_unit_test(a_sample_with_everything),
		cmocka_unit_test(a_single_value_stands_before_its_times),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
