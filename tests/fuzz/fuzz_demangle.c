#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/error.h"
#include "symbol/name_parts.h"

#define NAMES_MAX 16

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void *after(struct span span)
{
	return span.size ? (uint8_t *)span.data + span.size : NULL;
}

/* The parts are all of the name, in its order, but for the underscore of macOS. */
static void check_parts(struct span name, const struct name_parts *parts)
{
	size_t sum = parts->before.size + parts->mangled.size + parts->behind.size;
	assert(sum == name.size || sum + 1 == name.size);
	if (parts->before.size)
		assert(parts->before.data == name.data);
	if (parts->mangled.size)
		assert((uint8_t *)parts->mangled.data ==
		       (uint8_t *)name.data + parts->before.size + (name.size - sum));
	if (parts->behind.size)
		assert(after(parts->behind) == after(name) && *(char *)parts->behind.data == '@');
	assert(!parts->mangled.size || !memchr(parts->mangled.data, '@', parts->mangled.size));
	if (sum != name.size || name_parts_look_mangled(parts))
		assert(*(char *)parts->mangled.data == '_');
}

static void check_shown(const struct name_parts *parts, struct span text, const char *shown)
{
	if (!text.size) {
		assert(!shown);
		return;
	}
	assert(text.size <= NAME_SHOWN_MAX_BYTES);
	if (!shown) /* out of memory */
		return;
	const struct span pieces[] = { parts->before, text, parts->behind, { "", 1 } };
	for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
		assert(!pieces[i].size || memcmp(shown, pieces[i].data, pieces[i].size) == 0);
		shown += pieces[i].size;
	}
}

/* How many names, each behind its size, and an answer for them, of any bytes: it is taken as a
 * whole or not at all. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct name_parts parts[NAMES_MAX] = { 0 };
	static char unset;
	char *shown[NAMES_MAX];
	struct cursor cursor = cursor_of(data, size);
	size_t count = cursor_u8(&cursor) % (NAMES_MAX + 1);
	for (size_t i = 0; i < count; i++) {
		struct span name = { NULL, cursor_u8(&cursor) };
		name.data = cursor_take(&cursor, name.size);
		if (cursor.failed)
			return 0;
		parts[i] = name_parts_of(name);
		check_parts(name, &parts[i]);
		shown[i] = &unset;
	}
	const struct span answer = { data + cursor.at, size - cursor.at };
	struct error err = { 0 };
	int ret = name_parts_read(answer, parts, count, shown, &err);
	assert(ret == 0 || err.text[0]);
	for (size_t i = 0; i < count; i++) {
		struct span text = cursor_text(&cursor);
		assert(ret == 0 ? !cursor.failed : !shown[i]);
		if (ret == 0)
			check_shown(&parts[i], text, shown[i]);
		free(shown[i]);
	}
	assert(ret < 0 || cursor_left(&cursor) == 0);
	return 0;
}
