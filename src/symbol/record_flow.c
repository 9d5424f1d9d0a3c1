/* Code, and what it takes to follow its flow: tables of jumps, entries, callees. */
#include "symbol/record.h"

#include "base/cursor.h"
#include "symbol/record_parts.h"

static void put_bytes(struct buffer *out, struct span bytes)
{
	buffer_append_u8(out, RECORD_VERSION);
	buffer_append(out, bytes.data, bytes.size);
}

/* What is behind the version, at least one byte. */
static bool get_bytes(const struct record *record, struct span *bytes)
{
	struct cursor cursor = cursor_of(record->content.data, record->content.size);
	uint8_t version = cursor_u8(&cursor);
	size_t left = cursor_left(&cursor);
	*bytes = (struct span){ cursor_take(&cursor, left), left };
	return !cursor.failed && version == RECORD_VERSION && left > 0 &&
	       record->last >= record->first;
}

void record_put_code(struct buffer *out, struct span code)
{
	put_bytes(out, code);
}

bool record_get_code(const struct record *record, struct span *code)
{
	return get_bytes(record, code) && record->last - record->first == code->size - 1;
}

void record_put_data(struct buffer *out, struct span data)
{
	put_bytes(out, data);
}

bool record_get_data(const struct record *record, struct span *data)
{
	return get_bytes(record, data) && record->last - record->first == data->size - 1;
}

void record_put_callee(struct buffer *out, struct span name)
{
	put_bytes(out, name);
}

bool record_get_callee(const struct record *record, struct span *name)
{
	return get_bytes(record, name) && record->last == record->first &&
	       !memchr(name->data, 0, name->size);
}

void record_put_entries(struct buffer *out, uint64_t first, const struct entry_place *places,
			size_t count)
{
	uint64_t before = first;
	buffer_append_u8(out, RECORD_VERSION);
	for (size_t i = 0; i < count; i++) {
		buffer_append_varint(out, places[i].vaddr - before);
		buffer_append_varint(out, places[i].kind);
		before = places[i].vaddr;
	}
}

bool record_next_entry(const struct record *record, struct entries_cursor *at,
		       struct entry_place *place)
{
	struct cursor cursor = cursor_of(record->content.data, record->content.size);
	if (at->at == 0) {
		if (cursor_u8(&cursor) != RECORD_VERSION || record->last < record->first)
			return false;
		*at = (struct entries_cursor){ 1, { record->first, UINT64_MAX } };
	} else {
		cursor_take(&cursor, at->at);
	}
	if (cursor_left(&cursor) == 0)
		return false;
	uint64_t advance = cursor_varint(&cursor);
	uint64_t kind = cursor_varint(&cursor);
	/* by vaddr, then kind, and never the start itself */
	if (cursor.failed || advance > record->last - at->last.vaddr ||
	    (advance == 0 && (at->last.kind == UINT64_MAX || kind <= at->last.kind)) ||
	    kind == UINT64_MAX)
		return false;
	*at = (struct entries_cursor){ cursor.at, { at->last.vaddr + advance, kind } };
	*place = at->last;
	return true;
}

bool record_entries_right(const struct record *record)
{
	struct entries_cursor cursor = { 0 };
	struct entry_place place;
	size_t count = 0;
	while (record_next_entry(record, &cursor, &place))
		count++;
	return count > 0 && cursor.at == record->content.size;
}
