#include "render/listing_figures.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"

#define PERCENT_WIDTH 7

int figures_init(struct figures *figures, const struct annotate_procedure *procedure,
		 const struct event_columns *columns)
{
	*figures = (struct figures){ 0 };
	figures->columns = calloc(columns->count + 1, sizeof(*figures->columns));
	if (!figures->columns)
		return -ENOMEM;
	figures->width = 2;
	for (size_t c = 0; c < columns->count; c++) {
		if (cell_is_empty(&procedure->cells[c]))
			continue;
		struct figure_column *column = &figures->columns[figures->count++];
		char text[QUANTITY_SIZE];
		column->index = c;
		column->event = &columns->list[c];
		column->total = procedure->cells[c];
		column->divisor = event_column_divisor(column->event);
		double total = (double)column->total.estimate / column->divisor;
		column->scale = quantity_scale_for(total, column->event->unit);
		if (column->scale.divisor == 1) /* counts that came with decimals show them */
			column->scale.decimals =
				column->event->scale < 3 ? (int)column->event->scale : 3;
		quantity_format(&column->scale, total, text);
		column->estimate_width = (int)strlen(text);
		if (column->estimate_width < 8)
			column->estimate_width = 8;
		quantity_count(column->total.samples, text);
		column->samples_width = (int)strlen(text) < 7 ? 7 : (int)strlen(text);
		figures->width +=
			column->samples_width + 2 + column->estimate_width + 1 + PERCENT_WIDTH + 2;
	}
	return 0;
}

void figures_release(struct figures *figures)
{
	free(figures->columns);
	*figures = (struct figures){ 0 };
}

static int column_width(const struct figure_column *column)
{
	return column->samples_width + 2 + column->estimate_width + 1 + PERCENT_WIDTH;
}

void figures_print_head(const struct figures *figures, const char *above, const char *beside,
			struct buffer *out)
{
	buffer_append_text(out, "  ");
	for (size_t c = 0; c < figures->count; c++) {
		const struct figure_column *column = &figures->columns[c];
		char name[256];
		int size = snprintf(name, sizeof(name), "%.*s%s%.*s", (int)column->event->name.size,
				    (const char *)column->event->name.data,
				    column->event->core_type.size ? " " : "",
				    (int)column->event->core_type.size,
				    column->event->core_type.size
					    ? (const char *)column->event->core_type.data
					    : "");
		if (size > column_width(column))
			name[column_width(column)] = 0;
		struct buffer safe = { 0 };
		text_append_safe(&safe, name, strlen(name));
		buffer_printf(out, "%*s  ", column_width(column), buffer_text(&safe));
		buffer_release(&safe);
	}
	buffer_append_text(out, above);
	while (out->size && out->data[out->size - 1] == ' ')
		out->size--;
	buffer_append_text(out, "\n  ");
	for (size_t c = 0; c < figures->count; c++) {
		const struct figure_column *column = &figures->columns[c];
		char unit[QUANTITY_SIZE + 8];
		snprintf(unit, sizeof(unit), "%s",
			 column->scale.unit[0] ? column->scale.unit : "events");
		buffer_printf(out, "%*s  %*s %*s  ", column->samples_width, "samples",
			      column->estimate_width, unit, PERCENT_WIDTH, "%");
	}
	buffer_append_text(out, beside);
	buffer_append_u8(out, '\n');
}

double figures_share(const struct figures *figures, const struct cell *cells)
{
	double most = 0;
	for (size_t c = 0; c < figures->count; c++) {
		double total = (double)figures->columns[c].total.estimate;
		double share =
			total > 0 ? 100 * (double)cells[figures->columns[c].index].estimate / total
				  : 0;
		if (share > most)
			most = share;
	}
	return most;
}

static void print_column(const struct figure_column *column, const struct cell *cell,
			 struct buffer *out)
{
	char samples[QUANTITY_SIZE] = "-", estimate[QUANTITY_SIZE], percent[QUANTITY_SIZE];
	if (cell_is_empty(cell)) {
		buffer_printf(out, "%*s  ", column_width(column), "");
		return;
	}
	if (column->event->sampled)
		quantity_count(cell->samples, samples);
	quantity_format(&column->scale, (double)cell->estimate / column->divisor, estimate);
	quantity_percent((double)cell->estimate, (double)column->total.estimate, percent);
	char *sign = strchr(percent, ' '); /* the head of the column says it */
	if (sign)
		*sign = 0;
	buffer_printf(out, "%*s  %*s %*s  ", column->samples_width, samples, column->estimate_width,
		      estimate, PERCENT_WIDTH, percent);
}

void figures_print(const struct figures *figures, const struct cell *cells, struct buffer *out)
{
	buffer_append_text(out, figures_share(figures, cells) >= LISTING_HOT_PERCENT ? "> " : "  ");
	for (size_t c = 0; c < figures->count; c++)
		print_column(&figures->columns[c], &cells[figures->columns[c].index], out);
}

void figures_print_blank(const struct figures *figures, struct buffer *out)
{
	buffer_printf(out, "%*s", figures->width, "");
}
