#include "cli/stat_limit.h"

#include <math.h>

#include "machine/fault_cost.h"
#include "machine/topdown.h"

_Static_assert(SLOTS_RETIRING == (int)TOPDOWN_RETIRING &&
		       SLOTS_BACKEND == (int)TOPDOWN_BACKEND_BOUND &&
		       SLOTS_FRONTEND == (int)TOPDOWN_FRONTEND_BOUND &&
		       SLOTS_USES == TOPDOWN_LEVEL_1,
	       "level 1 in one order");

/* CPU time of what is watched: events of a task are to count whenever it runs. */
static double busy_s(const struct counts *counts, const struct counts_row *row,
		     const struct stat_times *times)
{
	double clock_ns = counts_total(counts, row, COUNTS_CLOCK);
	uint64_t enabled_ns = 0;
	for (size_t i = 0; i < counts->event_count; i++)
		if (row->values[i].enabled_ns > enabled_ns)
			enabled_ns = row->values[i].enabled_ns;
	if (isfinite(clock_ns))
		return clock_ns / 1e9;
	if (counts->event_count == 0)
		return times->user_s + times->system_s;
	return (double)enabled_ns / 1e9;
}

struct limiting_factor stat_limit_of(const struct counts *counts, const struct stat_times *times,
				     double cpus)
{
	const struct counts_row *row = &counts->rows[0];
	struct run_figures figures = {
		.elapsed_s = times->elapsed_s,
		.busy_s = busy_s(counts, row, times),
		.cpus = cpus,
		.user_s = times->user_s,
		.system_s = times->system_s,
		.cycles = counts_total(counts, row, COUNTS_CYCLES),
		.instructions = counts_total(counts, row, COUNTS_INSTRUCTIONS),
		.branch_misses = counts_total(counts, row, COUNTS_BRANCH_MISSES),
		.page_faults = counts_total(counts, row, COUNTS_PAGE_FAULTS),
		.page_fault_s = NAN,
		.voluntary_switches = times->voluntary_switches,
		.involuntary_switches = times->involuntary_switches,
		.slots = { NAN, NAN, NAN, NAN },
	};
	/* with several core types no figure is of all of it */
	if (counts->topdown_count == 1 && row->topdown[0].unit == TOPDOWN_SLOTS)
		for (unsigned i = 0; i < TOPDOWN_LEVEL_1; i++)
			if (row->topdown[0].figures[i].known && !row->topdown[0].figures[i].doubts)
				figures.slots[i] = row->topdown[0].figures[i].value;
	if (figures.system_s > figures.user_s)
		figures.page_fault_s = fault_cost_measure();
	return limiting_factor_of(&figures);
}
