#include "count/region_summary.h"

#include <math.h>

#include "count/region_cost.h"
#include "count/region_tally.h"
#include "culprit/region.h"

#define Z95 1.96 /* standard deviations of a normal distribution that 95 of 100 lie within */
/* The share of a value that its error may be, to be measurable. */
#define MEASURABLE_ERROR 0.02

static void include(struct region_summary *summary, uint64_t count, uint64_t min, uint64_t max)
{
	if (count && (summary->count == 0 || min < summary->min))
		summary->min = min;
	if (count && (summary->count == 0 || max > summary->max))
		summary->max = max;
	summary->count += count;
}

void region_summary_add(struct region_summary *summary, const struct region_cells *cells,
			size_t quantity, const struct region_cost *cost)
{
	struct tally_head head;
	tally_read(cells, quantity, &head);
	include(summary, head.count, head.min, head.max);
	summary->absent += head.absent;
	summary->flags |= (uint32_t)head.flags;
	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++)
		summary->buckets[i] += tally_get(&cells->tallies[quantity].buckets[i]);
	if (!cost->known) {
		summary->not_priced = true;
		summary->total += (double)head.total;
		return;
	}
	double count = (double)head.count, inner = (double)head.inner;
	summary->total += region_cost_net(cost, (double)head.total, count, inner);
	summary->variance += region_cost_variance(cost, count, inner);
	summary->measurable = fmax(summary->measurable, cost->own_spread / MEASURABLE_ERROR);
}

void region_summary_merge(struct region_summary *summary, const struct region_summary *part)
{
	include(summary, part->count, part->min, part->max);
	summary->absent += part->absent;
	summary->flags |= part->flags;
	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++)
		summary->buckets[i] += part->buckets[i];
	summary->not_priced |= part->not_priced;
	summary->total += part->total;
	summary->variance += part->variance;
	summary->measurable = fmax(summary->measurable, part->measurable);
}

/* The middle of a bucket may lie beyond what is in it. */
static double quantile(const struct region_summary *summary, double share)
{
	double found = histogram_quantile(summary->buckets, share);
	return fmin(fmax(found, (double)summary->min), (double)summary->max);
}

static void set_total(const struct region_summary *summary, double scale,
		      struct culprit_region_event *result)
{
	result->total = fmax(summary->total, 0) * scale;
	result->low = result->high = NAN;
	if (summary->not_priced || summary->flags & CULPRIT_MULTIPLEXED) {
		result->flags |= CULPRIT_NO_INTERVAL;
		return;
	}
	double half = Z95 * sqrt(summary->variance);
	result->low = fmax(summary->total - half, 0) * scale;
	result->high = fmax(summary->total + half, 0) * scale;
}

void region_summary_result(const struct region_summary *summary, double scale,
			   struct culprit_region_event *result)
{
	*result = (struct culprit_region_event){
		.count = summary->count,
		.absent = summary->absent,
		.flags = summary->flags,
		.min = NAN,
		.median = NAN,
		.p99 = NAN,
		.max = NAN,
		.total = NAN,
		.low = NAN,
		.high = NAN,
		.measurable = summary->not_priced ? NAN : summary->measurable * scale,
	};
	if (summary->count == 0) {
		if (summary->absent)
			result->flags |= CULPRIT_ABSENT;
		else
			result->total = result->low = result->high = 0;
		return;
	}
	double median = quantile(summary, 0.5);
	result->min = (double)summary->min * scale;
	result->median = median * scale;
	result->p99 = quantile(summary, 0.99) * scale;
	result->max = (double)summary->max * scale;
	set_total(summary, scale, result);
	if (!summary->not_priced && median < summary->measurable)
		result->flags |= CULPRIT_TOO_SMALL;
}
