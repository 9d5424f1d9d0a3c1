#include "render/text_table.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/count_of.h"

void text_table_init(struct text_table *table, const enum text_align *align, size_t columns)
{
	*table = (struct text_table){ .columns = columns };
	table->align = calloc(columns + 1, sizeof(*align));
	if (table->align)
		memcpy(table->align, align, columns * sizeof(*align));
	else
		table->failed = true;
}

void text_table_release(struct text_table *table)
{
	free(table->align);
	free(table->cells);
	arena_release(&table->arena);
	buffer_release(&table->raw);
	buffer_release(&table->safe);
	*table = (struct text_table){ 0 };
}

void text_table_add(struct text_table *table, enum text_style style, const char *format, ...)
{
	if (table->failed)
		return;
	table->raw.size = table->safe.size = 0;
	va_list args;
	va_start(args, format);
	char shorter[256];
	va_list again;
	va_copy(again, args);
	int size = vsnprintf(shorter, sizeof(shorter), format, args);
	char *text = shorter;
	if (size >= (int)sizeof(shorter)) {
		text = buffer_extend(&table->raw, (size_t)size + 1);
		if (text)
			vsnprintf(text, (size_t)size + 1, format, again);
	}
	va_end(again);
	va_end(args);
	const char *kept = NULL;
	if (size >= 0 && text) {
		text_append_safe(&table->safe, text, (size_t)size);
		if (!buffer_failed(&table->safe))
			kept = arena_copy_text(&table->arena, (const char *)table->safe.data,
					       table->safe.size);
	}
	if (!kept || array_reserve(&table->cells, &table->capacity, table->count,
				   sizeof(*table->cells)) < 0) {
		table->failed = true;
		return;
	}
	table->cells[table->count++] = (struct text_cell){ kept, style };
}

#define STYLE_BYTES 4

static const char style_codes[][STYLE_BYTES + 1] = { "\033[0m", "\033[2m", "\033[1m" };

void text_append_style(struct buffer *out, enum text_colour colour, enum text_style style)
{
	if (colour == TEXT_WITH_COLOUR)
		buffer_append(out, style_codes[style], STYLE_BYTES);
}

size_t text_style_size(const char *text, size_t left)
{
	if (left < STYLE_BYTES || text[0] != style_codes[0][0])
		return 0;
	for (size_t i = 0; i < COUNT_OF(style_codes); i++)
		if (memcmp(text, style_codes[i], STYLE_BYTES) == 0)
			return STYLE_BYTES;
	return 0;
}

static void pad(struct buffer *out, size_t count)
{
	for (size_t i = 0; i < count; i++)
		buffer_append_u8(out, ' ');
}

static size_t take_off(size_t room, size_t *debt)
{
	size_t taken = room < *debt ? room : *debt;
	*debt -= taken;
	return room - taken;
}

static void print_row(const struct text_table *table, const struct text_cell *cells,
		      const size_t *widths, enum text_colour colour, struct buffer *out)
{
	size_t waiting = 0; /* spaces are written before something only: no line ends in them */
	size_t debt = 0;    /* what a long text took of the columns after it */
	for (size_t i = 0; i < table->columns; i++) {
		size_t width = text_width(cells[i].text);
		size_t room = widths[i] > width ? take_off(widths[i] - width, &debt) : 0;
		if (width > widths[i])
			debt += width - widths[i];
		if (table->align[i] == TEXT_RIGHT)
			waiting += room;
		if (width) {
			pad(out, waiting);
			waiting = 0;
			if (cells[i].style != TEXT_PLAIN)
				text_append_style(out, colour, cells[i].style);
			buffer_append_text(out, cells[i].text);
			if (cells[i].style != TEXT_PLAIN)
				text_append_style(out, colour, TEXT_PLAIN);
		}
		if (table->align[i] != TEXT_RIGHT)
			waiting += room;
		waiting += 2;
	}
	buffer_append_u8(out, '\n');
}

void text_table_print(const struct text_table *table, enum text_colour colour, struct buffer *out)
{
	size_t *widths = calloc(table->columns + 1, sizeof(*widths));
	if (!widths || table->failed) {
		out->failed = true;
		free(widths);
		return;
	}
	for (size_t i = 0; i < table->count; i++) {
		size_t width = text_width(table->cells[i].text);
		size_t column = i % table->columns;
		if (table->align[column] == TEXT_NARROW && width > TEXT_NARROW_WIDTH)
			width = TEXT_NARROW_WIDTH;
		if (width > widths[column])
			widths[column] = width;
	}
	for (size_t i = 0; i + table->columns <= table->count; i += table->columns)
		print_row(table, table->cells + i, widths, colour, out);
	free(widths);
}
