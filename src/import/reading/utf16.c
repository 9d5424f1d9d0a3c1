#include "import/reading/utf16.h"

#include "base/utf8.h"

static bool is_ascii_text(uint8_t c)
{
	return (c >= 0x20 && c < 0x7f) || c == '\t' || c == '\r' || c == '\n';
}

enum utf16_order utf16_order_of(const void *bytes, size_t size)
{
	const uint8_t *b = bytes;
	bool little = size >= 8, big = size >= 8;
	if (size >= 2 && b[0] == 0xff && b[1] == 0xfe)
		return UTF16_LITTLE;
	if (size >= 2 && b[0] == 0xfe && b[1] == 0xff)
		return UTF16_BIG;
	for (size_t i = 0; i + 1 < size && i < 64; i += 2) {
		little = little && is_ascii_text(b[i]) && !b[i + 1];
		big = big && !b[i] && is_ascii_text(b[i + 1]);
	}
	return little ? UTF16_LITTLE : big ? UTF16_BIG : UTF16_NONE;
}

static uint8_t *put_unit(struct utf16 *text, uint16_t unit, uint8_t *out)
{
	bool second = unit >= 0xdc00 && unit < 0xe000;
	uint16_t lead = text->lead;
	text->lead = 0;
	if (lead && second)
		return out + utf8_put(out, 0x10000u + ((uint32_t)(lead - 0xd800) << 10) +
						   (unit - 0xdc00u));
	if (lead)
		out += utf8_put(out, UTF8_REPLACEMENT);
	if (unit >= 0xd800 && unit < 0xdc00) {
		text->lead = unit;
		return out;
	}
	return out + utf8_put(out, second ? UTF8_REPLACEMENT : unit);
}

size_t utf16_convert(struct utf16 *text, const void *bytes, size_t size, uint8_t *out)
{
	const uint8_t *b = bytes;
	uint8_t *at = out;
	for (size_t i = 0; i < size; i++) {
		if (!text->holds) {
			text->held = b[i];
			text->holds = true;
			continue;
		}
		uint16_t first = text->held, second = b[i];
		text->holds = false;
		at = put_unit(text,
			      (uint16_t)(text->order == UTF16_BIG ? first << 8 | second
								  : second << 8 | first),
			      at);
	}
	return (size_t)(at - out);
}

bool utf16_ended(const struct utf16 *text)
{
	return !text->holds && !text->lead;
}
