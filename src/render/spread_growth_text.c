#include "render/spread_growth_text.h"

#include <math.h>
#include <string.h>

#include "analyze/names/fold_name.h"
#include "analyze/spread/spread_growth.h"
#include "base/buffer.h"
#include "render/quantity.h"
#include "render/spread_text_options.h"
#include "render/table_heads.h"

#define NAME_WIDTH  60
#define LEAST_SHOWN 0.005 /* of the change: less reads as nothing */

static void put_name(const struct spread_row *row, const struct spread_text_options *options,
		     struct buffer *out)
{
	const char *name = row->row->texts[REPORT_PROCEDURE];
	const char *image = row->row->image_name;
	text_append_style(out, options->colour, TEXT_BOLD);
	if (!name) {
		text_append_safe(out, image ? image : "-", strlen(image ? image : "-"));
	} else if (options->full_names) {
		text_append_safe(out, name, strlen(name));
	} else {
		struct buffer folded = { 0 };
		fold_name(name, NAME_WIDTH, &folded);
		const char *text = buffer_text(&folded);
		out->failed |= buffer_failed(&folded);
		text_append_safe(out, text, strlen(text));
		buffer_release(&folded);
	}
	text_append_style(out, options->colour, TEXT_PLAIN);
	if (name && image && *image) {
		buffer_append_text(out, " in ");
		text_append_safe(out, image, strlen(image));
	}
}

static void put_value(struct text_table *table, const struct quantity_scale *scale, double low,
		      double high, bool sign)
{
	char ends[2][QUANTITY_SIZE];
	const double values[] = { low, high };
	for (size_t i = 0; i < 2; i++)
		quantity_format(scale, fabs(values[i]), ends[i]);
	const char *signs[2];
	for (size_t i = 0; i < 2; i++) {
		bool zero = strspn(ends[i], "0.") == strlen(ends[i]);
		signs[i] = zero ? "" : values[i] < 0 ? "-" : sign ? "+" : "";
	}
	if (strcmp(ends[0], ends[1]) == 0 && strcmp(signs[0], signs[1]) == 0)
		text_table_add(table, TEXT_PLAIN, "%s%s", signs[0], ends[0]);
	else
		text_table_add(table, TEXT_PLAIN, "%s%s..%s%s", signs[0], ends[0], signs[1],
			       ends[1]);
}

static void put_causes(const struct spread *spread, const struct spread_growth *growth,
		       const struct spread_text_options *options, struct buffer *out)
{
	struct table_heads heads = { 0 };
	struct text_table table;
	struct quantity_scale scale =
		quantity_scale_for(growth->row->most / spread->step,
				   spread->report->columns.list[spread->column].unit);
	scale.divisor *= spread->step;
	const char *space = *scale.unit ? " " : "";
	table_heads_add(&heads, TEXT_LEFT, "%s", "");
	table_heads_add(&heads, TEXT_LEFT, "cause");
	table_heads_add(&heads, TEXT_RIGHT, "run %zu%s%.40s", growth->least_run + 1, space,
			scale.unit);
	table_heads_add(&heads, TEXT_RIGHT, "run %zu%s%.40s", growth->most_run + 1, space,
			scale.unit);
	table_heads_add(&heads, TEXT_RIGHT, "change%s%.40s", space, scale.unit);
	table_heads_begin(&heads, &table);
	for (size_t i = 0; i < growth->cause_count; i++) {
		const struct spread_growth_cause *cause = &growth->causes[i];
		double low = cause->most_low - cause->least_high;
		double high = cause->most_high - cause->least_low;
		if (fmax(fabs(low), fabs(high)) < LEAST_SHOWN * growth->change)
			continue;
		text_table_add(&table, TEXT_PLAIN, "%s", " ");
		text_table_add(&table, TEXT_PLAIN, "%s", cause->text);
		put_value(&table, &scale, cause->least_low, cause->least_high, false);
		put_value(&table, &scale, cause->most_low, cause->most_high, false);
		put_value(&table, &scale, low, high, true);
	}
	text_table_print(&table, options->colour, out);
	text_table_release(&table);
}

static void put_growth(const struct spread *spread, const struct spread_growth *growth,
		       const struct spread_text_options *options, struct buffer *out)
{
	char text[QUANTITY_SIZE];
	struct span unit = spread->report->columns.list[spread->column].unit;
	put_name(growth->row, options, out);
	quantity_describe(growth->change / spread->step, unit, text);
	buffer_printf(out, ": %s more in run %zu, which has most, than in run %zu, which has least",
		      text, growth->most_run + 1, growth->least_run + 1);
	buffer_append_text(out, growth->relative ? "; execution at most, stalls at least\n" : "\n");
	put_causes(spread, growth, options, out);
}

static bool same_reason(const struct spread_growth *a, const struct spread_growth *b)
{
	return !a->known && !b->known && strcmp(a->reason, b->reason) == 0;
}

static bool said_before(const struct spread_text_options *options, size_t at)
{
	for (size_t i = 0; i < at; i++)
		if (same_reason(&options->growth[i], &options->growth[at]))
			return true;
	return false;
}

/* "why smooth_, fftb_ grew: - (the code is not in the profiles)" */
static void put_unknown(const struct spread_text_options *options, size_t first, struct buffer *out)
{
	const char *reason = options->growth[first].reason;
	buffer_append_text(out, "why ");
	for (size_t i = first; i < options->growth_count; i++) {
		if (!same_reason(&options->growth[first], &options->growth[i]))
			continue;
		buffer_append_text(out, i > first ? ", " : "");
		put_name(options->growth[i].row, options, out);
	}
	buffer_append_text(out, " grew: - (");
	text_append_safe(out, reason, strlen(reason));
	buffer_append_text(out, ")\n");
}

void spread_growth_text(const struct spread *spread, const struct spread_text_options *options,
			struct buffer *out)
{
	for (size_t i = 0; i < options->growth_count; i++)
		if (options->growth[i].known)
			put_growth(spread, &options->growth[i], options, out);
	for (size_t i = 0; i < options->growth_count; i++)
		if (!options->growth[i].known && !said_before(options, i))
			put_unknown(options, i, out);
	if (options->growth_count)
		buffer_append_u8(out, '\n');
}
