#include "protobuf_mutator.h"

#include <string.h>

#include "base/cursor.h"
#include "base/varint.h"

#define DEPTH_MOST 6

enum wire { WIRE_VARINT, WIRE_FIXED64, WIRE_BYTES, WIRE_START, WIRE_END, WIRE_FIXED32 };

struct field {
	uint64_t number;
	enum wire wire;
	uint64_t value;
	struct span bytes;
};

static bool next_field(struct cursor *cursor, struct field *field)
{
	if (cursor_left(cursor) == 0)
		return false;
	uint64_t key = cursor_varint(cursor);
	*field = (struct field){ .number = key >> 3, .wire = key & 7 };
	size_t size = 0;
	switch (field->wire) {
	case WIRE_VARINT:
		field->value = cursor_varint(cursor);
		return !cursor->failed;
	case WIRE_BYTES:
		size = cursor_varint(cursor);
		break;
	case WIRE_FIXED64:
		size = 8;
		break;
	case WIRE_FIXED32:
		size = 4;
		break;
	default:
		return false;
	}
	field->bytes.data = cursor_take(cursor, size);
	field->bytes.size = size;
	return !cursor->failed;
}

/* False when it is no message to its end. */
static bool cut_fields(struct pieces *fields, struct span message)
{
	struct cursor cursor = cursor_of(message.data, message.size);
	struct field field;
	fields->count = 0;
	for (;;) {
		size_t before = cursor.at;
		if (!next_field(&cursor, &field))
			break;
		pieces_add(fields, (struct span){ (const uint8_t *)message.data + before,
						  cursor.at - before });
	}
	return !cursor.failed && cursor.at == message.size;
}

static struct span made_field(uint64_t number, enum wire wire, uint64_t value, struct span bytes)
{
	uint8_t *room = mutator_room(2 * VARINT_MAX_BYTES + bytes.size);
	if (!room)
		return (struct span){ "", 0 };
	size_t size = varint_put(room, number << 3 | wire);
	if (wire == WIRE_VARINT || wire == WIRE_BYTES)
		size += varint_put(room + size, value);
	if (wire != WIRE_VARINT && bytes.size) {
		memcpy(room + size, bytes.data, bytes.size);
		size += bytes.size;
	}
	return (struct span){ room, size };
}

/* All fields of that number as one that packs their numbers, or the other way round. */
static void repack(struct pieces *fields, const struct field *like)
{
	static struct pieces made;
	static uint8_t packed[65536];
	size_t used = 0;
	made.count = 0;
	for (size_t i = 0; i < fields->count; i++) {
		struct field field;
		struct cursor cursor = cursor_of(fields->list[i].data, fields->list[i].size);
		if (!next_field(&cursor, &field) || field.number != like->number) {
			pieces_add(&made, fields->list[i]);
		} else if (field.wire == WIRE_VARINT) {
			if (used + VARINT_MAX_BYTES <= sizeof(packed))
				used += varint_put(packed + used, field.value);
		} else {
			struct cursor inner = cursor_of(field.bytes.data, field.bytes.size);
			while (cursor_left(&inner) > 0) {
				uint64_t value = cursor_varint(&inner);
				pieces_add(&made, made_field(field.number, WIRE_VARINT, value,
							     (struct span){ NULL, 0 }));
			}
		}
	}
	if (used)
		pieces_add(&made, made_field(like->number, WIRE_BYTES, used,
					     (struct span){ packed, used }));
	*fields = made;
}

static struct span changed(struct span message, struct random_state *random, int depth);

static struct span changed_field(struct span old, struct random_state *random, int depth)
{
	struct field field;
	struct cursor cursor = cursor_of(old.data, old.size);
	if (!next_field(&cursor, &field))
		return old;
	switch (random_below(random, 8)) {
	case 0:
		field.number = random_below(random, 17);
		break;
	case 1:
		field.wire = (enum wire)random_below(random, 8);
		break;
	case 2: /* a length that does not fit */
		if (field.wire == WIRE_BYTES)
			return made_field(
				field.number, field.wire,
				mutator_number(random, field.bytes.size, field.bytes.size),
				field.bytes);
		break;
	default:
		if (field.wire == WIRE_BYTES)
			field.bytes = changed(field.bytes, random, depth + 1);
		break;
	}
	if (field.wire == WIRE_VARINT)
		field.value = mutator_number(random, field.value, 16);
	else
		field.value = field.bytes.size;
	return made_field(field.number, field.wire, field.value, field.bytes);
}

static struct span changed(struct span message, struct random_state *random, int depth)
{
	struct pieces fields;
	if (depth > DEPTH_MOST || !cut_fields(&fields, message) || !fields.count ||
	    random_one_in(random, 16))
		return mutator_bytes(message, random);
	size_t at = random_below(random, fields.count);
	struct field field;
	struct cursor cursor = cursor_of(fields.list[at].data, fields.list[at].size);
	switch (random_below(random, 8)) {
	case 0:
	case 1:
	case 2:
		pieces_change(&fields, random);
		break;
	case 3:
		if (next_field(&cursor, &field))
			repack(&fields, &field);
		break;
	default:
		fields.list[at] = changed_field(fields.list[at], random, depth);
		break;
	}
	return pieces_joined(&fields);
}

struct span protobuf_changed(struct span message, struct random_state *random)
{
	return changed(message, random, 0);
}

struct span protobuf_crossed(struct span message, struct span other, struct random_state *random)
{
	static struct pieces fields, more;
	cut_fields(&fields, message);
	cut_fields(&more, other);
	pieces_cross(&fields, &more, random);
	return pieces_joined(&fields);
}
