#include "machine/perf_record.h"

#include <errno.h>

#include "base/cursor.h"

#define BRANCH_HW_INDEX (UINT64_C(1) << 17) /* PERF_SAMPLE_BRANCH_HW_INDEX */
#define BRANCH_COUNTERS (UINT64_C(1) << 19) /* PERF_SAMPLE_BRANCH_COUNTERS, Linux 6.8 */

size_t perf_record_size(const void *bytes, size_t size_bytes)
{
	struct perf_event_header header;
	if (size_bytes < sizeof(header))
		return 0;
	memcpy(&header, bytes, sizeof(header));
	if (header.size < sizeof(header) || header.size > size_bytes)
		return 0;
	return header.size;
}

/* `count` words, or none with the cursor failed when they are not all there. */
static struct perf_words take_words(struct cursor *cursor, uint64_t count)
{
	if (count > cursor_left(cursor) / sizeof(uint64_t)) {
		cursor->failed = true;
		return (struct perf_words){ NULL, 0 };
	}
	return (struct perf_words){ cursor_take(cursor, count * sizeof(uint64_t)), count };
}

static struct span take_span(struct cursor *cursor, uint64_t size)
{
	if (size > cursor_left(cursor)) {
		cursor->failed = true;
		return (struct span){ NULL, 0 };
	}
	return (struct span){ cursor_take(cursor, size), size };
}

/* A text that fills the rest of the record up to its NULs; one without a NUL is cut by the end. */
static struct span take_text(struct cursor *cursor)
{
	size_t left = cursor_left(cursor);
	const char *text = cursor_take(cursor, left);
	return (struct span){ text, text ? strnlen(text, left) : 0 };
}

static void take_read(struct cursor *cursor, uint64_t format, struct perf_read *read)
{
	bool group = format & PERF_FORMAT_GROUP;
	int fields = 1;
	read->id_at = format & PERF_FORMAT_ID ? fields++ : -1;
	read->lost_at = format & PERF_FORMAT_LOST ? fields++ : -1;
	read->stride = (unsigned)fields;
	read->count = 1;
	if (group)
		read->count = cursor_u64(cursor);
	/* A single value stands before the times, and its id after them. */
	const uint8_t *value = NULL;
	if (!group) {
		value = cursor->failed ? NULL : cursor->start + cursor->at;
		cursor_u64(cursor);
	}
	if (format & PERF_FORMAT_TOTAL_TIME_ENABLED)
		read->time_enabled = cursor_u64(cursor);
	if (format & PERF_FORMAT_TOTAL_TIME_RUNNING)
		read->time_running = cursor_u64(cursor);
	if (group) {
		if (read->count > cursor_left(cursor) / sizeof(uint64_t) / read->stride) {
			cursor->failed = true;
			return;
		}
		read->words = take_words(cursor, read->count * read->stride);
		return;
	}
	take_words(cursor, read->stride - 1);
	if (cursor->failed)
		return;
	int times = !!(format & PERF_FORMAT_TOTAL_TIME_ENABLED) +
		    !!(format & PERF_FORMAT_TOTAL_TIME_RUNNING);
	/* words are contiguous: value, times, id, lost */
	read->words = (struct perf_words){ value, read->stride + (unsigned)times };
	if (read->id_at >= 0)
		read->id_at += times;
	if (read->lost_at >= 0)
		read->lost_at += times;
}

static void take_branches(struct cursor *cursor, const struct perf_layout *layout,
			  struct perf_sample *sample)
{
	uint64_t count = cursor_u64(cursor);
	if (layout->branch_sample_type & BRANCH_HW_INDEX)
		cursor_u64(cursor);
	if (count > cursor_left(cursor) / 24) {
		cursor->failed = true;
		return;
	}
	sample->branches = take_words(cursor, count * 3);
	if (layout->branch_sample_type & BRANCH_COUNTERS)
		take_words(cursor, count);
}

static void take_registers(struct cursor *cursor, uint64_t mask, uint64_t *abi,
			   struct perf_words *registers)
{
	*abi = cursor_u64(cursor);
	if (*abi != PERF_SAMPLE_REGS_ABI_NONE)
		*registers = take_words(cursor, (uint64_t)__builtin_popcountll(mask));
}

static void take_stack(struct cursor *cursor, struct span *stack)
{
	uint64_t size = cursor_u64(cursor);
	if (!size)
		return;
	*stack = take_span(cursor, size);
	uint64_t used = cursor_u64(cursor);
	if (used < stack->size)
		stack->size = used;
}

/* In the order of perf_event_open(2), "PERF_RECORD_SAMPLE". */
static void take_sample(struct cursor *cursor, const struct perf_layout *layout,
			struct perf_record *record)
{
	uint64_t type = layout->sample_type;
	struct perf_sample *sample = &record->sample;
	struct perf_identity *identity = &record->identity;
	if (type & PERF_SAMPLE_IDENTIFIER)
		identity->id = cursor_u64(cursor);
	if (type & PERF_SAMPLE_IP)
		sample->ip = cursor_u64(cursor);
	if (type & PERF_SAMPLE_TID) {
		identity->pid = cursor_u32(cursor);
		identity->tid = cursor_u32(cursor);
	}
	if (type & PERF_SAMPLE_TIME)
		identity->time = cursor_u64(cursor);
	if (type & PERF_SAMPLE_ADDR)
		sample->address = cursor_u64(cursor);
	if (type & PERF_SAMPLE_ID)
		identity->id = cursor_u64(cursor);
	if (type & PERF_SAMPLE_STREAM_ID)
		identity->stream_id = cursor_u64(cursor);
	if (type & PERF_SAMPLE_CPU) {
		identity->cpu = cursor_u32(cursor);
		cursor_u32(cursor);
	}
	if (type & PERF_SAMPLE_PERIOD)
		sample->period = cursor_u64(cursor);
	if (type & PERF_SAMPLE_READ)
		take_read(cursor, layout->read_format, &sample->read);
	if (type & PERF_SAMPLE_CALLCHAIN)
		sample->chain = take_words(cursor, cursor_u64(cursor));
	if (type & PERF_SAMPLE_RAW)
		sample->raw = take_span(cursor, cursor_u32(cursor));
	if (type & PERF_SAMPLE_BRANCH_STACK)
		take_branches(cursor, layout, sample);
	if (type & PERF_SAMPLE_REGS_USER)
		take_registers(cursor, layout->regs_user, &sample->user_abi,
			       &sample->user_registers);
	if (type & PERF_SAMPLE_STACK_USER)
		take_stack(cursor, &sample->user_stack);
	if (type & PERF_SAMPLE_WEIGHT_TYPE)
		sample->weight = cursor_u64(cursor);
	if (type & PERF_SAMPLE_DATA_SRC)
		sample->data_source = cursor_u64(cursor);
	if (type & PERF_SAMPLE_TRANSACTION)
		sample->transaction = cursor_u64(cursor);
	if (type & PERF_SAMPLE_REGS_INTR)
		take_registers(cursor, layout->regs_interrupt, &sample->interrupt_abi,
			       &sample->interrupt_registers);
	if (type & PERF_SAMPLE_PHYS_ADDR)
		sample->physical_address = cursor_u64(cursor);
	if (type & PERF_SAMPLE_CGROUP)
		sample->cgroup = cursor_u64(cursor);
	if (type & PERF_SAMPLE_DATA_PAGE_SIZE)
		sample->data_page_bytes = cursor_u64(cursor);
	if (type & PERF_SAMPLE_CODE_PAGE_SIZE)
		sample->code_page_bytes = cursor_u64(cursor);
	if (type & PERF_SAMPLE_AUX)
		take_span(cursor, cursor_u64(cursor));
}

/* Cuts the trailer of a record that is no sample off `cursor`. */
static void take_trailer(struct cursor *cursor, const struct perf_layout *layout,
			 struct perf_identity *identity)
{
	uint64_t type = layout->sample_type;
	uint64_t fields = type & (PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID |
				  PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER);
	size_t size = 8 * (size_t)__builtin_popcountll(fields);
	if (!layout->sample_id_all || !size)
		return;
	if (size > cursor_left(cursor)) {
		cursor->failed = true;
		return;
	}
	cursor->size -= size;
	struct cursor trailer = cursor_of(cursor->start + cursor->size, size);
	if (type & PERF_SAMPLE_TID) {
		identity->pid = cursor_u32(&trailer);
		identity->tid = cursor_u32(&trailer);
	}
	if (type & PERF_SAMPLE_TIME)
		identity->time = cursor_u64(&trailer);
	if (type & PERF_SAMPLE_ID)
		identity->id = cursor_u64(&trailer);
	if (type & PERF_SAMPLE_STREAM_ID)
		identity->stream_id = cursor_u64(&trailer);
	if (type & PERF_SAMPLE_CPU) {
		identity->cpu = cursor_u32(&trailer);
		cursor_u32(&trailer);
	}
	if (type & PERF_SAMPLE_IDENTIFIER)
		identity->id = cursor_u64(&trailer);
}

bool perf_mmap2_path_begins(const void *bytes, size_t size_bytes)
{
	return size_bytes && *(const uint8_t *)bytes >= ' ';
}

static void take_mapping(struct cursor *cursor, const struct perf_layout *layout,
			 struct perf_record *record)
{
	struct perf_mapping *mapping = &record->mapping;
	mapping->pid = cursor_u32(cursor);
	mapping->tid = cursor_u32(cursor);
	mapping->start = cursor_u64(cursor);
	mapping->size_bytes = cursor_u64(cursor);
	mapping->offset = cursor_u64(cursor);
	if (record->type == PERF_RECORD_MMAP2) {
		if (record->misc & PERF_RECORD_MISC_MMAP_BUILD_ID && !layout->never_build_id) {
			uint8_t size = cursor_u8(cursor);
			cursor_take(cursor, 3);
			const void *bytes = cursor_take(cursor, PERF_BUILD_ID_BYTES);
			if (size > PERF_BUILD_ID_BYTES)
				cursor->failed = true;
			mapping->build_id = (struct span){ bytes, size };
		} else {
			mapping->has_inode = true;
			mapping->major = cursor_u32(cursor);
			mapping->minor = cursor_u32(cursor);
			mapping->inode = cursor_u64(cursor);
			mapping->generation = cursor_u64(cursor);
		}
		mapping->has_protection =
			!mapping->has_inode ||
			!perf_mmap2_path_begins(cursor->start + cursor->at, cursor_left(cursor));
		if (mapping->has_protection) {
			mapping->protection = cursor_u32(cursor);
			mapping->flags = cursor_u32(cursor);
		}
	}
	mapping->path = take_text(cursor);
}

/* Records of code of the kernel's that came, went or changed. */
static void take_kernel_text(struct cursor *cursor, struct perf_record *record)
{
	uint16_t old_size, new_size;
	switch (record->type) {
	case PERF_RECORD_KSYMBOL:
		record->symbol.address = cursor_u64(cursor);
		record->symbol.size_bytes = cursor_u32(cursor);
		record->symbol.kind = cursor_u16(cursor);
		record->symbol.flags = cursor_u16(cursor);
		record->symbol.name = take_text(cursor);
		break;
	case PERF_RECORD_BPF_EVENT:
		record->bpf.kind = cursor_u16(cursor);
		record->bpf.flags = cursor_u16(cursor);
		record->bpf.id = cursor_u32(cursor);
		record->bpf.tag = take_span(cursor, 8);
		break;
	case PERF_RECORD_TEXT_POKE:
		record->poke.address = cursor_u64(cursor);
		old_size = cursor_u16(cursor);
		new_size = cursor_u16(cursor);
		record->poke.old_bytes = take_span(cursor, old_size);
		record->poke.new_bytes = take_span(cursor, new_size);
		break;
	default:
		break;
	}
}

static void take_body(struct cursor *cursor, const struct perf_layout *layout,
		      struct perf_record *record)
{
	switch (record->type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		take_mapping(cursor, layout, record);
		break;
	case PERF_RECORD_COMM:
		record->comm.pid = cursor_u32(cursor);
		record->comm.tid = cursor_u32(cursor);
		record->comm.name = take_text(cursor);
		record->comm.exec = record->misc & PERF_RECORD_MISC_COMM_EXEC;
		break;
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		record->task.pid = cursor_u32(cursor);
		record->task.parent_pid = cursor_u32(cursor);
		record->task.tid = cursor_u32(cursor);
		record->task.parent_tid = cursor_u32(cursor);
		record->task.time = cursor_u64(cursor);
		break;
	case PERF_RECORD_LOST:
		record->lost.id = cursor_u64(cursor);
		record->lost.lost = cursor_u64(cursor);
		break;
	case PERF_RECORD_LOST_SAMPLES:
		record->lost.lost = cursor_u64(cursor);
		break;
	case PERF_RECORD_THROTTLE:
	case PERF_RECORD_UNTHROTTLE:
		record->throttle.time = cursor_u64(cursor);
		record->throttle.id = cursor_u64(cursor);
		record->throttle.stream_id = cursor_u64(cursor);
		break;
	case PERF_RECORD_READ:
		record->read.pid = cursor_u32(cursor);
		record->read.tid = cursor_u32(cursor);
		take_read(cursor, layout->read_format, &record->read.read);
		break;
	case PERF_RECORD_CGROUP:
		record->cgroup.id = cursor_u64(cursor);
		record->cgroup.path = take_text(cursor);
		break;
	default:
		take_kernel_text(cursor, record);
		break;
	}
}

int perf_record_decode(const void *bytes, size_t size_bytes, const struct perf_layout *layout,
		       struct perf_record *record)
{
	size_t size = perf_record_size(bytes, size_bytes);
	if (!size)
		return -EBADMSG;
	struct perf_event_header header;
	memcpy(&header, bytes, sizeof(header));
	*record = (struct perf_record){ .type = header.type, .misc = header.misc };
	struct cursor cursor =
		cursor_of((const uint8_t *)bytes + sizeof(header), size - sizeof(header));
	if (header.type == PERF_RECORD_SAMPLE) {
		take_sample(&cursor, layout, record);
	} else {
		take_trailer(&cursor, layout, &record->identity);
		take_body(&cursor, layout, record);
	}
	return cursor.failed ? -EBADMSG : (int)size;
}
