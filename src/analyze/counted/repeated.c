#include "analyze/counted/repeated.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/error.h"

static int compute(const struct repeated *repeated, struct repeated_measure *measure,
		   struct error *err)
{
	const struct run_values values = { measure->values, repeated->rounds, repeated->commands };
	int ret = 0;
	for (size_t c = 0; ret == 0 && c < repeated->commands; c++)
		ret = run_summary_of(&values, c, NULL, &measure->summaries[c], err);
	for (size_t c = 1; ret == 0 && c < repeated->commands; c++)
		ret = run_compare(&values, 0, c, &measure->comparisons[c - 1], err);
	return ret;
}

/* Judges all comparisons but the main measure's, which are scattered among the measures. */
static int judge_others(struct repeated *repeated, struct error *err)
{
	size_t others = repeated->commands - 1;
	CLEANUP(free_pointer)
	struct run_comparison *family =
		calloc(repeated->measure_count * others + 1, sizeof(*family));
	size_t count = 0;
	if (!family)
		return error_set(err, -ENOMEM, "out of memory for comparisons");
	for (size_t m = 0; m < repeated->measure_count; m++)
		for (size_t c = 0; m != repeated->main && c < others; c++)
			family[count++] = repeated->measures[m].comparisons[c];
	int ret = run_comparisons_judge(family, count, err);
	count = 0;
	for (size_t m = 0; ret == 0 && m < repeated->measure_count; m++)
		for (size_t c = 0; m != repeated->main && c < others; c++)
			repeated->measures[m].comparisons[c] = family[count++];
	return ret;
}

int repeated_summarise(struct repeated *repeated, struct error *err)
{
	int ret = 0;
	for (size_t m = 0; ret == 0 && m < repeated->measure_count; m++)
		ret = compute(repeated, &repeated->measures[m], err);
	if (ret < 0 || repeated->commands < 2)
		return ret;
	ret = run_comparisons_judge(repeated->measures[repeated->main].comparisons,
				    repeated->commands - 1, err);
	return ret < 0 ? ret : judge_others(repeated, err);
}
