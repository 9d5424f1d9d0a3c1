#include "analyze/compare/annotate_diff.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/compare/align.h"
#include "analyze/compare/code_tokens.h"
#include "analyze/figures/column_match.h"
#include "analyze/compare/compare_scope.h"
#include "analyze/names/procedure_name.h"
#include "base/cleanup.h"
#include "base/error.h"

const char *const annotate_match_names[ANNOTATE_MATCHES] = {
	[ANNOTATE_MATCH_NONE] = "none",
	[ANNOTATE_MATCH_BUILD] = "build",
	[ANNOTATE_MATCH_CODE] = "code",
	[ANNOTATE_MATCH_NAME] = "name",
	[ANNOTATE_MATCH_CODE_ALONE] = "code_alone",
};

#define SMALL_CODE_BYTES 32 /* code of a few instructions is alike in many functions */

static int out_of_memory(struct error *err)
{
	return error_set(err, -ENOMEM, "out of memory comparing annotations");
}

/* ---- finding the base's version */

static bool same_name(const struct procedure *a, const struct procedure *b)
{
	size_t size = procedure_name_own_size(a->name);
	return a->named == b->named && procedure_name_own_size(b->name) == size &&
	       memcmp(a->name, b->name, size) == 0;
}

static bool same_build(const struct annotate_index *before, const struct procedure *a,
		       const struct annotate_index *after, const struct procedure *b)
{
	if (!a->image || !b->image)
		return false;
	struct profile_image left = profile_image(before->profile, a->image);
	struct profile_image right = profile_image(after->profile, b->image);
	return profile_image_same_build(&left, &right) && a->extent_known == b->extent_known &&
	       (a->extent_known ? a->first == b->first : strcmp(a->name, b->name) == 0);
}

/* The hottest procedure of that name, as the index has them in that order; one in an image of the
 * same name before those in others. */
static bool find_name(const struct annotate_index *before, const struct annotate_procedure *wanted,
		      size_t *position)
{
	bool found = false;
	if (!wanted->procedure->named && wanted->procedure->image)
		return false;
	for (size_t i = 0; i < before->count; i++) {
		const struct annotate_procedure *candidate = &before->procedures[i];
		if (!same_name(candidate->procedure, wanted->procedure))
			continue;
		bool same_image = strcmp(candidate->image_name, wanted->image_name) == 0;
		if (!found || same_image)
			*position = i;
		found = true;
		if (same_image)
			break;
	}
	return found;
}

static uint64_t extent_bytes(const struct procedure *procedure)
{
	return procedure->extent_known ? procedure->last - procedure->first : 0;
}

/* A hash of the code but for where it lies; *known false without code. Returns 0 or -ENOMEM. */
static int hash_of(const struct annotate_index *index, size_t position,
		   const struct annotate_options *options, uint64_t *hash, bool *known,
		   struct error *err)
{
	CLEANUP(annotation_freep) struct annotation *annotation = NULL;
	int ret = annotate(index, position, options, &annotation, err);
	if (ret < 0)
		return ret;
	*known = annotation->instructions > 0;
	*hash = code_tokens_hash(annotation);
	return 0;
}

/* Looks for the same code under another name: *found only where it is not small, and once there. */
static int find_code(const struct annotate_index *before, const struct procedure *wanted,
		     uint64_t hash, const struct annotate_options *options, size_t *position,
		     bool *found, struct error *err)
{
	*found = false;
	if (extent_bytes(wanted) < SMALL_CODE_BYTES)
		return 0;
	for (size_t i = 0; i < before->count; i++) {
		uint64_t other;
		bool known;
		if (extent_bytes(before->procedures[i].procedure) != extent_bytes(wanted))
			continue;
		int ret = hash_of(before, i, options, &other, &known, err);
		if (ret < 0)
			return ret;
		if (!known || other != hash)
			continue;
		if (*found) {
			*found = false;
			return 0;
		}
		*found = true;
		*position = i;
	}
	return 0;
}

/*
 * The position in `before` of the procedure that after->procedures[position]
 * is a version of. Returns 0 with *match ANNOTATE_MATCH_NONE when there is none, or -ENOMEM.
 */
static int find_version(const struct annotate_index *before, const struct annotate_index *after,
			size_t position, const struct annotate_options *options,
			size_t *before_position, enum annotate_match *match, struct error *err)
{
	const struct annotate_procedure *wanted = &after->procedures[position];
	*match = ANNOTATE_MATCH_NONE;
	for (size_t i = 0; i < before->count; i++)
		if (same_build(before, before->procedures[i].procedure, after, wanted->procedure)) {
			*before_position = i;
			*match = ANNOTATE_MATCH_BUILD;
			return 0;
		}
	uint64_t hash, other;
	bool known, other_known = false, found = false;
	int ret = hash_of(after, position, options, &hash, &known, err);
	if (ret < 0)
		return ret;
	if (find_name(before, wanted, before_position)) {
		ret = hash_of(before, *before_position, options, &other, &other_known, err);
		bool same = known && other_known && hash == other;
		*match = same ? ANNOTATE_MATCH_CODE : ANNOTATE_MATCH_NAME;
		return ret;
	}
	if (known)
		ret = find_code(before, wanted->procedure, hash, options, before_position, &found,
				err);
	if (found)
		*match = ANNOTATE_MATCH_CODE_ALONE;
	return ret;
}

/* ---- columns */

/* Factors are of the whole profiles; shares of the procedure. */
static int add_columns(struct annotation_diff *diff, const struct annotate_index *before,
		       const struct annotate_index *after,
		       const struct annotate_diff_options *options, struct error *err)
{
	size_t most = before->columns->count;
	CLEANUP(free_pointer) struct column_match *matches = calloc(most + 1, sizeof(*matches));
	diff->columns = arena_allocate(&diff->arena, (most + 1) * sizeof(*diff->columns));
	if (!matches || !diff->columns)
		return out_of_memory(err);
	if (column_match(before->columns, after->columns, matches, &diff->column_count) < 0)
		return out_of_memory(err);
	if (diff->column_count == 0)
		return error_set(err, -ENOENT, "no event is on both sides");
	static const struct cell none = { 0 };
	for (size_t c = 0; c < diff->column_count; c++) {
		const struct column_match *match = &matches[c];
		const struct event_column *a = &before->columns->list[match->before];
		const struct event_column *b = &after->columns->list[match->after];
		uint64_t scale = column_match_scale(a, b);
		struct annotate_diff_column *column = &diff->columns[c];
		*column = (struct annotate_diff_column){ .before = match->before,
							 .after = match->after };
		struct difference_event *event = &column->event;
		const struct cell *left =
			diff->before ? &diff->before->procedure->cells[match->before] : &none;
		event->before_whole = column_match_cell(left, a->scale, scale);
		event->after_whole = column_match_cell(&diff->after->procedure->cells[match->after],
						       b->scale, scale);
		event->before_counts = compare_counts_of(before->profile, options->counts);
		event->after_counts = compare_counts_of(after->profile, options->counts);
		event->step = event_scale_divisor(scale);
		struct cell totals[2] = {
			column_match_cell(&before->whole[match->before], a->scale, scale),
			column_match_cell(&after->whole[match->after], b->scale, scale)
		};
		int ret = column_match_check(&totals[0], b->name, err);
		if (ret == 0)
			ret = column_match_check(&totals[1], b->name, err);
		if (ret < 0)
			return ret;
		event->scale =
			options->base == DIFFERENCE_TOTAL
				? difference_scale_counts(DIFFERENCE_TOTAL, &totals[0], &totals[1])
			: options->base == DIFFERENCE_SECOND
				? difference_scale_seconds(options->before_s, options->after_s)
				: difference_scale_raw();
	}
	return 0;
}

/* ---- rows */

/* By where rows lie in the procedure, which rises in both. */
static void pair_offsets(const uint64_t *before, size_t before_count, const uint64_t *after,
			 size_t after_count, uint32_t *partner)
{
	for (size_t i = 0, k = 0; i < before_count; i++) {
		while (k < after_count && after[k] < before[i])
			k++;
		partner[i] = k < after_count && after[k] == before[i] ? (uint32_t)k : ALIGN_NONE;
	}
}

/* Stores which row of `after` is the same as each of `before`: by offset, or by what the
 * instructions do. */
static int pair_rows(struct annotation_diff *diff, uint32_t *partner, struct error *err)
{
	const struct annotation *a = diff->before, *b = diff->after;
	bool by_text = diff->match == ANNOTATE_MATCH_NAME;
	enum code_tokens_kind kind = by_text ? CODE_TOKENS_TEXT : CODE_TOKENS_OFFSET;
	CLEANUP(free_pointer) uint64_t *left = calloc(a->row_count + 1, sizeof(*left));
	CLEANUP(free_pointer) uint64_t *right = calloc(b->row_count + 1, sizeof(*right));
	int cut = 0;
	if (!left || !right)
		return out_of_memory(err);
	code_tokens_fill(a, kind, left);
	code_tokens_fill(b, kind, right);
	if (!by_text)
		pair_offsets(left, a->row_count, right, b->row_count, partner);
	else if (align_tokens(left, a->row_count, right, b->row_count, partner, &cut) < 0)
		return out_of_memory(err);
	diff->alignment_cut = cut;
	return 0;
}

static int fill_row(struct annotation_diff *diff, const struct annotate_index *before,
		    const struct annotate_index *after, struct annotate_diff_row *row)
{
	row->changes = arena_allocate(&diff->arena, diff->column_count * sizeof(*row->changes));
	if (!row->changes)
		return -ENOMEM;
	for (size_t c = 0; c < diff->column_count; c++) {
		const struct annotate_diff_column *column = &diff->columns[c];
		const struct event_column *a = &before->columns->list[column->before];
		const struct event_column *b = &after->columns->list[column->after];
		uint64_t scale = column_match_scale(a, b);
		struct cell_change change = { { 0 }, { 0 } };
		if (row->before)
			change.before = column_match_cell(&row->before->cells[column->before],
							  a->scale, scale);
		if (row->after)
			change.after = column_match_cell(&row->after->cells[column->after],
							 b->scale, scale);
		row->changes[c] = difference_of(&column->event, &change, column->overlap);
	}
	return 0;
}

/* Makes the rows, in the order of both versions: those of the base alone before those of the other
 * alone. */
static int merge_rows(struct annotation_diff *diff, const struct annotate_index *before,
		      const struct annotate_index *after, const uint32_t *partner,
		      struct error *err)
{
	const struct annotation *a = diff->before, *b = diff->after;
	size_t left = a ? a->row_count : 0, i = 0, k = 0;
	diff->rows = calloc(left + b->row_count + 1, sizeof(*diff->rows));
	if (!diff->rows)
		return out_of_memory(err);
	while (i < left || k < b->row_count) {
		struct annotate_diff_row *row = &diff->rows[diff->row_count++];
		if (i < left && partner[i] == ALIGN_NONE) {
			row->before = &a->rows[i++];
		} else if (i < left && partner[i] == k) {
			row->before = &a->rows[i++];
			row->after = &b->rows[k++];
		} else {
			row->after = &b->rows[k++];
		}
		if (fill_row(diff, before, after, row) < 0)
			return out_of_memory(err);
	}
	return 0;
}

static bool is_empty(const struct annotate_diff_row *row, size_t column)
{
	return cell_is_empty(&row->changes[column].before) &&
	       cell_is_empty(&row->changes[column].after);
}

/* Rows are judged together, event by event; those without samples are no tests. */
static int judge(struct annotation_diff *diff, struct error *err)
{
	CLEANUP(free_pointer) double *p = calloc(diff->row_count + 1, sizeof(*p));
	diff->whole = arena_allocate(&diff->arena, diff->column_count * sizeof(*diff->whole));
	if (!p || !diff->whole)
		return out_of_memory(err);
	for (size_t c = 0; c < diff->column_count; c++) {
		const struct difference_event *event = &diff->columns[c].event;
		struct cell_change whole = { event->before_whole, event->after_whole };
		diff->whole[c] = difference_of(event, &whole, diff->columns[c].overlap);
		for (size_t i = 0; i < diff->row_count; i++)
			p[i] = is_empty(&diff->rows[i], c) ? NAN : diff->rows[i].changes[c].p;
		if (difference_control(p, diff->row_count, p) < 0)
			return out_of_memory(err);
		for (size_t i = 0; i < diff->row_count; i++)
			difference_judge(&diff->rows[i].changes[c],
					 is_empty(&diff->rows[i], c) ? 1 : p[i]);
	}
	return 0;
}

static int fill(struct annotation_diff *diff, const struct annotate_index *before,
		const struct annotate_index *after, size_t position,
		const struct annotate_diff_options *options, struct error *err)
{
	size_t base = 0; /* read only where there is a match */
	int ret =
		find_version(before, after, position, &options->annotate, &base, &diff->match, err);
	if (ret == 0)
		ret = annotate(after, position, &options->annotate, &diff->after, err);
	if (ret == 0 && diff->match != ANNOTATE_MATCH_NONE)
		ret = annotate(before, base, &options->annotate, &diff->before, err);
	if (ret == 0)
		ret = add_columns(diff, before, after, options, err);
	if (ret < 0)
		return ret;
	size_t count = diff->before ? diff->before->row_count : 0;
	CLEANUP(free_pointer) uint32_t *partner = calloc(count + 1, sizeof(*partner));
	if (!partner)
		return out_of_memory(err);
	if (diff->before)
		ret = pair_rows(diff, partner, err);
	if (ret == 0)
		ret = merge_rows(diff, before, after, partner, err);
	return ret < 0 ? ret : judge(diff, err);
}

int annotate_diff(const struct annotate_index *before, const struct annotate_index *after,
		  size_t position, const struct annotate_diff_options *options,
		  struct annotation_diff **out, struct error *err)
{
	CLEANUP(annotation_diff_freep) struct annotation_diff *diff = calloc(1, sizeof(*diff));
	if (!diff)
		return out_of_memory(err);
	int ret = fill(diff, before, after, position, options, err);
	if (ret < 0)
		return ret;
	*out = diff;
	diff = NULL; /* the caller's from here on */
	return 0;
}

void annotation_diff_free(struct annotation_diff *diff)
{
	if (!diff)
		return;
	annotation_free(diff->before);
	annotation_free(diff->after);
	free(diff->rows);
	arena_release(&diff->arena);
	free(diff);
}

void annotation_diff_freep(struct annotation_diff **diff)
{
	annotation_diff_free(*diff);
}
