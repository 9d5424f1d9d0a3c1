/*
 * Records as a perf ring or a perf.data file holds them. The first 24 bytes
 * choose the layout: sample_type, read_format, and the rest.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "machine/perf_record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t touch_span(struct span span)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < span.size; i++)
		sum += ((const uint8_t *)span.data)[i];
	return sum;
}

static uint64_t touch_words(const struct perf_words *words)
{
	uint64_t sum = 0;
	for (uint64_t i = 0; i < words->count; i++)
		sum += perf_word(words, i);
	return sum;
}

static uint64_t touch_read(const struct perf_read *read)
{
	uint64_t sum = 0;
	for (uint64_t i = 0; i < read->count; i++)
		sum += perf_read_value(read, i) + perf_read_id(read, i) + perf_read_lost(read, i);
	return sum;
}

/* Reads all that the record points to. */
static uint64_t touch(const struct perf_record *record)
{
	switch (record->type) {
	case PERF_RECORD_SAMPLE:
		return touch_read(&record->sample.read) + touch_words(&record->sample.chain) +
		       touch_span(record->sample.raw) + touch_words(&record->sample.branches) +
		       touch_words(&record->sample.user_registers) +
		       touch_words(&record->sample.interrupt_registers) +
		       touch_span(record->sample.user_stack);
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		return touch_span(record->mapping.path) + touch_span(record->mapping.build_id);
	case PERF_RECORD_COMM:
		return touch_span(record->comm.name);
	case PERF_RECORD_READ:
		return touch_read(&record->read.read);
	case PERF_RECORD_KSYMBOL:
		return touch_span(record->symbol.name);
	case PERF_RECORD_BPF_EVENT:
		return touch_span(record->bpf.tag);
	case PERF_RECORD_CGROUP:
		return touch_span(record->cgroup.path);
	case PERF_RECORD_TEXT_POKE:
		return touch_span(record->poke.old_bytes) + touch_span(record->poke.new_bytes);
	default:
		return 0;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t choice[3];
	if (size < sizeof(choice))
		return 0;
	memcpy(choice, data, sizeof(choice));
	struct perf_layout layout = {
		.sample_type = choice[0],
		.read_format = choice[1],
		.sample_id_all = choice[2] & 1,
		.never_build_id = choice[2] & 2,
		.branch_sample_type = choice[2],
		.regs_user = choice[2] >> 8,
		.regs_interrupt = choice[2] >> 32,
	};
	volatile uint64_t sum = 0;
	for (size_t at = sizeof(choice); at < size;) {
		struct perf_record record;
		size_t step = perf_record_size(data + at, size - at);
		if (perf_record_decode(data + at, size - at, &layout, &record) > 0)
			sum += touch(&record);
		else if (!step)
			break;
		at += step;
	}
	(void)sum;
	return 0;
}
