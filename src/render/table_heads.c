#include "render/table_heads.h"

#include <stdarg.h>
#include <stdio.h>

void table_heads_add(struct table_heads *heads, enum text_align align, const char *format, ...)
{
	if (heads->count == TABLE_HEADS_MAX)
		return;
	va_list args;
	va_start(args, format);
	vsnprintf(heads->text[heads->count], QUANTITY_SIZE, format, args);
	va_end(args);
	heads->align[heads->count++] = align;
}

void table_heads_begin(const struct table_heads *heads, struct text_table *table)
{
	text_table_init(table, heads->align, heads->count);
	for (size_t i = 0; i < heads->count; i++)
		text_table_add(table, TEXT_BOLD, "%s", heads->text[i]);
}
