#include "render/accuracy_text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyze/cycles/estimate_words.h"
#include "base/buffer.h"
#include "base/count_of.h"
#include "base/sum.h"
#include "render/quantity.h"

#define LABEL_WIDTH 11
#define BAR_MARKS   50 /* of the histogram, for all samples */

const char *accuracy_scale_name(enum accuracy_scale scale)
{
	static const char *const names[] = {
		[ACCURACY_ABSOLUTE] = "absolute",
		[ACCURACY_PROCEDURE] = "procedure",
		[ACCURACY_PROGRAM] = "program",
	};
	return names[scale];
}

/* A sentence on what the scale does. */
static const char *scale_text(enum accuracy_scale scale)
{
	static const char *const texts[] = {
		[ACCURACY_ABSOLUTE] = "absolute: estimates as they are",
		[ACCURACY_PROCEDURE] =
			"one oracle scale per function: the estimates of each are multiplied "
			"by one factor from the exact counts, their weighted median",
		[ACCURACY_PROGRAM] =
			"one oracle scale for the program: all estimates are multiplied by one "
			"factor from the exact counts, their weighted median",
	};
	return texts[scale];
}

static void label(const struct accuracy_look *look, const char *name, struct buffer *out)
{
	text_append_style(out, look->colour, TEXT_BOLD);
	buffer_printf(out, "%-*s", LABEL_WIDTH, name);
	text_append_style(out, look->colour, TEXT_PLAIN);
}

static void heading(const struct accuracy_look *look, const char *text, struct buffer *out)
{
	buffer_append_u8(out, '\n');
	text_append_style(out, look->colour, TEXT_BOLD);
	buffer_append_text(out, text);
	text_append_style(out, look->colour, TEXT_PLAIN);
	buffer_append_u8(out, '\n');
}

/* "79.3", "-" of nothing. */
static void add_percent(struct text_table *table, double part, double whole)
{
	if (whole > 0 && !isnan(part))
		text_table_add(table, TEXT_PLAIN, "%.1f", 100 * part / whole);
	else
		text_table_add(table, TEXT_PLAIN, "-");
}

static void put_count(double count, struct buffer *out)
{
	char text[QUANTITY_SIZE];
	quantity_count(sum_of_real(count), text);
	buffer_append_text(out, text);
}

/* ---- above */

static void put_samples(const struct accuracy *accuracy, const struct accuracy_look *look,
			struct buffer *out)
{
	const struct {
		double samples;
		const char *what;
	} rest[] = {
		{ accuracy->not_counted, "of images that were not counted" },
		{ accuracy->no_code, "of procedures without known code" },
		{ accuracy->never_executed, "where the counted run never came" },
		{ accuracy->no_block, "where no instruction begins" },
		{ accuracy->uncountable,
		  "of string instructions alone, whose rounds were counted" },
	};
	label(look, "samples", out);
	put_count(accuracy->samples, out);
	buffer_append_text(out, " of '");
	text_append_safe(out, look->event, strlen(look->event));
	buffer_append_text(out, "'; judged: ");
	put_count(accuracy->instructions.weight, out);
	for (size_t i = 0; i < COUNT_OF(rest); i++) {
		if (rest[i].samples <= 0)
			continue;
		buffer_append_text(out, "; not judged: ");
		put_count(rest[i].samples, out);
		buffer_printf(out, " %s", rest[i].what);
	}
	buffer_append_u8(out, '\n');
}

static void put_head(const struct accuracy *accuracy, const struct cycles *cycles,
		     const struct accuracy_look *look, struct buffer *out)
{
	const char *const *notes;
	size_t count = cycles_notes(cycles, &notes);
	label(look, "profile", out);
	text_append_safe(out, look->title, strlen(look->title));
	buffer_append_u8(out, '\n');
	label(look, "truth", out);
	text_append_safe(out, look->truth_title, strlen(look->truth_title));
	if (accuracy->request.runs != 1)
		buffer_printf(out, ", times %g: the profile is of as many runs",
			      accuracy->request.runs);
	buffer_append_u8(out, '\n');
	label(look, "scale", out);
	buffer_printf(out, "%s\n", scale_text(accuracy->request.scale));
	label(look, "processor", out);
	buffer_printf(out, "%s\n", cycles_pipeline(cycles)->pipeline->name);
	for (size_t i = 0; i < count; i++) {
		label(look, "", out);
		buffer_printf(out, "%s\n", notes[i]);
	}
	put_samples(accuracy, look, out);
}

/* ---- tables */

static void add_sum_row(struct text_table *table, const char *name, const struct accuracy_sum *sum,
			double whole)
{
	text_table_add(table, TEXT_PLAIN, "%s", name);
	text_table_add(table, TEXT_PLAIN, "%zu", sum->count);
	add_percent(table, sum->weight, whole);
	for (size_t i = 0; i < ACCURACY_LIMITS; i++)
		add_percent(table, sum->within[i], sum->weight);
	add_percent(table, sum->unknown, sum->weight);
}

static void put_sums(const struct accuracy_look *look, const char *first, const char *what,
		     const char *weight, const struct accuracy_sum *whole,
		     const struct accuracy_sum *classes, struct buffer *out)
{
	static const enum text_align align[] = { TEXT_LEFT,  TEXT_RIGHT, TEXT_RIGHT, TEXT_RIGHT,
						 TEXT_RIGHT, TEXT_RIGHT, TEXT_RIGHT };
	const char *const heads[] = { "confidence",  what,	    weight,	"within 5 %",
				      "within 10 %", "within 15 %", "unknown %" };
	struct text_table table;
	heading(look, first, out);
	text_table_init(&table, align, COUNT_OF(align));
	for (size_t i = 0; i < COUNT_OF(heads); i++)
		text_table_add(&table, TEXT_BOLD, "%s", heads[i]);
	for (size_t c = ACCURACY_CLASSES; c-- > 0;)
		add_sum_row(&table, frequency_confidence_word((enum frequency_confidence)c),
			    &classes[c], whole->weight);
	add_sum_row(&table, "all", whole, whole->weight);
	text_table_print(&table, look->colour, out);
	text_table_release(&table);
}

static void put_missing(const struct accuracy *accuracy, struct buffer *out)
{
	double all = accuracy->edges.weight + accuracy->missing_edges;
	char share[QUANTITY_SIZE];
	if (accuracy->missing_edges <= 0)
		return;
	quantity_percent(accuracy->missing_edges, all, share);
	buffer_printf(
		out,
		"not among them: %s of all such executions, by jumps whose targets are not known\n",
		share);
}

static void put_bar(struct text_table *table, double share)
{
	char bar[BAR_MARKS + 1];
	size_t length = (size_t)lround(fmin(share, 1) * BAR_MARKS);
	memset(bar, '#', length);
	bar[length] = 0;
	text_table_add(table, TEXT_PLAIN, "%s", bar);
}

static void put_histogram(const struct accuracy *accuracy, const struct accuracy_look *look,
			  struct buffer *out)
{
	static const enum text_align align[] = { TEXT_RIGHT, TEXT_RIGHT, TEXT_RIGHT, TEXT_LEFT };
	const struct accuracy_sum *instructions = &accuracy->instructions;
	struct text_table table;
	heading(look, "errors: % of samples, of executions of edges", out);
	text_table_init(&table, align, COUNT_OF(align));
	text_table_add(&table, TEXT_BOLD, "error %%");
	text_table_add(&table, TEXT_BOLD, "samples %%");
	text_table_add(&table, TEXT_BOLD, "edges %%");
	text_table_add(&table, TEXT_BOLD, "of samples");
	for (int b = 0; b < ACCURACY_BUCKETS; b++) {
		int low = 5 * (b - ACCURACY_BUCKETS / 2);
		if (b == 0)
			text_table_add(&table, TEXT_PLAIN, "below %d", low + 5);
		else if (b == ACCURACY_BUCKETS - 1)
			text_table_add(&table, TEXT_PLAIN, "from %d", low);
		else
			text_table_add(&table, TEXT_PLAIN, "%d to %d", low, low + 5);
		add_percent(&table, instructions->buckets[b], instructions->weight);
		add_percent(&table, accuracy->edges.buckets[b], accuracy->edges.weight);
		put_bar(&table, instructions->buckets[b] / instructions->weight);
	}
	text_table_print(&table, look->colour, out);
	text_table_release(&table);
}

static void put_intervals(const struct accuracy *accuracy, const struct accuracy_look *look,
			  struct buffer *out)
{
	const struct accuracy_intervals *intervals = &accuracy->intervals;
	buffer_append_u8(out, '\n');
	label(look, "intervals", out);
	if (intervals->count)
		buffer_printf(out,
			      "95 %% intervals hold the truth of %.1f %% of %zu blocks, of %.1f %% "
			      "by samples; mean width %.1f %%\n",
			      100 * (double)intervals->held / (double)intervals->count,
			      intervals->count, 100 * intervals->held_weight / intervals->weight,
			      100 * intervals->width);
	else
		buffer_append_text(out, "none: the errors of such estimates are not known\n");
	label(look, "far off", out);
	buffer_printf(out, "%.1f %% of samples are off by more than 15 %%",
		      100 * accuracy->off_weight / accuracy->instructions.weight);
	if (accuracy->off_weight > 0)
		buffer_printf(out, "; %.1f %% of these are marked low",
			      100 * accuracy->off_low / accuracy->off_weight);
	buffer_append_u8(out, '\n');
}

static void add_correlation(struct text_table *table, double value)
{
	if (isnan(value))
		text_table_add(table, TEXT_PLAIN, "-");
	else
		text_table_add(table, TEXT_PLAIN, "%.2f", value);
}

static void put_causes(const struct accuracy *accuracy, const struct cycles *cycles,
		       const struct accuracy_look *look, struct buffer *out)
{
	static const enum text_align align[] = { TEXT_LEFT,  TEXT_LEFT,	 TEXT_RIGHT,
						 TEXT_RIGHT, TEXT_RIGHT, TEXT_RIGHT,
						 TEXT_RIGHT, TEXT_RIGHT, TEXT_RIGHT };
	static const char *const heads[] = { "cause",	"counted as",  "procedures",
					     "events",	"stalls from", "to",
					     "Pearson", "from, to",    "Spearman" };
	struct text_table table;
	char text[QUANTITY_SIZE];
	if (!accuracy->cause_count)
		return;
	heading(look,
		cycles_events(cycles)->time_is_clock
			? "stalls by cause, in ns, against counted events, over procedures"
			: "stalls by cause, in cycles, against counted events, over procedures",
		out);
	text_table_init(&table, align, COUNT_OF(align));
	for (size_t i = 0; i < COUNT_OF(heads); i++)
		text_table_add(&table, TEXT_BOLD, "%s", heads[i]);
	for (size_t c = 0; c < accuracy->cause_count; c++) {
		const struct accuracy_cause *cause = &accuracy->causes[c];
		const double sums[] = { cause->counted, cause->low_cycles, cause->high_cycles };
		text_table_add(&table, TEXT_PLAIN, "%s", cause->cause);
		text_table_add(&table, TEXT_PLAIN, "%s", cause->events);
		text_table_add(&table, TEXT_PLAIN, "%zu", cause->procedures);
		for (size_t i = 0; i < COUNT_OF(sums); i++) {
			quantity_describe(sums[i], span_of_text(""), text);
			text_table_add(&table, TEXT_PLAIN, "%s", text);
		}
		add_correlation(&table, cause->pearson);
		if (isnan(cause->pearson_low))
			text_table_add(&table, TEXT_PLAIN, "-");
		else
			text_table_add(&table, TEXT_PLAIN, "%.2f, %.2f", cause->pearson_low,
				       cause->pearson_high);
		add_correlation(&table, cause->spearman);
	}
	text_table_print(&table, look->colour, out);
	text_table_release(&table);
}

static void put_procedures(const struct accuracy *accuracy, const struct accuracy_look *look,
			   struct buffer *out)
{
	static const enum text_align align[] = { TEXT_RIGHT, TEXT_RIGHT, TEXT_RIGHT, TEXT_RIGHT,
						 TEXT_RIGHT, TEXT_RIGHT, TEXT_LEFT,  TEXT_LEFT };
	static const char *const heads[] = { "samples", "factor",     "within 5 %", "10 %",
					     "15 %",	"edges 10 %", "image",	    "procedure" };
	struct text_table table;
	if (!look->most_procedures)
		return;
	heading(look, "procedures, by samples judged", out);
	text_table_init(&table, align, COUNT_OF(align));
	for (size_t i = 0; i < COUNT_OF(heads); i++)
		text_table_add(&table, TEXT_BOLD, "%s", heads[i]);
	for (size_t i = 0; i < accuracy->procedure_count && i < look->most_procedures; i++) {
		const struct accuracy_procedure *procedure = &accuracy->procedures[i];
		text_table_add(&table, TEXT_PLAIN, "%.0f", procedure->samples);
		text_table_add(&table, TEXT_PLAIN, "%.4g", procedure->factor);
		for (size_t l = 0; l < ACCURACY_LIMITS; l++)
			add_percent(&table, procedure->instructions.within[l],
				    procedure->instructions.weight);
		add_percent(&table, procedure->edges.within[1], procedure->edges.weight);
		text_table_add(&table, TEXT_PLAIN, "%s", procedure->procedure->image_name);
		text_table_add(&table, TEXT_PLAIN, "%s", procedure->procedure->procedure->name);
	}
	text_table_print(&table, look->colour, out);
	text_table_release(&table);
	if (accuracy->procedure_count > look->most_procedures)
		buffer_printf(out, "and %zu more; --procedures N lists N\n",
			      accuracy->procedure_count - look->most_procedures);
}

void accuracy_text_print(const struct accuracy *accuracy, const struct cycles *cycles,
			 const struct accuracy_look *look, struct buffer *out)
{
	put_head(accuracy, cycles, look, out);
	put_sums(look, "instructions, weighted by samples", "blocks", "samples %",
		 &accuracy->instructions, accuracy->instruction_classes, out);
	put_sums(look, "edges between blocks, weighted by executions", "edges", "executions %",
		 &accuracy->edges, accuracy->edge_classes, out);
	put_missing(accuracy, out);
	put_histogram(accuracy, look, out);
	put_intervals(accuracy, look, out);
	put_causes(accuracy, cycles, look, out);
	put_procedures(accuracy, look, out);
}
