#include "base/csv_cell.h"

#include <stdbool.h>
#include <string.h>

#include "base/count_of.h"
#include "base/visible_text.h"

static bool needs_quotes(const struct buffer *text, const char *separator)
{
	for (size_t i = 0; i < text->size; i++)
		if (text->data[i] == (uint8_t)separator[0] || text->data[i] == '"')
			return true;
	return text->size == 0 || text->data[0] == ' ' || text->data[text->size - 1] == ' ';
}

/* Whether a spreadsheet would run the cell as a formula, or drop a "'" in front, which marks text.
 * East Asian ones accept wide forms of these characters too. */
static bool begins_formula(struct span text)
{
	static const char *const wide[] = { "\xef\xbc\x9d", "\xef\xbc\x8b", "\xef\xbc\x8d",
					    "\xef\xbc\xa0" }; /* = + - @ */
	const char *bytes = text.data;
	if (text.size && bytes[0] && strchr("=+-@'", bytes[0]))
		return true;
	for (size_t i = 0; i < COUNT_OF(wide); i++)
		if (span_starts_with(text, wide[i]))
			return true;
	return false;
}

/* Appends text in which no cell is a formula: a "'" comes before it. Where decimals have a comma,
 * spreadsheets split cells at ';', so each frame of a stack counts as the beginning of a cell. */
static void append_harmless(struct buffer *cell, struct span text)
{
	const char *bytes = text.data;
	for (size_t from = 0; from < text.size;) {
		const char *end = memchr(bytes + from, ';', text.size - from);
		size_t size = end ? (size_t)(end + 1 - bytes) - from : text.size - from;
		const struct span part = { bytes + from, size };
		if (begins_formula(part))
			buffer_append_u8(cell, '\'');
		text_append_safe(cell, part.data, part.size);
		from += size;
	}
}

void csv_cell_append(struct buffer *out, struct buffer *scratch, struct span text,
		     const char *separator)
{
	struct buffer *cell = scratch;
	cell->size = 0;
	append_harmless(cell, text);
	out->failed |= buffer_failed(cell);
	if (!needs_quotes(cell, separator)) {
		buffer_append(out, cell->data, cell->size);
		return;
	}
	size_t written = 0;
	buffer_append_u8(out, '"');
	for (size_t i = 0; i < cell->size; i++) {
		if (cell->data[i] != '"')
			continue;
		buffer_append(out, cell->data + written, i + 1 - written);
		written = i; /* again: a quote is doubled */
	}
	if (written < cell->size)
		buffer_append(out, cell->data + written, cell->size - written);
	buffer_append_u8(out, '"');
}
