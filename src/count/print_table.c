#include "count/print_table.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/count_of.h"
#include "base/visible_text.h"
#include "culprit/counter.h"

#define GAP "  "

static void add_cell(struct print_table *table, const char *text)
{
	buffer_append(&table->texts, text, strlen(text) + 1);
	table->cells++;
}

void print_table_begin(struct print_table *table, const struct print_column *columns, size_t count)
{
	*table = (struct print_table){ .columns = columns, .column_count = count };
	for (size_t i = 0; i < count; i++)
		add_cell(table, columns[i].name);
}

void print_table_text(struct print_table *table, const char *text)
{
	add_cell(table, text ? text : "");
}

void print_table_number(struct print_table *table, double number)
{
	char text[PRINT_NUMBER] = "";
	if (isfinite(number))
		print_number(number, text);
	add_cell(table, text);
}

void print_table_interval(struct print_table *table, double low, double high)
{
	char from[PRINT_NUMBER], to[PRINT_NUMBER];
	print_short_number(low, from);
	print_short_number(high, to);
	if (isnan(low) || isnan(high))
		print_table_text(table, NULL);
	else if (low < high)
		print_table_format(table, "%s .. %s", from, to);
	else
		print_table_text(table, "exact");
}

void print_table_flags(struct print_table *table, uint32_t flags)
{
	CLEANUP(buffer_release) struct buffer words = { 0 };
	print_flags(flags, NULL, &words);
	table->texts.failed |= buffer_failed(&words);
	print_table_text(table, buffer_text(&words));
}

void print_table_short_number(struct print_table *table, double number)
{
	char text[PRINT_NUMBER] = "";
	if (isfinite(number))
		print_short_number(number, text);
	add_cell(table, text);
}

void print_table_count(struct print_table *table, uint64_t count)
{
	print_table_format(table, "%llu", (unsigned long long)count);
}

void print_table_format(struct print_table *table, const char *format, ...)
{
	char text[2 * PRINT_NUMBER];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	add_cell(table, text);
}

static void append_csv(struct buffer *out, const char *text)
{
	if (!text[strcspn(text, ",\"\r\n")]) {
		buffer_append_text(out, text);
		return;
	}
	buffer_append_u8(out, '"');
	for (; *text; text++) {
		if (*text == '"')
			buffer_append_u8(out, '"');
		buffer_append_u8(out, (uint8_t)*text);
	}
	buffer_append_u8(out, '"');
}

static void write_csv(const struct print_table *table, struct buffer *out)
{
	const char *text = (const char *)table->texts.data;
	for (size_t i = 0; i < table->cells; i++) {
		append_csv(out, text);
		buffer_append_u8(out, (i + 1) % table->column_count ? ',' : '\n');
		text += strlen(text) + 1;
	}
}

/* All cells as they are shown, each with its final NUL. */
static void make_visible(const struct print_table *table, struct buffer *safe)
{
	const char *text = (const char *)table->texts.data;
	for (size_t i = 0; i < table->cells; i++) {
		text_append_safe(safe, text, strlen(text));
		buffer_append_u8(safe, '\0');
		text += strlen(text) + 1;
	}
}

/* 0 for a column in which no row has anything. */
static void measure(const struct print_table *table, const char *text, size_t *widths)
{
	const char *head[PRINT_COLUMNS];
	for (size_t i = 0; i < table->cells; i++, text += strlen(text) + 1) {
		size_t column = i % table->column_count, width = text_width(text);
		if (i < table->column_count)
			head[i] = text;
		else if (width && !widths[column])
			widths[column] =
				text_width(head[column]) > 1 ? text_width(head[column]) : 1;
		if (i >= table->column_count && width > widths[column])
			widths[column] = width;
	}
}

static void append_blanks(struct buffer *out, size_t count)
{
	for (; count > 0; count--)
		buffer_append_u8(out, ' ');
}

static void write_cell(const struct print_table *table, size_t cell, const char *text, size_t width,
		       struct buffer *out)
{
	size_t column = cell % table->column_count;
	bool last = column + 1 == table->column_count;
	const char *shown = *text || last || cell < table->column_count ? text : "-";
	size_t blanks = width - text_width(shown);
	if (column)
		buffer_append_text(out, GAP);
	if (table->columns[column].right)
		append_blanks(out, blanks);
	buffer_append_text(out, shown);
	if (!table->columns[column].right && !last)
		append_blanks(out, blanks);
}

static void end_line(struct buffer *out)
{
	while (out->size && out->data[out->size - 1] == ' ')
		out->size--;
	buffer_append_u8(out, '\n');
}

static void write_text(const struct print_table *table, struct buffer *out)
{
	CLEANUP(buffer_release) struct buffer safe = { 0 };
	size_t widths[PRINT_COLUMNS] = { 0 };
	make_visible(table, &safe);
	if (buffer_failed(&safe)) {
		out->failed = true;
		return;
	}
	const char *text = (const char *)safe.data;
	measure(table, text, widths);
	for (size_t i = 0; i < table->cells; i++) {
		if (widths[i % table->column_count])
			write_cell(table, i, text, widths[i % table->column_count], out);
		if ((i + 1) % table->column_count == 0)
			end_line(out);
		text += strlen(text) + 1;
	}
}

void print_table_end(struct print_table *table, enum culprit_print_format format,
		     struct buffer *out)
{
	if (buffer_failed(&table->texts))
		out->failed = true;
	else if (format == CULPRIT_CSV)
		write_csv(table, out);
	else
		write_text(table, out);
	buffer_release(&table->texts);
}

void print_number(double number, char text[PRINT_NUMBER])
{
	snprintf(text, PRINT_NUMBER, isfinite(number) ? "%.15g" : "-", number);
}

void print_short_number(double number, char text[PRINT_NUMBER])
{
	if (fabs(number) >= 1000 && fabs(number) < 1e15)
		snprintf(text, PRINT_NUMBER, "%.0f", number);
	else
		snprintf(text, PRINT_NUMBER, isfinite(number) ? "%.4g" : "-", number);
}

const char *print_flag(size_t index, uint32_t *flag)
{
	static const struct {
		uint32_t flag;
		const char *words;
	} flags[] = {
		{ CULPRIT_ABSENT, "absent" },		{ CULPRIT_MULTIPLEXED, "multiplexed" },
		{ CULPRIT_MIGRATED, "migrated" },	{ CULPRIT_INTERRUPTED, "interrupted" },
		{ CULPRIT_UNSCHEDULED, "unscheduled" }, { CULPRIT_SUBSTITUTE, "substitute" },
		{ CULPRIT_TOO_SMALL, "too small" },	{ CULPRIT_NO_INTERVAL, "no interval" },
	};
	if (index >= COUNT_OF(flags))
		return NULL;
	*flag = flags[index].flag;
	return flags[index].words;
}

void print_flags(uint32_t flags, const char *why, struct buffer *out)
{
	uint32_t flag;
	const char *words, *before = "";
	for (size_t i = 0; (words = print_flag(i, &flag)); i++)
		if (flags & flag) {
			buffer_append_text(out, before);
			buffer_append_text(out, words);
			before = ", ";
		}
	if (why) {
		buffer_append_text(out, *before ? ": " : "");
		buffer_append_text(out, why);
	}
}

void print_trim(struct buffer *note)
{
	if (note->size >= 2 && memcmp(note->data + note->size - 2, "; ", 2) == 0)
		note->size -= 2;
}

int print_write(struct buffer *out, FILE *stream)
{
	if (buffer_failed(out))
		return -ENOMEM;
	return fwrite(out->data, 1, out->size, stream) == out->size && !ferror(stream) ? 0 : -EIO;
}
