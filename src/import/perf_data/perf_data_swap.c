#include "import/perf_data/perf_data_swap.h"

#include <stdbool.h>
#include <string.h>

#include "import/perf_data/perf_data_events.h"
#include "import/perf_data/perf_data_types.h"

struct walk {
	uint8_t *at, *end;
};

static void flip(uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < size / 2; i++) {
		uint8_t byte = bytes[i];
		bytes[i] = bytes[size - 1 - i];
		bytes[size - 1 - i] = byte;
	}
}

static bool has_bytes(const struct walk *walk, uint64_t size)
{
	return size <= (size_t)(walk->end - walk->at);
}

static void skip(struct walk *walk, uint64_t size)
{
	walk->at = has_bytes(walk, size) ? walk->at + size : walk->end;
}

/* Flips one number and returns it; 0 at the end. */
static uint64_t flip_number(struct walk *walk, size_t size)
{
	uint64_t value = 0;
	if (!has_bytes(walk, size)) {
		walk->at = walk->end;
		return 0;
	}
	flip(walk->at, size);
	memcpy(&value, walk->at, size);
	walk->at += size;
	return value;
}

static void flip_words(struct walk *walk, uint64_t count)
{
	while (count-- && has_bytes(walk, 8))
		flip_number(walk, 8);
}

/* An EVENT_UPDATE: its type, the id, and by the type a number, a text, or a list that is not read.
 */
static void flip_update(struct walk *walk)
{
	uint64_t type = has_bytes(walk, 8) ? flip_number(walk, 8) : 0;
	flip_words(walk, type == PERF_UPDATE_SCALE ? 2 : 1);
}

static void flip_halves(struct walk *walk, unsigned count)
{
	while (count--)
		flip_number(walk, 4);
}

static uint8_t reverse_bits(uint8_t byte)
{
	uint8_t reversed = 0;
	for (int i = 0; i < 8; i++)
		reversed |= (uint8_t)(((byte >> i) & 1) << (7 - i));
	return reversed;
}

#define ATTR_FLAGS_AT	40
#define PRECISE_IP_BYTE 1 /* of the flags; its bits 7 and, in the next byte, 0 */

/* One-bit flags in reverse order; the two bits of precise_ip then have to change places again. */
static void swap_flags(uint8_t *flags)
{
	for (size_t i = 0; i < 8; i++)
		flags[i] = reverse_bits(flags[i]);
	uint8_t *low = &flags[PRECISE_IP_BYTE], *high = low + 1;
	if ((*low >> 7) != (*high & 1)) {
		*low ^= 1 << 7;
		*high ^= 1;
	}
}

void perf_swap_attr(uint8_t *attr, size_t size)
{
	/* Words of 64 bits but for these pairs of 32: type and size; wakeup_events and bp_type;
	   sample_stack_user and clockid; aux_sample_size and aux_action. */
	static const uint8_t pairs[] = { 0, 48, 88, 112 };
	struct walk walk = { attr, attr + size };
	for (size_t at = 0; at + 8 <= size; at += 8) {
		bool pair = false;
		for (size_t i = 0; i < sizeof(pairs); i++)
			pair |= pairs[i] == at;
		if (at == ATTR_FLAGS_AT) {
			swap_flags(attr + at);
			skip(&walk, 8);
		} else if (at == 104) { /* aux_watermark, sample_max_stack, reserved */
			flip_number(&walk, 4);
			flip_number(&walk, 2);
			flip_number(&walk, 2);
		} else if (pair) {
			flip_halves(&walk, 2);
		} else {
			flip_number(&walk, 8);
		}
	}
}

/* perf_branch_entry's flags are bit fields, the first at the highest bit on such a machine. */
static uint64_t branch_flags(uint64_t value)
{
	static const struct {
		unsigned at, bits;
	} fields[] = { { 63, 1 }, { 62, 1 }, { 61, 1 }, { 60, 1 }, { 44, 16 },
		       { 40, 4 }, { 38, 2 }, { 34, 4 }, { 31, 3 }, { 0, 31 } };
	uint64_t flags = 0;
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		uint64_t field = value >> fields[i].at & ((UINT64_C(1) << fields[i].bits) - 1);
		flags |= field << (64 - fields[i].at - fields[i].bits);
	}
	return flags;
}

static void swap_read(struct walk *walk, uint64_t format)
{
	unsigned fields = 1 + !!(format & PERF_FORMAT_ID) + !!(format & PERF_FORMAT_LOST);
	unsigned times = !!(format & PERF_FORMAT_TOTAL_TIME_ENABLED) +
			 !!(format & PERF_FORMAT_TOTAL_TIME_RUNNING);
	if (!(format & PERF_FORMAT_GROUP)) {
		flip_words(walk, fields + times);
		return;
	}
	uint64_t count = flip_number(walk, 8);
	flip_words(walk, times);
	for (uint64_t i = 0; i < count && has_bytes(walk, 8); i++)
		flip_words(walk, fields);
}

static void swap_branches(struct walk *walk, uint64_t branch_type)
{
	uint64_t count = flip_number(walk, 8);
	if (branch_type & PERF_BRANCH_HW_INDEX)
		flip_number(walk, 8);
	for (uint64_t i = 0; i < count && has_bytes(walk, 24); i++) {
		flip_words(walk, 2);
		uint64_t flags = branch_flags(flip_number(walk, 8));
		memcpy(walk->at - 8, &flags, 8);
	}
	if (branch_type & PERF_BRANCH_COUNTERS)
		flip_words(walk, count);
}

static void swap_registers(struct walk *walk, uint64_t mask)
{
	if (flip_number(walk, 8))
		flip_words(walk, (uint64_t)__builtin_popcountll(mask));
}

/* In the order of perf_event_open(2). What was copied from memory stays as it is. */
static void swap_sample(struct walk *walk, const struct perf_layout *layout)
{
	uint64_t type = layout->sample_type;
	flip_words(walk, !!(type & PERF_SAMPLE_IDENTIFIER) + !!(type & PERF_SAMPLE_IP));
	if (type & PERF_SAMPLE_TID)
		flip_halves(walk, 2);
	flip_words(walk, !!(type & PERF_SAMPLE_TIME) + !!(type & PERF_SAMPLE_ADDR) +
				 !!(type & PERF_SAMPLE_ID) + !!(type & PERF_SAMPLE_STREAM_ID));
	if (type & PERF_SAMPLE_CPU)
		flip_halves(walk, 2);
	flip_words(walk, !!(type & PERF_SAMPLE_PERIOD));
	if (type & PERF_SAMPLE_READ)
		swap_read(walk, layout->read_format);
	if (type & PERF_SAMPLE_CALLCHAIN)
		flip_words(walk, flip_number(walk, 8));
	if (type & PERF_SAMPLE_RAW)
		skip(walk, flip_number(walk, 4));
	if (type & PERF_SAMPLE_BRANCH_STACK)
		swap_branches(walk, layout->branch_sample_type);
	if (type & PERF_SAMPLE_REGS_USER)
		swap_registers(walk, layout->regs_user);
	if (type & PERF_SAMPLE_STACK_USER) {
		uint64_t size = flip_number(walk, 8);
		skip(walk, size);
		flip_words(walk, size ? 1 : 0);
	}
	flip_words(walk, !!(type & PERF_SAMPLE_WEIGHT_TYPE) + !!(type & PERF_SAMPLE_DATA_SRC) +
				 !!(type & PERF_SAMPLE_TRANSACTION));
	if (type & PERF_SAMPLE_REGS_INTR)
		swap_registers(walk, layout->regs_interrupt);
	flip_words(walk, !!(type & PERF_SAMPLE_PHYS_ADDR) + !!(type & PERF_SAMPLE_CGROUP) +
				 !!(type & PERF_SAMPLE_DATA_PAGE_SIZE) +
				 !!(type & PERF_SAMPLE_CODE_PAGE_SIZE));
	if (type & PERF_SAMPLE_AUX)
		flip_number(walk, 8);
}

/* Cuts the trailer off `walk` and swaps it. */
static void swap_trailer(struct walk *walk, const struct perf_layout *layout)
{
	uint64_t type = layout->sample_type;
	uint64_t fields = type & (PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID |
				  PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER);
	size_t size = 8 * (size_t)__builtin_popcountll(fields);
	if (!layout->sample_id_all || !has_bytes(walk, size))
		return;
	struct walk trailer = { walk->end - size, walk->end };
	walk->end -= size;
	if (type & PERF_SAMPLE_TID)
		flip_halves(&trailer, 2);
	flip_words(&trailer, !!(type & PERF_SAMPLE_TIME) + !!(type & PERF_SAMPLE_ID) +
				     !!(type & PERF_SAMPLE_STREAM_ID));
	if (type & PERF_SAMPLE_CPU)
		flip_halves(&trailer, 2);
	flip_words(&trailer, !!(type & PERF_SAMPLE_IDENTIFIER));
}

/* The numbers at the start of a record; texts and opaque bytes follow them. */
static void swap_body(struct walk *walk, const struct perf_layout *layout, uint32_t type,
		      uint16_t misc)
{
	switch (type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		flip_halves(walk, 2);
		flip_words(walk, 3);
		if (type == PERF_RECORD_MMAP)
			break;
		if (misc & PERF_RECORD_MISC_MMAP_BUILD_ID) {
			skip(walk, 24);
		} else {
			flip_halves(walk, 2);
			flip_words(walk, 2);
			if (perf_mmap2_path_begins(walk->at, (size_t)(walk->end - walk->at)))
				break;
		}
		flip_halves(walk, 2);
		break;
	case PERF_RECORD_COMM:
		flip_halves(walk, 2);
		break;
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		flip_halves(walk, 4);
		flip_words(walk, 1);
		break;
	case PERF_RECORD_READ:
		flip_halves(walk, 2);
		swap_read(walk, layout->read_format);
		break;
	case PERF_RECORD_KSYMBOL:
		flip_words(walk, 1);
		flip_halves(walk, 1);
		flip_number(walk, 2);
		flip_number(walk, 2);
		break;
	case PERF_RECORD_BPF_EVENT:
		flip_number(walk, 2);
		flip_number(walk, 2);
		flip_halves(walk, 1);
		break;
	case PERF_RECORD_CGROUP:
		flip_words(walk, 1);
		break;
	case PERF_RECORD_TEXT_POKE:
		flip_words(walk, 1);
		flip_number(walk, 2);
		flip_number(walk, 2);
		break;
	case PERF_RECORD_ITRACE_START:
		flip_halves(walk, 2);
		break;
	default: /* LOST, THROTTLE, AUX and the like: words */
		flip_words(walk, UINT64_MAX);
		break;
	}
}

/* What perf itself writes. */
static void swap_user(struct walk *walk, uint32_t type)
{
	switch (type) {
	case PERF_FILE_ATTR: {
		uint32_t size = 0;
		if (!has_bytes(walk, 8))
			return;
		memcpy(&size, walk->at + 4, sizeof(size));
		size = __builtin_bswap32(size);
		if (!has_bytes(walk, size))
			return;
		perf_swap_attr(walk->at, size);
		skip(walk, size);
		flip_words(walk, UINT64_MAX);
		break;
	}
	case PERF_FILE_EVENT_UPDATE:
		flip_update(walk);
		break;
	case PERF_FILE_EVENT_TYPE:
	case PERF_FILE_FEATURE:
	case PERF_FILE_COMPRESSED2:
		flip_words(walk, 1);
		break;
	case PERF_FILE_TRACING_DATA:
	case PERF_FILE_AUXTRACE_INFO:
	case PERF_FILE_BUILD_ID:
		flip_halves(walk, 1);
		break;
	case PERF_FILE_AUXTRACE:
		flip_words(walk, 3);
		flip_halves(walk, 3);
		break;
	default:
		break;
	}
}

void perf_swap_record(uint8_t *record, size_t size, const struct perf_file_events *events)
{
	struct walk walk = { record, record + size };
	uint32_t type = (uint32_t)flip_number(&walk, 4);
	uint16_t misc = (uint16_t)flip_number(&walk, 2);
	flip_number(&walk, 2);
	if (type >= PERF_FILE_FIRST) {
		swap_user(&walk, type);
		return;
	}
	uint32_t number = perf_events_of_swapped(events, record, size);
	if (number >= events->count)
		number = 0;
	if (!events->count)
		return;
	const struct perf_layout *layout = &events->list[number].layout;
	if (type == PERF_RECORD_SAMPLE) {
		swap_sample(&walk, layout);
		return;
	}
	swap_trailer(&walk, layout);
	swap_body(&walk, layout, type, misc);
}
