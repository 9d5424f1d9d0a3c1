/* The fewest cycles that one thing alone allows a block. */
#include "analyze/flow/schedule_private.h"

/* When the last result is there, if nothing but operands is waited for. */
static double longest_chain(const struct pipeline *pipeline, const struct instruction_effects *ops,
			    size_t count)
{
	struct schedule s;
	int32_t longest = 0;
	s.pipeline = pipeline;
	s.cycle = 0;
	s.touched = (struct register_set){ { 0 } };
	for (size_t i = 0; i < count; i++) {
		struct schedule_earliest earliest = { 0, SCHEDULE_WAITS_NOT, 0, SCHEDULE_BEFORE };
		schedule_wait_for_operands(&s, &ops[i], &earliest);
		schedule_write_results(&s, &ops[i], (uint32_t)i, earliest.cycle);
		int32_t end = earliest.cycle +
			      (int32_t)schedule_result_cycles(pipeline, &ops[i], PIPELINE_OPERAND);
		if (end > longest)
			longest = end;
	}
	return longest;
}

/*
 * For each set of units that some class may choose from: the cycles of all work that
 * can only be done there, over the units of the set. The most of these cannot be beaten.
 */
static double unit_bound(const struct pipeline *pipeline, const struct instruction_effects *ops,
			 size_t count)
{
	struct {
		uint32_t units;
		uint64_t busy_cycles;
	} sets[PIPELINE_ROWS + 2];
	size_t set_count = 0;
	double most = 0;
	for (size_t i = 0; i < count; i++) {
		struct schedule_request wanted[SCHEDULE_REQUESTS_EACH];
		size_t requests = schedule_requests_of(pipeline, &ops[i], (uint32_t)i, wanted);
		for (size_t k = 0; k < requests; k++) {
			size_t at = 0;
			while (at < set_count && sets[at].units != wanted[k].units)
				at++;
			if (at == set_count) {
				sets[at].units = wanted[k].units;
				sets[at].busy_cycles = 0;
				set_count++;
			}
			sets[at].busy_cycles += wanted[k].busy_cycles;
		}
	}
	for (size_t i = 0; i < set_count; i++) {
		uint64_t busy = 0;
		for (size_t k = 0; k < set_count; k++)
			if (!(sets[k].units & ~sets[i].units))
				busy += sets[k].busy_cycles;
		double cycles = (double)busy / __builtin_popcount(sets[i].units);
		if (cycles > most)
			most = cycles;
	}
	return most;
}

void schedule_find_bounds(const struct pipeline *pipeline, const struct instruction_effects *ops,
			  size_t count, struct schedule_bounds *bounds)
{
	bounds->width_cycles = (double)count / pipeline->issue_width;
	bounds->unit_cycles = unit_bound(pipeline, ops, count);
	bounds->latency_cycles = longest_chain(pipeline, ops, count);
}
