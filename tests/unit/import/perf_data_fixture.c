#include "perf_data_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "import/formats.h"

const struct perf_event_attr cycles = {
	.type = PERF_TYPE_HARDWARE,
	.sample_type = USUAL_TYPE,
	.sample_period = 1000,
	.sample_id_all = 1,
	.exclude_guest = 1,
};

void outcome_release(struct outcome *outcome)
{
	profile_free(outcome->profile);
	buffer_release(&outcome->said);
	buffer_release(&outcome->stacks);
	*outcome = (struct outcome){ 0 };
}

void read_file(const struct perf_file *file, size_t piece, bool force, struct outcome *outcome)
{
	const struct import_options options = { .force = force,
						.say = imported_say,
						.say_context = &outcome->said };
	outcome->ret =
		imported(&importer_perf_data, (struct span){ file->bytes.data, file->bytes.size },
			 piece, &options, &outcome->profile, &outcome->err);
	if (outcome->ret == 0)
		imported_stacks(outcome->profile, &outcome->stacks);
}

void must_be(const struct perf_file *file, const char *stacks, const char *said)
{
	CLEANUP(outcome_release) struct outcome outcome = { 0 };
	read_file(file, SIZE_MAX, false, &outcome);
	assert_string_equal(outcome.err.text, "");
	assert_string_equal(buffer_text(&outcome.stacks), stacks);
	assert_string_equal(buffer_text(&outcome.said), said);
}

void must_fail(const struct perf_file *file, int ret, const char *message)
{
	CLEANUP(outcome_release) struct outcome outcome = { 0 };
	read_file(file, SIZE_MAX, false, &outcome);
	assert_string_equal(outcome.err.text, message);
	assert_int_equal(outcome.ret, ret);
}

void put_sample(struct perf_file *file, uint64_t type, const struct sample *sample)
{
	perf_record_begin(file, PERF_RECORD_SAMPLE, sample->mode);
	perf_put_u64(file, sample->ip);
	perf_put_u32(file, sample->pid);
	perf_put_u32(file, sample->tid ? sample->tid : sample->pid);
	perf_put_u64(file, sample->time);
	if (type & PERF_SAMPLE_ID)
		perf_put_u64(file, sample->id);
	if (type & PERF_SAMPLE_PERIOD)
		perf_put_u64(file, sample->period);
	if (type & PERF_SAMPLE_CALLCHAIN) {
		perf_put_u64(file, sample->depth);
		for (size_t i = 0; i < sample->depth; i++)
			perf_put_u64(file, sample->chain[i]);
	}
	perf_record_end(file);
}

void begin_user_sample(struct perf_file *file, uint32_t tid, uint64_t time, uint64_t offset)
{
	perf_record_begin(file, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
	perf_put_u64(file, TEXT + offset);
	perf_put_u32(file, 7);
	perf_put_u32(file, tid);
	perf_put_u64(file, time);
}

void put_user_sample(struct perf_file *file, uint64_t time, uint64_t offset)
{
	const uint64_t chain[] = { PERF_CONTEXT_USER, TEXT + offset, TEXT + 0x100 };
	put_sample(file, USUAL_TYPE,
		   &(struct sample){ .ip = TEXT + offset,
				     .time = time,
				     .period = 1000,
				     .pid = 7,
				     .mode = PERF_RECORD_MISC_USER,
				     .chain = chain,
				     .depth = 3 });
}

void put_process(struct perf_file *file)
{
	perf_put_mmap(file, UINT32_MAX, KERNEL, 0x1000000, KERNEL, "[kernel.kallsyms]_text", 0, 0);
	perf_put_comm(file, 7, 7, "worker", true, 10, 0);
	perf_put_mmap(file, 7, TEXT, 0x10000, 0x1000, "/bin/worker", 11, 0);
}

void begin_file_of(struct perf_file *file, const struct perf_event_attr *event)
{
	perf_file_begin(file, event, NULL, 1, 128);
	put_process(file);
}

void begin_usual(struct perf_file *file)
{
	begin_file_of(file, &cycles);
}
