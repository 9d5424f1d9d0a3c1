#include "base/protobuf.h"

#include <errno.h>

#define FIELD_NUMBER_MAX ((1u << 29) - 1)

bool protobuf_next(struct cursor *cursor, struct protobuf_field *field)
{
	if (cursor_left(cursor) == 0)
		return false;
	*field = (struct protobuf_field){ 0 };
	uint64_t key = cursor_varint(cursor);
	uint64_t size;
	if (key >> 3 == 0 || key >> 3 > FIELD_NUMBER_MAX)
		cursor->failed = true;
	field->number = (uint32_t)(key >> 3);
	field->wire = (enum protobuf_wire)(key & 7);
	switch (key & 7) {
	case PROTOBUF_VARINT:
		field->value = cursor_varint(cursor);
		break;
	case PROTOBUF_FIXED64:
		field->value = cursor_u64(cursor);
		break;
	case PROTOBUF_FIXED32:
		field->value = cursor_u32(cursor);
		break;
	case PROTOBUF_BYTES:
		size = cursor_varint(cursor);
		if (size > cursor_left(cursor))
			cursor->failed = true;
		else
			field->bytes =
				(struct span){ cursor_take(cursor, (size_t)size), (size_t)size };
		break;
	default:
		cursor->failed = true;
	}
	return !cursor->failed;
}

int protobuf_numbers(const struct protobuf_field *field,
		     int (*take)(void *context, uint64_t number), void *context)
{
	if (field->wire == PROTOBUF_VARINT)
		return take(context, field->value);
	if (field->wire != PROTOBUF_BYTES)
		return -EBADMSG;
	struct cursor cursor = cursor_of(field->bytes.data, field->bytes.size);
	while (cursor_left(&cursor)) {
		uint64_t number = cursor_varint(&cursor);
		int ret = cursor.failed ? -EBADMSG : take(context, number);
		if (ret < 0)
			return ret;
	}
	return 0;
}
