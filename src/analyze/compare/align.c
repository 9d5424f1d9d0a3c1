#include "analyze/compare/align.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* A part of both sequences. */
struct range {
	size_t before, before_end, after, after_end;
};

struct aligner {
	const uint64_t *before, *after;
	uint32_t *partner;
	uint32_t *rows; /* four of after_count + 1: two from the left, two from the right */
	size_t row_size;
};

/* Returns a row that has at k how long a longest common subsequence is of before[from..end) and the
 * first k of after's part. */
static uint32_t *lengths_forward(const struct aligner *a, size_t from, size_t end,
				 const struct range *range)
{
	uint32_t *last = a->rows, *row = a->rows + a->row_size;
	size_t width = range->after_end - range->after;
	memset(last, 0, (width + 1) * sizeof(*last));
	for (size_t i = from; i < end; i++) {
		row[0] = 0;
		for (size_t k = 1; k <= width; k++) {
			uint32_t most = last[k] > row[k - 1] ? last[k] : row[k - 1];
			bool same = a->before[i] == a->after[range->after + k - 1];
			row[k] = same ? last[k - 1] + 1 : most;
		}
		uint32_t *other = last;
		last = row;
		row = other;
	}
	return last;
}

/* The same from the end: at k, of before[from..end) and all but the first k of after's part. */
static uint32_t *lengths_backward(const struct aligner *a, size_t from, size_t end,
				  const struct range *range)
{
	uint32_t *last = a->rows + 2 * a->row_size, *row = a->rows + 3 * a->row_size;
	size_t width = range->after_end - range->after;
	memset(last, 0, (width + 1) * sizeof(*last));
	for (size_t i = end; i-- > from;) {
		row[width] = 0;
		for (size_t k = width; k-- > 0;) {
			uint32_t most = last[k] > row[k + 1] ? last[k] : row[k + 1];
			bool same = a->before[i] == a->after[range->after + k];
			row[k] = same ? last[k + 1] + 1 : most;
		}
		uint32_t *other = last;
		last = row;
		row = other;
	}
	return last;
}

/* Pairs what both parts begin and end with. */
static void pair_ends(const struct aligner *a, struct range *r)
{
	while (r->before < r->before_end && r->after < r->after_end &&
	       a->before[r->before] == a->after[r->after])
		a->partner[r->before++] = (uint32_t)r->after++;
	while (r->before < r->before_end && r->after < r->after_end &&
	       a->before[r->before_end - 1] == a->after[r->after_end - 1])
		a->partner[--r->before_end] = (uint32_t)--r->after_end;
}

/* Recurses as deep as the logarithm of before's length. */
static void align_range(const struct aligner *a, struct range range)
{
	pair_ends(a, &range);
	size_t height = range.before_end - range.before, width = range.after_end - range.after;
	if (height == 0 || width == 0)
		return;
	if (height == 1) {
		for (size_t k = range.after; k < range.after_end; k++)
			if (a->before[range.before] == a->after[k]) {
				a->partner[range.before] = (uint32_t)k;
				return;
			}
		return;
	}
	size_t middle = range.before + height / 2;
	const uint32_t *left = lengths_forward(a, range.before, middle, &range);
	const uint32_t *right = lengths_backward(a, middle, range.before_end, &range);
	size_t best = 0;
	for (size_t k = 1; k <= width; k++)
		if (left[k] + right[k] > left[best] + right[best])
			best = k;
	size_t split = range.after + best;
	align_range(a, (struct range){ range.before, middle, range.after, split });
	align_range(a, (struct range){ middle, range.before_end, split, range.after_end });
}

int align_tokens(const uint64_t *before, size_t before_count, const uint64_t *after,
		 size_t after_count, uint32_t *partner, int *cut)
{
	struct aligner a = { .before = before, .after = after, .partner = partner };
	struct range all = { 0, before_count, 0, after_count };
	*cut = 0;
	if (before_count >= ALIGN_NONE || after_count >= ALIGN_NONE)
		return -ENOMEM;
	for (size_t i = 0; i < before_count; i++)
		partner[i] = ALIGN_NONE;
	pair_ends(&a, &all);
	uint64_t height = all.before_end - all.before, width = all.after_end - all.after;
	if (height == 0 || width == 0)
		return 0;
	if (height > ALIGN_LIMIT / width) {
		*cut = 1;
		return 0;
	}
	a.row_size = (size_t)width + 1;
	a.rows = calloc(4 * a.row_size, sizeof(*a.rows));
	if (!a.rows)
		return -ENOMEM;
	align_range(&a, all);
	free(a.rows);
	return 0;
}
