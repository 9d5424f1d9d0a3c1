#include "image/notes.h"

#include <elf.h>

#include "base/cursor.h"

/* Padding after a name or descriptor; the bytes may end without it. */
static void skip_padding(struct cursor *cursor, size_t size)
{
	size_t padding = (4 - size % 4) % 4;
	size_t left = cursor_left(cursor);
	cursor_take(cursor, padding < left ? padding : left);
}

struct span notes_find_build_id(struct span notes)
{
	struct cursor cursor = cursor_of(notes.data, notes.size);
	while (cursor_left(&cursor) >= 12) {
		uint32_t name_size = cursor_u32(&cursor);
		uint32_t size = cursor_u32(&cursor);
		uint32_t type = cursor_u32(&cursor);
		struct span name = { cursor_take(&cursor, name_size), name_size };
		skip_padding(&cursor, name_size);
		const void *content = cursor_take(&cursor, size);
		skip_padding(&cursor, size);
		if (cursor.failed)
			break;
		if (type == NT_GNU_BUILD_ID && span_equal(name, (struct span){ "GNU", 4 }) &&
		    size >= 1 && size <= BUILD_ID_MAX_BYTES)
			return (struct span){ content, size };
	}
	return (struct span){ NULL, 0 };
}
