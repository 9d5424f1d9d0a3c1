#include "render/diff_scope_text.h"

#include <math.h>
#include <string.h>

#include "analyze/compare/compare.h"
#include "base/buffer.h"
#include "base/count_of.h"
#include "render/difference_text.h"
#include "render/scope_text.h"

#define LABEL_WIDTH 11

/* ---- above */

static void label(const struct diff_view *view, struct buffer *out, const char *name)
{
	text_append_style(out, view->options->colour, *name ? TEXT_BOLD : TEXT_PLAIN);
	buffer_printf(out, "%-*s", LABEL_WIDTH, name);
	text_append_style(out, view->options->colour, TEXT_PLAIN);
}

static void put_safe(struct buffer *out, const char *text)
{
	text_append_safe(out, text, strlen(text));
}

static void put_side(const struct diff_view *view, const struct report *report, const char *name,
		     const char *title, struct buffer *out)
{
	const struct report_text_options look = { .colour = view->options->colour, .title = title };
	text_append_style(out, view->options->colour, TEXT_BOLD);
	buffer_printf(out, "%s\n", name);
	text_append_style(out, view->options->colour, TEXT_PLAIN);
	scope_text_above(report, &look, out);
}

static void put_amount(const struct compared_column *column, struct span unit, double value,
		       struct buffer *out)
{
	char text[QUANTITY_SIZE];
	quantity_describe(value / column->event.step, unit, text);
	buffer_append_text(out, text);
}

/* What was taken as constant. */
static void put_base(const struct diff_view *view, struct buffer *out)
{
	const struct comparison *comparison = view->comparison;
	label(view, out, "compared");
	switch (comparison->base) {
	case DIFFERENCE_RAW:
		buffer_append_text(out,
				   comparison->base_chosen
					   ? "raw totals, not scaled\n"
					   : "raw totals, not scaled: assumes that both runs did "
					     "the same work; --per second and others scale\n");
		return;
	case DIFFERENCE_SECOND:
		buffer_append_text(out, comparison->base_chosen
						? "per second"
						: "per second, as both sides watched for a chosen "
						  "time");
		break;
	case DIFFERENCE_TOTAL:
		buffer_append_text(out, "by shares of the total");
		break;
	case DIFFERENCE_EVENT:
		buffer_append_text(out, "per ");
		put_safe(out, comparison->constant);
		break;
	default:
		buffer_append_text(out, "by the cost of ");
		put_safe(out, comparison->constant);
		buffer_append_text(out, comparison->constant_inclusive ? " with what it called"
								       : " by itself");
	}
	buffer_printf(out, ": the base is multiplied by %.4g",
		      view->main->event.scale.factor * (double)view->main->runs[0] /
			      (double)view->main->runs[1]);
	buffer_append_u8(out, '\n');
}

static void put_ratio(struct estimate ratio, struct buffer *out)
{
	if (ratio.kind == ESTIMATE_ABSENT) {
		buffer_append_u8(out, '-');
		return;
	}
	buffer_printf(out, "%+.2f %%", 100 * ratio.value);
	if (ratio.kind != ESTIMATE_INTERVAL)
		return;
	if (isinf(ratio.high))
		buffer_printf(out, " (%+.2f %% or more)", 100 * ratio.low);
	else
		buffer_printf(out, " (%+.2f..%+.2f %%)", 100 * ratio.low, 100 * ratio.high);
}

static void put_total(const struct diff_view *view, const struct compared_column *column,
		      struct buffer *out)
{
	const struct difference *whole = &column->whole;
	const struct event_column *event = &view->comparison->before->columns.list[column->before];
	label(view, out, column == view->main ? "total" : "");
	struct span after = view->comparison->after->columns.list[column->after].name;
	text_append_safe(out, event->name.data, event->name.size);
	if (!span_equal(event->name, after)) {
		buffer_append_text(out, " and ");
		text_append_safe(out, after.data, after.size);
	}
	buffer_append_text(out, ": ");
	double before_runs = (double)column->runs[0], after_runs = (double)column->runs[1];
	put_amount(column, event->unit, (double)whole->before.estimate / before_runs, out);
	buffer_append_text(out, " before");
	if (column->event.scale.factor > 0 &&
	    column->event.scale.factor * before_runs != after_runs) {
		buffer_append_text(out, ", scaled ");
		put_amount(column, event->unit, whole->before_scaled / after_runs, out);
	}
	buffer_append_text(out, "; ");
	put_amount(column, event->unit, (double)whole->after.estimate / after_runs, out);
	buffer_append_text(out, " after");
	if (view->comparison->base == DIFFERENCE_TOTAL) {
		buffer_append_text(out, "; assumed equal\n");
		return;
	}
	buffer_append_text(out, ": ");
	put_ratio(whole->change_ratio, out);
	buffer_printf(out, ", %s\n", difference_verdict_words[whole->verdict]);
}

static void put_total_split(const struct diff_view *view, struct buffer *out)
{
	if (!view->with_split)
		return;
	const struct difference_split *split = &view->comparison->pairs[view->split].whole;
	if (split->cpi.kind == ESTIMATE_ABSENT)
		return;
	label(view, out, "");
	char text[QUANTITY_SIZE];
	quantity_format(&view->scale, split->instructions.value, text);
	buffer_printf(out, "of the change, %s%s %s by more or fewer instructions",
		      split->instructions.value > 0 ? "+" : "", text, view->scale.unit);
	quantity_format(&view->scale, split->cpi.value, text);
	buffer_printf(out, ", %s%s %s by CPI: %.2f before, %.2f after\n",
		      split->cpi.value > 0 ? "+" : "", text, view->scale.unit,
		      split->before_cpi.value, split->after_cpi.value);
}

/* How small a change this comparison can find: in a hundredth of the total; where that would have
 * to grow to more than twice itself, in a tenth, or in all. */
static void put_sharpness(const struct diff_view *view, struct buffer *out)
{
	static const double shares[] = { 0.01, 0.1, 1 };
	const struct difference_event *event = &view->main->event;
	double before = cell_effective_samples(&event->before_whole);
	double after = cell_effective_samples(&event->after_whole);
	double runs = (double)(view->main->runs[0] + view->main->runs[1]);
	double usual = runs > 2 ? view->main->usual_noise : 0;
	double least = INFINITY, share = 1;
	for (size_t i = 0; i < COUNT_OF(shares) && !(least <= 2); i++) {
		share = shares[i];
		/* what runs usually add to the variance is so many samples less */
		double noise = 1 + usual * (before + after) * share / runs;
		least = difference_least_ratio(before * share / noise, after * share / noise);
	}
	if (!isfinite(least))
		return;
	label(view, out, "");
	if (share < 1)
		buffer_printf(out, "what is %.0f %% of it", 100 * share);
	else
		buffer_append_text(out, "all of it together");
	buffer_printf(out,
		      " has to grow by %.*f %% to stand out from chance in 4 of 5 comparisons\n",
		      least < 1.1 ? 1 : 0, 100 * (least - 1));
}

/* Which noise the intervals and verdicts have in them. */
static void put_noise(const struct diff_view *view, struct buffer *out)
{
	const size_t *runs = view->comparison->side_runs;
	label(view, out, "noise");
	if (runs[0] + runs[1] == 2) {
		buffer_append_text(out, DIFF_ONE_RUN_NOISE "\n");
		return;
	}
	buffer_printf(out,
		      "of sampling, and between runs: %zu before, %zu after; costs are means of a "
		      "run\n",
		      runs[0], runs[1]);
	if (isnan(view->main->usual_noise))
		return;
	label(view, out, "");
	if (view->main->usual_noise > 0)
		buffer_printf(out,
			      "a row usually differs between runs by %.2g %% beyond sampling\n",
			      100 * sqrt(view->main->usual_noise));
	else
		buffer_append_text(out,
				   "a row usually differs between runs as sampling makes it\n");
}

static void put_notes(const struct diff_view *view, struct buffer *out)
{
	const struct comparison *comparison = view->comparison;
	for (size_t i = 0; i < comparison->note_count; i++) {
		label(view, out, i ? "" : "but");
		put_safe(out, comparison->notes[i]);
		buffer_append_u8(out, '\n');
	}
}

static void put_other_events(const struct diff_view *view, struct buffer *out)
{
	const struct comparison *comparison = view->comparison;
	if (comparison->column_count < 2)
		return;
	for (size_t i = 0; i < comparison->column_count; i++)
		if (i != comparison->main)
			put_total(view, &comparison->columns[i], out);
	label(view, out, "");
	buffer_append_text(out, "the table is of ");
	text_append_safe(out, view->event->name.data, view->event->name.size);
	buffer_append_text(out, "; -e shows");
	for (size_t i = 0, put = 0; i < comparison->column_count; i++) {
		struct span name =
			comparison->before->columns.list[comparison->columns[i].before].name;
		if (i == comparison->main)
			continue;
		buffer_append_text(out, put++ ? ", " : " ");
		text_append_safe(out, name.data, name.size);
	}
	buffer_append_text(out, ", --json all\n");
}

void diff_scope_above(const struct diff_view *view, struct buffer *out)
{
	const struct comparison *comparison = view->comparison;
	put_side(view, comparison->before, "BASE", view->options->before_title, out);
	put_side(view, comparison->after, "AFTER", view->options->after_title, out);
	put_base(view, out);
	put_total(view, view->main, out);
	put_total_split(view, out);
	put_noise(view, out);
	put_sharpness(view, out);
	put_other_events(view, out);
	put_notes(view, out);
	buffer_append_u8(out, '\n');
}

/* ---- below */

static void put_legend(const struct diff_view *view, struct buffer *out)
{
	const struct comparison *comparison = view->comparison;
	size_t all = comparison->significant + comparison->noise + comparison->unknown;
	if (comparison->unknown < all) {
		label(view, out, "*");
		buffer_printf(out,
			      "significant: %zu of %zu rows, of which at most %.0f %% are expected "
			      "to be chance; the others may all be chance\n",
			      comparison->significant, all, 100 * DIFFERENCE_FALSE_DISCOVERIES);
	}
	if (comparison->unknown) {
		label(view, out, "?");
		difference_put_unknown(comparison->unknown, out);
	}
}

static void put_number(struct scope_number number, struct buffer *out)
{
	char text[QUANTITY_SIZE] = "-";
	if (number.known)
		quantity_count(number.value, text);
	buffer_append_text(out, text);
}

static void put_bill(const struct diff_view *view, const struct report *report, size_t column,
		     const char *side, struct buffer *out)
{
	const struct scope_bill *bill = &report->scope.bills[column];
	label(view, out, side);
	struct scope_number stored = { report->columns.list[column].sampled,
				       report->whole[column].samples +
					       report->idle[column].samples };
	put_number(bill->stored.known ? bill->stored : stored, out);
	buffer_append_text(out, " samples, ");
	put_number(scope_lost(bill), out);
	buffer_append_text(out, " lost, ");
	put_number(scope_unknown(bill), out);
	buffer_append_text(out, " of unknown code");
	if (report->scope.self_cpu_ns.known) {
		char text[QUANTITY_SIZE];
		quantity_describe((double)report->scope.self_cpu_ns.value, span_of_text("ns"),
				  text);
		buffer_printf(out, "; collecting took %s", text);
	}
	buffer_append_u8(out, '\n');
}

static void put_side_notes(const struct diff_view *view, const struct report *report,
			   const char *side, struct buffer *out)
{
	for (size_t i = 0; i < report->note_count; i++) {
		label(view, out, "note");
		buffer_printf(out, "%s: ", side);
		put_safe(out, report->notes[i]);
		buffer_append_u8(out, '\n');
	}
}

void diff_scope_below(const struct diff_view *view, struct buffer *out)
{
	const struct comparison *comparison = view->comparison;
	put_legend(view, out);
	put_bill(view, comparison->before, view->main->before, "base", out);
	put_bill(view, comparison->after, view->main->after, "after", out);
	put_side_notes(view, comparison->before, "base", out);
	put_side_notes(view, comparison->after, "after", out);
}
