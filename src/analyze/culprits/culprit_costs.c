#include "analyze/culprits/culprits_private.h"

static double cycles_of(uint32_t figure)
{
	return figure == PIPELINE_UNKNOWN ? PIPELINE_MAX_CYCLES : figure;
}

static double at_least(uint32_t figure)
{
	return figure == PIPELINE_UNKNOWN ? 0 : figure;
}

struct culprit_costs culprit_costs_of(const struct pipeline *pipeline)
{
	bool three = pipeline->llc_miss_cycles != 0;
	/* What a miss adds that the last cache still holds, beyond that of the first one. */
	double between = three ? cycles_of(pipeline->l2_miss_cycles) : 0;
	double last = cycles_of(three ? pipeline->llc_miss_cycles : pipeline->l2_miss_cycles);
	struct culprit_costs costs = {
		.load_near = cycles_of(pipeline->l1d_miss_cycles) + between,
		.fetch_near = cycles_of(pipeline->l1i_miss_cycles) + between,
		.walk = cycles_of(pipeline->l2_tlb_cycles) + cycles_of(pipeline->page_walk_cycles),
		.load_least = at_least(pipeline->l1d_miss_cycles),
		.fetch_least = at_least(pipeline->l1i_miss_cycles),
		.mispredict = cycles_of(pipeline->mispredict_cycles),
	};
	costs.store_near = costs.load_near;
	costs.load_far = costs.load_near + last;
	costs.store_far = costs.store_near + cycles_of(pipeline->store_miss_cycles);
	costs.fetch_far = costs.fetch_near + cycles_of(pipeline->fetch_miss_cycles);
	return costs;
}
