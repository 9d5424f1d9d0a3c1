#include "render/flame_text.h"

#include <stdio.h>

#include "base/visible_text.h"

void flame_put_number(struct buffer *out, double value)
{
	if (!isfinite(value)) {
		buffer_append_text(out, "null");
		return;
	}
	if (value < 0) {
		buffer_append_u8(out, '-');
		value = -value;
	}
	if (value == 0 || (value >= 0.001 && value < 10000)) {
		flame_put_fixed(out, value,
				value < 0.1    ? 6
				: value < 10   ? 4
				: value < 1000 ? 2
					       : 0);
		return;
	}
	char digits[40];
	int size = snprintf(digits, sizeof(digits), "%.4g", value);
	buffer_append(out, digits, (size_t)size);
}

void flame_put_estimate(struct buffer *out, uint64_t estimate, uint64_t scale)
{
	uint64_t divisor = 1;
	for (uint64_t i = 0; i < scale && i < 19; i++)
		divisor *= 10;
	flame_put_count(out, estimate / divisor);
	uint64_t fraction = estimate % divisor;
	if (fraction == 0)
		return;
	char digits[24];
	int size = snprintf(digits, sizeof(digits), ".%0*llu", (int)(scale < 19 ? scale : 19),
			    (unsigned long long)fraction);
	while (digits[size - 1] == '0')
		size--;
	buffer_append(out, digits, (size_t)size);
}

void flame_put_percent(struct buffer *out, double part, double whole)
{
	double percent = whole > 0 ? 100 * part / whole : 0;
	if (part > 0 && percent < 0.01) {
		buffer_append_text(out, "<0.01 %");
		return;
	}
	if (part < whole && percent > 99.99)
		percent = 99.99;
	flame_put_fixed(out, percent, 2);
	buffer_append_text(out, " %");
}

/* Bytes that can be shown, where markup has a meaning for some of them. */
static void put_entities(struct buffer *out, const uint8_t *text, size_t size)
{
	size_t written = 0;
	for (size_t i = 0; i < size; i++) {
		const char *entity = text[i] == '<'    ? "&lt;"
				     : text[i] == '>'  ? "&gt;"
				     : text[i] == '&'  ? "&amp;"
				     : text[i] == '"'  ? "&quot;"
				     : text[i] == '\'' ? "&#39;"
						       : NULL;
		if (!entity)
			continue;
		buffer_append(out, text + written, i - written);
		buffer_append_text(out, entity);
		written = i + 1;
	}
	if (written < size)
		buffer_append(out, text + written, size - written);
}

void flame_put_escaped(struct buffer *out, const char *text, size_t size)
{
	struct visible_text left = visible_text_of(text, size);
	while (left.at < left.end) {
		bool shown;
		size_t taken = visible_text_next(&left, &shown);
		if (shown)
			put_entities(out, left.at - taken, taken);
		else
			text_append_codes(out, left.at - taken, taken);
	}
}

/* Rounded up from the widest of the fonts that the page asks for, at 11.5 px. */
static double letter_px(uint8_t c)
{
	if (strchr("ijlI.,:;|'!", c) && c)
		return 4.0;
	if (strchr("frt()[]/ -", c) && c)
		return 5.0;
	if (strchr("mwMW@%", c) && c)
		return 11.3;
	return c >= 'A' && c <= 'Z' ? 8.6 : c >= 0xe0 ? 12.0 : 7.4;
}

size_t flame_text_fit(const char *text, size_t size, double px)
{
	size_t at = 0;
	while (at < size) {
		px -= letter_px((uint8_t)text[at]);
		if (px < 0)
			break;
		at++;
		while (at < size && ((uint8_t)text[at] & 0xc0) == 0x80)
			at++;
	}
	return at;
}

size_t flame_text_length(const char *text, size_t size)
{
	size_t characters = 0;
	for (size_t i = 0; i < size; i++)
		characters += ((uint8_t)text[i] & 0xc0) != 0x80;
	return characters;
}
