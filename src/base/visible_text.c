#include "base/visible_text.h"

#include <string.h>

#include "base/buffer.h"
#include "base/character_ranges.h"
#include "base/count_of.h"
#include "base/utf8.h"

enum character_kind character_kind(uint32_t character)
{
	size_t low = 0, high = COUNT_OF(character_ranges);
	if (character < 0x80)
		return character < 0x20 || character == 0x7f ? CHARACTER_HIDDEN : CHARACTER_PLAIN;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct character_range *range = &character_ranges[middle];
		if (character < range->first)
			high = middle;
		else if (character > range->last)
			low = middle + 1;
		else
			return range->kind;
	}
	return CHARACTER_PLAIN;
}

static bool is_plain_ascii(uint8_t c)
{
	return c >= 0x20 && c < 0x7f;
}

size_t visible_text_next(struct visible_text *text, bool *shown)
{
	const uint8_t *start = text->at;
	size_t left = (size_t)(text->end - start);
	while (text->at < text->end && is_plain_ascii(*text->at))
		text->at++;
	*shown = text->at > start;
	if (*shown) {
		text->marks = VISIBLE_MARKS;
		return (size_t)(text->at - start);
	}
	size_t size = utf8_sequence(start, left);
	enum character_kind kind =
		size ? character_kind(utf8_character(start, size)) : CHARACTER_HIDDEN;
	if (kind == CHARACTER_MARK) {
		*shown = text->marks > 0;
		text->marks -= *shown;
	} else {
		*shown = kind != CHARACTER_HIDDEN;
		text->marks = *shown ? VISIBLE_MARKS : 0;
	}
	size = size ? size : 1;
	text->at += size;
	return size;
}

void text_append_codes(struct buffer *out, const uint8_t *bytes, size_t size)
{
	static const char digits[] = "0123456789abcdef";
	for (size_t i = 0; i < size; i++) {
		const char code[] = { '\\', 'x', digits[bytes[i] >> 4], digits[bytes[i] & 15] };
		buffer_append(out, code, sizeof(code));
	}
}

void text_append_safe(struct buffer *out, const char *text, size_t size)
{
	struct visible_text left = visible_text_of(text, size);
	while (left.at < left.end) {
		bool shown;
		size_t taken = visible_text_next(&left, &shown);
		if (shown)
			buffer_append(out, left.at - taken, taken);
		else
			text_append_codes(out, left.at - taken, taken);
	}
}

size_t text_width(const char *text)
{
	size_t width = 0;
	const uint8_t *end = (const uint8_t *)text + strlen(text);
	for (const uint8_t *at = (const uint8_t *)text; at < end;) {
		size_t size = utf8_sequence(at, (size_t)(end - at));
		enum character_kind kind =
			size > 1 ? character_kind(utf8_character(at, size)) : CHARACTER_PLAIN;
		width += kind == CHARACTER_WIDE ? 2 : kind == CHARACTER_MARK ? 0 : 1;
		at += size ? size : 1;
	}
	return width;
}
