#include "analyze/compare/compare.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/figures/column_match.h"
#include "analyze/compare/compare_base.h"
#include "analyze/compare/compare_rank.h"
#include "analyze/compare/compare_runs.h"
#include "analyze/compare/compare_scope.h"
#include "analyze/report/page_notes.h"
#include "analyze/report/report_make.h"
#include "base/cleanup.h"
#include "base/error.h"

static int out_of_memory(struct error *err)
{
	return error_set(err, -ENOMEM, "out of memory comparing profiles");
}

/* ---- columns */

/* The decimals that both sides of a column are counted in. */
static uint64_t scale_of(const struct comparison *comparison, const struct compared_column *column)
{
	return column_match_scale(&comparison->before->columns.list[column->before],
				  &comparison->after->columns.list[column->after]);
}

static struct cell before_cell(const struct comparison *comparison,
			       const struct compared_column *column, const struct cell *cells)
{
	return column_match_cell(&cells[column->before],
				 comparison->before->columns.list[column->before].scale,
				 scale_of(comparison, column));
}

static struct cell after_cell(const struct comparison *comparison,
			      const struct compared_column *column, const struct cell *cells)
{
	return column_match_cell(&cells[column->after],
				 comparison->after->columns.list[column->after].scale,
				 scale_of(comparison, column));
}

static void add_column(struct comparison *comparison, struct column_match match)
{
	struct compared_column *column = &comparison->columns[comparison->column_count++];
	*column = (struct compared_column){ .before = match.before, .after = match.after };
	column->event = (struct difference_event){
		.scale = difference_scale_raw(),
		.before_counts =
			compare_counts_of(comparison->before->profile, comparison->options.counts),
		.after_counts =
			compare_counts_of(comparison->after->profile, comparison->options.counts),
		.step = event_scale_divisor(scale_of(comparison, column)),
		.before_whole = before_cell(comparison, column, comparison->before->whole),
		.after_whole = after_cell(comparison, column, comparison->after->whole)
	};
}

static int check_wholes(const struct comparison *comparison, const struct compared_column *column,
			struct error *err)
{
	struct span name = comparison->after->columns.list[column->after].name;
	int ret = column_match_check(&column->event.before_whole, name, err);
	return ret < 0 ? ret : column_match_check(&column->event.after_whole, name, err);
}

static int note_alone(struct comparison *comparison, const struct event_columns *columns,
		      const bool *matched, const char *side)
{
	for (size_t i = 0; i < columns->count; i++) {
		struct span name = columns->list[i].name;
		if (!matched[i] && compare_note(comparison, "only the %s side has %.*s", side,
						(int)(name.size < 80 ? name.size : 80),
						name.size ? (const char *)name.data : "") < 0)
			return -ENOMEM;
	}
	return 0;
}

static int refuse_columns(const struct event_columns *a, const struct event_columns *b,
			  struct error *err)
{
	const struct event_columns *none = a->count == 0 ? a : b->count == 0 ? b : NULL;
	if (none)
		return error_set(err, -ENODATA, "the %s side has no events",
				 none == a ? "base" : "after");
	return error_set(err, -ENOENT, "no event is on both sides: '%.*s'%s before, '%.*s'%s after",
			 (int)a->list[0].name.size, (const char *)a->list[0].name.data,
			 a->count > 1 ? " and others" : "", (int)b->list[0].name.size,
			 (const char *)b->list[0].name.data, b->count > 1 ? " and others" : "");
}

static int pair_columns(struct comparison *comparison, struct error *err)
{
	const struct event_columns *a = &comparison->before->columns;
	const struct event_columns *b = &comparison->after->columns;
	CLEANUP(free_pointer) bool *left = calloc(a->count + 1, sizeof(*left));
	CLEANUP(free_pointer) bool *right = calloc(b->count + 1, sizeof(*right));
	CLEANUP(free_pointer)
	struct column_match *matches = calloc(a->count + 1, sizeof(*matches));
	comparison->columns = calloc(a->count + 1, sizeof(*comparison->columns));
	if (!left || !right || !matches || !comparison->columns)
		return out_of_memory(err);
	size_t count;
	if (column_match(a, b, matches, &count) < 0)
		return out_of_memory(err);
	for (size_t i = 0; i < count; i++) {
		left[matches[i].before] = right[matches[i].after] = true;
		add_column(comparison, matches[i]);
	}
	if (count == 0)
		return refuse_columns(a, b, err);
	if (note_alone(comparison, a, left, "base") < 0 ||
	    note_alone(comparison, b, right, "after") < 0)
		return out_of_memory(err);
	return 0;
}

static size_t column_of(const struct comparison *comparison, size_t before)
{
	for (size_t i = 0; i < comparison->column_count; i++)
		if (comparison->columns[i].before == before)
			return i;
	return comparison->column_count;
}

/* Whether each run counted both or neither: else their sums are of different runs, and their
 * quotient of none. */
static bool same_runs(const struct comparison *comparison, size_t a, size_t b)
{
	for (size_t side = 0; side < 2; side++)
		for (size_t run = 0; run < comparison->side_runs[side]; run++)
			if (compare_runs_have(comparison, side, a, run) !=
			    compare_runs_have(comparison, side, b, run))
				return false;
	return true;
}

static int find_pairs(struct comparison *comparison, struct error *err)
{
	const struct event_columns *a = &comparison->before->columns;
	const struct event_columns *b = &comparison->after->columns;
	comparison->pairs = calloc(a->pair_count + 1, sizeof(*comparison->pairs));
	if (!comparison->pairs)
		return out_of_memory(err);
	for (size_t i = 0; i < a->pair_count; i++) {
		size_t cycles = column_of(comparison, a->pairs[i].cycles);
		size_t instructions = column_of(comparison, a->pairs[i].instructions);
		if (cycles == comparison->column_count || instructions == comparison->column_count)
			continue;
		for (size_t k = 0; k < b->pair_count; k++) {
			if (b->pairs[k].cycles != comparison->columns[cycles].after ||
			    b->pairs[k].instructions != comparison->columns[instructions].after ||
			    !same_runs(comparison, cycles, instructions))
				continue;
			bool grouped = a->pairs[i].samples == RATIO_GROUPED &&
				       b->pairs[k].samples == RATIO_GROUPED;
			comparison->pairs[comparison->pair_count++] =
				(struct compared_pair){ .cycles = cycles,
							.instructions = instructions,
							.samples = grouped ? RATIO_GROUPED
									   : RATIO_INDEPENDENT };
			break;
		}
	}
	return 0;
}

/* ---- rows */

static const struct cell *cells_of(const struct report_row *row)
{
	return row->total ? row->total : row->self;
}

static struct cell_change change_of(const struct comparison *comparison,
				    const struct match_group *group, size_t at)
{
	const struct compared_column *column = &comparison->columns[at];
	struct cell_change change = { { 0 }, { 0 } };
	for (size_t i = 0; i < group->before_count; i++) {
		const struct report_row *row = &comparison->before->rows[group->before[i]];
		struct cell cell = before_cell(comparison, column, cells_of(row));
		cell_add(&change.before, &cell);
	}
	for (size_t i = 0; i < group->after_count; i++) {
		const struct report_row *row = &comparison->after->rows[group->after[i]];
		struct cell cell = after_cell(comparison, column, cells_of(row));
		cell_add(&change.after, &cell);
	}
	return change;
}

/* Is it the function that the base takes as constant? */
static bool is_constant(const struct comparison *comparison, const struct compared_row *row)
{
	const struct report_row *any = row->before ? row->before : row->after;
	bool inclusive = any->total != NULL;
	const char *name = any->texts[REPORT_PROCEDURE];
	return comparison->base == DIFFERENCE_FUNCTION && name &&
	       inclusive == comparison->constant_inclusive &&
	       strcmp(name, comparison->constant) == 0;
}

/* In events, not in the steps of estimates. */
static void scale_cpi(struct estimate *cpi, double factor)
{
	cpi->value *= factor;
	cpi->low *= factor;
	cpi->high *= factor;
}

/* Without noises: one run a side. */
static struct difference_split split_of(const struct comparison *comparison, size_t pair,
					const struct cell_change *cycles,
					const struct cell_change *instructions,
					const struct difference_noise *cycles_noise,
					const struct difference_noise *instructions_noise)
{
	const struct compared_pair *p = &comparison->pairs[pair];
	const struct difference_event *event = &comparison->columns[p->cycles].event;
	double factor = comparison->columns[p->instructions].event.step / event->step;
	struct difference_split split =
		cycles_noise ? difference_split_of_runs(event, cycles, instructions, p->samples,
							cycles_noise, instructions_noise)
			     : difference_split_of(event, cycles, instructions, p->samples);
	scale_cpi(&split.before_cpi, factor);
	scale_cpi(&split.after_cpi, factor);
	return split;
}

static void begin_row(const struct comparison *comparison, const struct match_group *group,
		      struct compared_row *row)
{
	*row = (struct compared_row){ .match = group->kind,
				      .before_count = group->before_count,
				      .after_count = group->after_count,
				      .group = group,
				      .q = NAN };
	if (group->before_count)
		row->before = &comparison->before->rows[group->before[0]];
	if (group->after_count)
		row->after = &comparison->after->rows[group->after[0]];
}

static int fill_row(struct comparison *comparison, struct compared_row *row)
{
	row->changes = arena_allocate(&comparison->arena,
				      comparison->column_count * sizeof(*row->changes));
	row->splits = arena_allocate(&comparison->arena,
				     (comparison->pair_count + 1) * sizeof(*row->splits));
	if (!row->changes || !row->splits)
		return -ENOMEM;
	bool constant = is_constant(comparison, row);
	for (size_t i = 0; i < comparison->column_count; i++) {
		const struct compared_column *column = &comparison->columns[i];
		struct cell_change cells = change_of(comparison, row->group, i);
		row->changes[i] = difference_of_runs(
			&column->event, &cells,
			constant && i == comparison->main ? DIFFERENCE_WITHIN : column->overlap,
			row->noises ? &row->noises[i] : NULL);
	}
	for (size_t i = 0; i < comparison->pair_count; i++) {
		const struct compared_pair *pair = &comparison->pairs[i];
		const struct difference *c = &row->changes[pair->cycles];
		const struct difference *n = &row->changes[pair->instructions];
		row->splits[i] =
			split_of(comparison, i, &(struct cell_change){ c->before, c->after },
				 &(struct cell_change){ n->before, n->after },
				 row->noises ? &row->noises[pair->cycles] : NULL,
				 row->noises ? &row->noises[pair->instructions] : NULL);
	}
	return 0;
}

static void fill_wholes(struct comparison *comparison)
{
	bool runs = compare_runs_known(comparison);
	for (size_t i = 0; i < comparison->column_count; i++) {
		struct compared_column *column = &comparison->columns[i];
		struct cell_change cells = { column->event.before_whole,
					     column->event.after_whole };
		column->whole = difference_of_runs(&column->event, &cells, column->overlap,
						   runs ? &column->whole_noise : NULL);
	}
	for (size_t i = 0; i < comparison->pair_count; i++) {
		struct compared_pair *pair = &comparison->pairs[i];
		const struct difference_event *c = &comparison->columns[pair->cycles].event;
		const struct difference_event *n = &comparison->columns[pair->instructions].event;
		pair->whole = split_of(
			comparison, i, &(struct cell_change){ c->before_whole, c->after_whole },
			&(struct cell_change){ n->before_whole, n->after_whole },
			runs ? &comparison->columns[pair->cycles].whole_noise : NULL,
			runs ? &comparison->columns[pair->instructions].whole_noise : NULL);
	}
}

/* ---- the whole */

/* The event's name as a pattern that only it matches. */
static const char *escaped(struct comparison *comparison, const char *name)
{
	char *text = arena_allocate(&comparison->arena, 2 * strlen(name) + 1);
	char *end = text;
	for (; text && *name; *end++ = *name++)
		if (strchr("*?[\\", *name))
			*end++ = '\\';
	return text;
}

static int make_report(struct comparison *comparison, const struct compare_side *side,
		       struct report **out, struct error *err)
{
	struct report_options options = comparison->options.report;
	options.sort = NULL;
	options.min_percent = 0;
	options.limit = 0;
	if (side->event) {
		const char **pattern = arena_allocate(&comparison->arena, sizeof(*pattern));
		if (pattern)
			*pattern = escaped(comparison, side->event);
		if (!pattern || !*pattern)
			return out_of_memory(err);
		options.events = (struct report_patterns){ pattern, 1 };
	}
	return report_new(side->profile, side->resolver, &options, out, err);
}

static int fill_rows(struct comparison *comparison, struct error *err)
{
	int ret = matching_init(&comparison->matching, comparison->before, comparison->after,
				compare_runs_known(comparison) ? MATCHING_RUNS : MATCHING_ONE_RUN,
				err);
	if (ret < 0)
		return ret;
	size_t count = comparison->matching.count;
	comparison->all = calloc(count + 1, sizeof(*comparison->all));
	if (!comparison->all)
		return out_of_memory(err);
	comparison->row_count = count;
	for (size_t i = 0; i < count; i++)
		begin_row(comparison, &comparison->matching.groups[i], &comparison->all[i]);
	ret = compare_runs_judge(comparison, err);
	for (size_t i = 0; ret == 0 && i < count; i++)
		if (fill_row(comparison, &comparison->all[i]) < 0)
			ret = out_of_memory(err);
	return ret;
}

static int make(struct comparison *comparison, const struct compare_side *before,
		const struct compare_side *after, struct error *err)
{
	int ret = make_report(comparison, before, &comparison->before, err);
	if (ret < 0)
		return error_prefix(err, "base"), ret;
	ret = make_report(comparison, after, &comparison->after, err);
	if (ret < 0)
		return error_prefix(err, "after"), ret;
	ret = pair_columns(comparison, err);
	for (size_t i = 0; ret == 0 && i < comparison->column_count; i++)
		ret = check_wholes(comparison, &comparison->columns[i], err);
	if (ret == 0)
		ret = compare_runs_init(comparison, before, after, err);
	if (ret == 0)
		ret = find_pairs(comparison, err);
	if (ret == 0)
		ret = compare_choose_base(comparison, before, after, err);
	if (ret == 0)
		ret = fill_rows(comparison, err);
	if (ret < 0)
		return ret;
	fill_wholes(comparison);
	ret = compare_rank(comparison, err);
	if (ret == 0 && compare_note_doubts(comparison) < 0)
		ret = out_of_memory(err);
	return ret;
}

int compare_new(const struct compare_side *before, const struct compare_side *after,
		const struct compare_options *options, struct comparison **out, struct error *err)
{
	CLEANUP(compare_freep) struct comparison *comparison = calloc(1, sizeof(*comparison));
	if (!comparison)
		return out_of_memory(err);
	comparison->options = *options;
	int ret = make(comparison, before, after, err);
	if (ret < 0)
		return ret;
	*out = comparison;
	comparison = NULL; /* the caller's from here on */
	return 0;
}

void compare_free(struct comparison *comparison)
{
	if (!comparison)
		return;
	report_free(comparison->before);
	report_free(comparison->after);
	matching_release(&comparison->matching);
	compare_runs_release(comparison);
	arena_release(&comparison->arena);
	free(comparison->columns);
	free(comparison->pairs);
	free(comparison->all);
	free(comparison->rows);
	free(comparison->grown);
	free(comparison->notes);
	free(comparison);
}

void compare_freep(struct comparison **comparison)
{
	compare_free(*comparison);
}
