/*
 * model_swap() - every number of a perf.data file in the other byte order, and
 * what was copied from memory as it is.
 */
#include <string.h>

#include "import/perf_data/perf_data_swap.h"
#include "import/perf_data/perf_data_types.h"
#include "machine/perf_record.h"
#include "perf_data_model.h"

/* Bytes that are turned in place; numbers are known by the order that they had. */
struct turning {
	const struct model *model;
	uint8_t *at, *end;
};

static uint64_t turn(struct turning *turning, size_t size)
{
	if (size > (size_t)(turning->end - turning->at)) {
		turning->at = turning->end;
		return 0;
	}
	uint64_t value = model_get(turning->model, turning->at, size);
	for (size_t i = 0; i < size / 2; i++) {
		uint8_t byte = turning->at[i];
		turning->at[i] = turning->at[size - 1 - i];
		turning->at[size - 1 - i] = byte;
	}
	turning->at += size;
	return value;
}

static void turn_some(struct turning *turning, uint64_t count, size_t size)
{
	while (count-- && turning->at < turning->end)
		turn(turning, size);
}

static void pass(struct turning *turning, uint64_t size)
{
	uint64_t left = (uint64_t)(turning->end - turning->at);
	turning->at += size < left ? size : left;
}

static void turn_texts(struct turning *turning, uint64_t count)
{
	while (count-- && turning->at < turning->end)
		pass(turning, turn(turning, 4));
}

/* What says how samples look: the first event's attribute. */
struct layout {
	uint64_t type, read, branch, regs;
};

static struct layout layout_of(const struct model *model)
{
	const uint8_t *attr = model->attrs[0].bytes;
	if (!model->attr_count)
		for (size_t i = 0; i < model->records.count; i++) {
			struct span record = model->records.list[i];
			if (model_type(model, record) != PERF_FILE_ATTR || record.size < 72)
				continue;
			attr = (const uint8_t *)record.data + 8;
			break;
		}
	else if (model->attrs[0].size < 88)
		return (struct layout){ model_get(model, attr + 24, 8),
					model_get(model, attr + 32, 8), 0, 0 };
	bool wide = model->attr_count;
	return (struct layout){ model_get(model, attr + 24, 8), model_get(model, attr + 32, 8),
				wide ? model_get(model, attr + 72, 8) : 0,
				wide ? model_get(model, attr + 80, 8) : 0 };
}

static unsigned bits(uint64_t type, uint64_t fields)
{
	return (unsigned)__builtin_popcountll(type & fields);
}

static void turn_read(struct turning *turning, uint64_t format)
{
	unsigned fields = 1 + bits(format, PERF_FORMAT_ID | PERF_FORMAT_LOST);
	unsigned times =
		bits(format, PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING);
	uint64_t count = format & PERF_FORMAT_GROUP ? turn(turning, 8) : 1;
	turn_some(turning, times, 8);
	turn_some(turning, count > 4096 ? 4096 : count * fields, 8);
}

static void turn_sample(struct turning *turning, const struct layout *layout)
{
	uint64_t type = layout->type;
	turn_some(turning, bits(type, PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP), 8);
	turn_some(turning, 2 * bits(type, PERF_SAMPLE_TID), 4);
	turn_some(turning,
		  bits(type, PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR | PERF_SAMPLE_ID |
				     PERF_SAMPLE_STREAM_ID),
		  8);
	turn_some(turning, 2 * bits(type, PERF_SAMPLE_CPU), 4);
	turn_some(turning, bits(type, PERF_SAMPLE_PERIOD), 8);
	if (type & PERF_SAMPLE_READ)
		turn_read(turning, layout->read);
	if (type & PERF_SAMPLE_CALLCHAIN)
		turn_some(turning, turn(turning, 8), 8);
	if (type & PERF_SAMPLE_RAW)
		pass(turning, turn(turning, 4));
	if (type & PERF_SAMPLE_BRANCH_STACK) {
		uint64_t count = turn(turning, 8);
		turn_some(turning, bits(layout->branch, PERF_BRANCH_HW_INDEX), 8);
		turn_some(turning, count > 4096 ? 4096 : count * 3, 8);
	}
	if (type & PERF_SAMPLE_REGS_USER && turn(turning, 8))
		turn_some(turning, (uint64_t)__builtin_popcountll(layout->regs), 8);
	if (type & PERF_SAMPLE_STACK_USER) {
		uint64_t size = turn(turning, 8);
		pass(turning, size);
	}
	turn_some(turning, UINT64_MAX, 8);
}

/* The numbers before a record's texts: a digit is the width of each. */
static const char *numbers_of(uint32_t type)
{
	switch (type) {
	case PERF_RECORD_MMAP:
		return "44888";
	case PERF_RECORD_MMAP2:
		return "448884488" /* device, inode, protection */
		       "44";
	case PERF_RECORD_COMM:
	case PERF_RECORD_ITRACE_START:
		return "44";
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		return "44448";
	case PERF_RECORD_KSYMBOL:
		return "8422";
	case PERF_RECORD_BPF_EVENT:
		return "224";
	case PERF_RECORD_CGROUP:
		return "8";
	case PERF_RECORD_TEXT_POKE:
		return "822";
	case PERF_FILE_TRACING_DATA:
	case PERF_FILE_AUXTRACE_INFO:
	case PERF_FILE_BUILD_ID:
		return "4";
	case PERF_FILE_EVENT_UPDATE:
		return "888";
	case PERF_FILE_EVENT_TYPE:
	case PERF_FILE_COMPRESSED2:
		return "8";
	case PERF_FILE_AUXTRACE:
		return "888444";
	case PERF_FILE_COMPRESSED:
		return "";
	default:
		return "88888888";
	}
}

static void turn_numbers(struct turning *turning, const char *widths)
{
	for (; *widths; widths++)
		turn(turning, (size_t)(*widths - '0'));
}

static void turn_feature(struct turning *turning, uint64_t bit)
{
	switch (bit) {
	case PERF_FEATURE_HOSTNAME:
	case PERF_FEATURE_OSRELEASE:
	case PERF_FEATURE_VERSION:
	case PERF_FEATURE_ARCH:
	case PERF_FEATURE_CPUDESC:
	case PERF_FEATURE_CPUID:
		turn_texts(turning, 1);
		break;
	case PERF_FEATURE_CMDLINE:
		turn_texts(turning, turn(turning, 4));
		break;
	case PERF_FEATURE_NRCPUS:
		turn_numbers(turning, "44");
		break;
	case PERF_FEATURE_SAMPLE_TIME:
		turn_numbers(turning, "88");
		break;
	case PERF_FEATURE_CLOCK_DATA:
		turn_numbers(turning, "4488");
		break;
	case PERF_FEATURE_PMU_MAPPINGS:
	case PERF_FEATURE_GROUP_DESC:
		turn(turning, 4);
		while (turning->at < turning->end) {
			if (bit == PERF_FEATURE_PMU_MAPPINGS)
				turn(turning, 4);
			turn_texts(turning, 1);
			if (bit == PERF_FEATURE_GROUP_DESC)
				turn_numbers(turning, "44");
		}
		break;
	case PERF_FEATURE_EVENT_DESC: {
		uint64_t count = turn(turning, 4), width = turn(turning, 4);
		while (count-- && turning->at < turning->end) {
			size_t left = (size_t)(turning->end - turning->at);
			if (width <= left)
				perf_swap_attr(turning->at, width);
			pass(turning, width);
			uint64_t ids = turn(turning, 4);
			turn_texts(turning, 1);
			turn_some(turning, ids, 8);
		}
		break;
	}
	case PERF_FEATURE_BUILD_ID:
		while (turning->at < turning->end) {
			turn_numbers(turning, "42");
			uint64_t size = turn(turning, 2);
			turn(turning, 4);
			pass(turning, size > 12 ? size - 12 : 0);
		}
		break;
	default:
		break;
	}
}

static void turn_record(const struct model *model, const struct layout *layout, uint8_t *bytes,
			size_t size)
{
	struct turning turning = { model, bytes, bytes + size };
	uint32_t type = (uint32_t)turn(&turning, 4);
	turn(&turning, 2);
	turn(&turning, 2);
	if (type == PERF_RECORD_SAMPLE) {
		turn_sample(&turning, layout);
	} else if (type == PERF_FILE_ATTR && size >= 16) {
		uint64_t own = model_get(model, turning.at + 4, 4);
		if (own > size - 8)
			return;
		perf_swap_attr(turning.at, own);
		pass(&turning, own);
		turn_some(&turning, UINT64_MAX, 8);
	} else if (type == PERF_FILE_FEATURE) {
		turn_feature(&turning, turn(&turning, 8));
	} else {
		uint64_t trailer = layout->type & (PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
						   PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID |
						   PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER);
		size_t behind = 8 * (size_t)__builtin_popcountll(trailer);
		if (type < PERF_FILE_FIRST && behind <= (size_t)(turning.end - turning.at)) {
			struct turning last = { model, turning.end - behind, turning.end };
			turning.end -= behind;
			turn_some(&last, 2 * bits(trailer, PERF_SAMPLE_TID), 4);
			turn_some(&last, UINT64_MAX, 8);
		}
		turn_numbers(&turning, numbers_of(type));
	}
}

static struct span copied(struct span bytes)
{
	uint8_t *copy = mutator_room(bytes.size);
	if (!copy || !bytes.size)
		return (struct span){ NULL, 0 };
	memcpy(copy, bytes.data, bytes.size);
	return (struct span){ copy, bytes.size };
}

static struct turning turning_of(const struct model *turned, struct span bytes)
{
	uint8_t *at = (uint8_t *)bytes.data;
	return (struct turning){ turned, at, bytes.size ? at + bytes.size : at };
}

void model_swap(struct model *model)
{
	const struct layout layout = layout_of(model);
	for (size_t i = 0; i < model->records.count; i++) {
		struct span *record = &model->records.list[i];
		*record = copied(*record);
		if (record->size >= 8)
			turn_record(model, &layout, (uint8_t *)record->data, record->size);
	}
	for (size_t i = 0; i < model->attr_count; i++) {
		struct model_attr *attr = &model->attrs[i];
		perf_swap_attr(attr->bytes, attr->size);
		attr->ids = copied(attr->ids);
		struct turning turning = turning_of(model, attr->ids);
		turn_some(&turning, UINT64_MAX, 8);
	}
	for (size_t i = 0; i < model->feature_count; i++) {
		struct model_feature *feature = &model->features[i];
		feature->bytes = copied(feature->bytes);
		struct turning turning = turning_of(model, feature->bytes);
		if (feature->bytes.size)
			turn_feature(&turning, feature->bit);
	}
	model->big = !model->big;
}
