#include "analyze/figures/column_match.h"

#include <errno.h>

#include "base/error.h"
#include "base/sum.h"

/* How badly two columns go together: 0 the same, more the worse, negative not at all. */
static int unlike(const struct event_column *a, const struct event_column *b)
{
	if (a->clock != b->clock || !span_equal(a->core_type, b->core_type))
		return -1;
	if (span_equal(a->name, b->name) && a->exclude == b->exclude)
		return 0;
	if (span_equal(event_base_name(a->name), event_base_name(b->name)))
		return 1;
	bool same_config = a->pmu.size && span_equal(a->pmu, b->pmu) && a->type == b->type &&
			   a->config == b->config;
	return same_config ? 2 : -1;
}

#define WORST 2

static bool is_taken(const struct column_match *matches, size_t count, size_t before, size_t after)
{
	for (size_t i = 0; i < count; i++)
		if (matches[i].before == before || matches[i].after == after)
			return true;
	return false;
}

static void sort(struct column_match *matches, size_t count)
{
	for (size_t i = 1; i < count; i++)
		for (size_t k = i; k > 0 && matches[k].before < matches[k - 1].before; k--) {
			struct column_match other = matches[k];
			matches[k] = matches[k - 1];
			matches[k - 1] = other;
		}
}

size_t column_match(const struct event_columns *before, const struct event_columns *after,
		    struct column_match *matches)
{
	size_t count = 0;
	for (int most = 0; most <= WORST; most++)
		for (size_t i = 0; i < before->count; i++)
			for (size_t k = 0; k < after->count; k++)
				if (unlike(&before->list[i], &after->list[k]) == most &&
				    !is_taken(matches, count, i, k))
					matches[count++] = (struct column_match){ i, k };
	if (count == 0 && before->count == 1 && after->count == 1)
		matches[count++] = (struct column_match){ 0, 0 };
	sort(matches, count);
	return count;
}

uint64_t column_match_scale(const struct event_column *before, const struct event_column *after)
{
	return before->scale > after->scale ? before->scale : after->scale;
}

struct cell column_match_cell(const struct cell *cell, uint64_t decimals, uint64_t scale)
{
	struct cell result = *cell;
	for (; decimals < scale && result.estimate; decimals++) {
		if (__builtin_mul_overflow(result.squares, 100, &result.squares))
			result.squares = ~(unsigned __int128)0;
		if (__builtin_mul_overflow(result.estimate, 10, &result.estimate)) {
			result.estimate = UINT64_MAX;
			break;
		}
	}
	return result;
}

int column_match_check(const struct cell *whole, struct span name, struct error *err)
{
	if (!sum_passed(whole->estimate))
		return 0;
	return error_set(err, -EOVERFLOW,
			 "the counts of event '%.*s' pass 64 bits with the other side's decimals",
			 name.size < 200 ? (int)name.size : 200,
			 name.size ? (const char *)name.data : "");
}
