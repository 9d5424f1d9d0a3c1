#include "import/perf_data/simpleperf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/cursor.h"
#include "base/number.h"
#include "import/perf_data/simpleperf_private.h"

#define HEADER_BYTES 8
#define META_MAX_BYTES                                                                             \
	(1u << 20) /* texts are looked for by walking it: real ones have 400 bytes                 \
		    */
#define KEY_EVENTS "event_type_info"

void simpleperf_release(struct simpleperf *simpleperf)
{
	buffer_release(&simpleperf->files);
	buffer_release(&simpleperf->files2);
	buffer_release(&simpleperf->meta);
	buffer_release(&simpleperf->kallsyms);
	buffer_release(&simpleperf->records);
	*simpleperf = (struct simpleperf){ 0 };
}

size_t simpleperf_record_size(const void *header)
{
	struct cursor cursor = cursor_of(header, HEADER_BYTES);
	cursor_u32(&cursor);
	uint32_t high = cursor_u16(&cursor);
	uint32_t size = high << 16 | cursor_u16(&cursor);
	return size < HEADER_BYTES ? 0 : size;
}

static int append(struct buffer *out, struct span bytes)
{
	buffer_append(out, bytes.data, bytes.size);
	return buffer_failed(out) ? -ENOMEM : 0;
}

int simpleperf_take_feature(struct simpleperf *simpleperf, unsigned feature, struct span payload)
{
	switch (feature) {
	case SIMPLEPERF_FILE:
		return append(&simpleperf->files, payload);
	case SIMPLEPERF_FILE2:
		return append(&simpleperf->files2, payload);
	case SIMPLEPERF_META_INFO:
		if (simpleperf->meta.size || payload.size > META_MAX_BYTES) {
			simpleperf->bad++;
			return 0;
		}
		return append(&simpleperf->meta, payload);
	default:
		return 0;
	}
}

int simpleperf_take_record(struct simpleperf *simpleperf, struct span record)
{
	struct cursor cursor = cursor_of(record.data, record.size);
	uint32_t type = cursor_u32(&cursor);
	cursor_u32(&cursor);
	if (cursor.failed) {
		simpleperf->bad++;
		return 0;
	}
	if (type == SIMPLEPERF_KERNEL_SYMBOL) {
		uint32_t size = cursor_u32(&cursor);
		const void *text = cursor_take(&cursor, size);
		simpleperf->bad += cursor.failed;
		return text ? append(&simpleperf->kallsyms, (struct span){ text, size }) : 0;
	}
	if ((type != SIMPLEPERF_DSO && type != SIMPLEPERF_SYMBOL) || record.size > UINT32_MAX)
		return 0;
	buffer_append_u32(&simpleperf->records, (uint32_t)record.size);
	return append(&simpleperf->records, record);
}

struct span simpleperf_meta(const struct simpleperf *simpleperf, const char *key)
{
	struct cursor cursor = cursor_of(simpleperf->meta.data, simpleperf->meta.size);
	while (cursor_left(&cursor) > 0) {
		struct span name = cursor_text(&cursor);
		struct span value = cursor_text(&cursor);
		if (!cursor.failed && span_equal(name, span_of_text(key)))
			return value;
	}
	return (struct span){ NULL, 0 };
}

/* Cuts the text before the mark off *rest, and the mark; all of it when there is none. */
static struct span cut_at(struct span *rest, char mark)
{
	const char *text = rest->data;
	const char *end = rest->size ? memchr(text, mark, rest->size) : NULL;
	size_t size = end ? (size_t)(end - text) : rest->size;
	size_t used = end ? size + 1 : size;
	*rest = (struct span){ text + used, rest->size - used };
	return (struct span){ text, size };
}

static bool parse_number(struct span text, uint64_t *number)
{
	char digits[32];
	if (text.size == 0 || text.size >= sizeof(digits))
		return false;
	memcpy(digits, text.data, text.size);
	digits[text.size] = 0;
	return number_parse_u64(digits, number);
}

/* Lines "cpu-cycles,0,0". A name may hold commas ("cpu/event=1,umask=2/"): the numbers are last. */
static bool parse_event(struct span line, struct simpleperf_event *event)
{
	const char *text = line.data;
	const char *last = text ? memrchr(text, ',', line.size) : NULL;
	const char *middle = last && last > text ? memrchr(text, ',', (size_t)(last - text)) : NULL;
	if (!middle || middle == text)
		return false;
	event->name = (struct span){ text, (size_t)(middle - text) };
	return parse_number((struct span){ middle + 1, (size_t)(last - middle - 1) },
			    &event->type) &&
	       parse_number((struct span){ last + 1, (size_t)(text + line.size - last - 1) },
			    &event->config);
}

size_t simpleperf_events(const struct simpleperf *simpleperf, struct simpleperf_event *events,
			 size_t room)
{
	struct span rest = simpleperf_meta(simpleperf, KEY_EVENTS);
	size_t count = 0;
	while (count < room && rest.size && parse_event(cut_at(&rest, '\n'), &events[count]))
		count++;
	return count;
}

bool simpleperf_event_id(struct span record, size_t index, struct simpleperf_id *id)
{
	struct cursor cursor = cursor_of(record.data, record.size);
	uint32_t type = cursor_u32(&cursor);
	cursor_u32(&cursor);
	uint64_t count = cursor_u64(&cursor);
	if (cursor.failed || type != SIMPLEPERF_EVENT_ID || index >= count ||
	    index >= cursor_left(&cursor) / 16)
		return false;
	cursor_take(&cursor, index * 16);
	id->attribute = cursor_u64(&cursor);
	id->id = cursor_u64(&cursor);
	return !cursor.failed;
}

/* ---- Files and their symbols */

static bool next_symbol(struct cursor *cursor, struct simpleperf_symbol *symbol)
{
	symbol->vaddr = cursor_u64(cursor);
	symbol->size_bytes = cursor_u32(cursor);
	symbol->name = cursor_text(cursor);
	return !cursor->failed;
}

bool simpleperf_next_file(struct cursor *all, struct simpleperf_file *file, size_t *bad)
{
	while (cursor_left(all) > 0) {
		uint32_t size = cursor_u32(all);
		const void *bytes = cursor_take(all, size);
		struct cursor cursor = cursor_of(bytes, bytes ? size : 0);
		*file = (struct simpleperf_file){ .path = cursor_text(&cursor) };
		file->type = cursor_u32(&cursor);
		file->min_vaddr = cursor_u64(&cursor);
		file->symbol_count = cursor_u32(&cursor);
		size_t symbols = cursor.at;
		struct simpleperf_symbol symbol;
		for (uint32_t i = 0; i < file->symbol_count && !cursor.failed; i++)
			next_symbol(&cursor, &symbol);
		if (cursor.failed) {
			++*bad;
			continue;
		}
		file->symbols =
			(struct span){ (const uint8_t *)bytes + symbols, cursor.at - symbols };
		if (file->type == SIMPLEPERF_TYPE_ELF || file->type == SIMPLEPERF_TYPE_MODULE) {
			file->has_min_offset = cursor_left(&cursor) >= 8;
			file->min_offset = cursor_u64(&cursor);
		}
		return true;
	}
	return false;
}

/* ---- FILE2: messages of protobuf */

enum { WIRE_VARINT, WIRE_FIXED64, WIRE_BYTES, WIRE_FIXED32 = 5 };

struct field {
	uint64_t number;
	unsigned wire;
	uint64_t value;	   /* of a varint */
	struct span bytes; /* of WIRE_BYTES */
};

/* False at the end, and with the cursor failed at what is no field. */
static bool next_field(struct cursor *cursor, struct field *field)
{
	if (cursor_left(cursor) == 0)
		return false;
	uint64_t key = cursor_varint(cursor);
	*field = (struct field){ .number = key >> 3, .wire = key & 7 };
	switch (field->wire) {
	case WIRE_VARINT:
		field->value = cursor_varint(cursor);
		break;
	case WIRE_FIXED64:
		cursor_take(cursor, 8);
		break;
	case WIRE_FIXED32:
		cursor_take(cursor, 4);
		break;
	case WIRE_BYTES:
		field->bytes.size = cursor_varint(cursor);
		field->bytes.data = cursor_take(cursor, field->bytes.size);
		break;
	default:
		cursor->failed = true;
	}
	return !cursor->failed;
}

/* The one number in the message of an ELF file or a kernel module. */
static uint64_t first_number(struct span message)
{
	struct cursor cursor = cursor_of(message.data, message.size);
	struct field field;
	while (next_field(&cursor, &field))
		if (field.number == 1 && field.wire == WIRE_VARINT)
			return field.value;
	return 0;
}

enum file2_field { PATH2 = 1, TYPE2, MIN_VADDR2, SYMBOL2, DEX2, ELF2, MODULE2 };

bool simpleperf_next_file2(struct cursor *all, struct simpleperf_file *file, size_t *bad)
{
	while (cursor_left(all) > 0) {
		uint32_t size = cursor_u32(all);
		const void *bytes = cursor_take(all, size);
		struct cursor cursor = cursor_of(bytes, bytes ? size : 0);
		struct field field;
		*file = (struct simpleperf_file){ .protobuf = true, .symbols = { bytes, size } };
		while (next_field(&cursor, &field)) {
			if (field.number == PATH2 && field.wire == WIRE_BYTES)
				file->path = field.bytes;
			else if (field.number == TYPE2 && field.wire == WIRE_VARINT)
				file->type = (uint32_t)field.value;
			else if (field.number == MIN_VADDR2 && field.wire == WIRE_VARINT)
				file->min_vaddr = field.value;
			else if ((field.number == ELF2 || field.number == MODULE2) &&
				 field.wire == WIRE_BYTES)
				file->min_offset = first_number(field.bytes);
		}
		file->has_min_offset = true; /* protobuf leaves a 0 out */
		if (bytes && !cursor.failed)
			return true;
		++*bad;
	}
	return false;
}

enum symbol2_field { VADDR2 = 1, LENGTH2, NAME2 };

static bool next_symbol2(struct cursor *cursor, struct simpleperf_symbol *symbol)
{
	struct field field, part;
	while (next_field(cursor, &field)) {
		if (field.number != SYMBOL2 || field.wire != WIRE_BYTES)
			continue;
		struct cursor inner = cursor_of(field.bytes.data, field.bytes.size);
		*symbol = (struct simpleperf_symbol){ 0 };
		while (next_field(&inner, &part)) {
			if (part.number == VADDR2 && part.wire == WIRE_VARINT)
				symbol->vaddr = part.value;
			else if (part.number == LENGTH2 && part.wire == WIRE_VARINT)
				symbol->size_bytes = (uint32_t)part.value;
			else if (part.number == NAME2 && part.wire == WIRE_BYTES)
				symbol->name = part.bytes;
		}
		return true;
	}
	return false;
}

/* ---- Of either form */

bool simpleperf_next_symbol(struct simpleperf_file *file, struct simpleperf_symbol *symbol)
{
	struct cursor cursor = cursor_of(file->symbols.data, file->symbols.size);
	bool found = file->protobuf ? next_symbol2(&cursor, symbol)
				    : cursor_left(&cursor) > 0 && next_symbol(&cursor, symbol);
	if (!found)
		return false;
	file->symbols = (struct span){ cursor.start + cursor.at, cursor.size - cursor.at };
	return true;
}
