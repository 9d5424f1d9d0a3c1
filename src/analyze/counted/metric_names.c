#include "analyze/counted/metric_names.h"

#include <string.h>

const struct metric_name metric_names[] = {
	{ "ipc", "instructions/cycles", "instructions per cycle" },
	{ "cpi", "cycles/instructions", "cycles per instruction" },
	{ "ghz", "cycles/task-clock", "the clock while it ran, in GHz" },
	{ "branch-miss-rate", "branch-misses/branches", "share of branches predicted wrong" },
	{ "branch-mpki", "1000*branch-misses/instructions",
	  "branches predicted wrong, per 1000 instructions" },
	{ "cache-miss-rate", "cache-misses/cache-references",
	  "share of cache references that missed" },
	{ "cache-mpki", "1000*cache-misses/instructions", "cache misses per 1000 instructions" },
	{ "l1d-miss-rate", "L1-dcache-load-misses/L1-dcache-loads",
	  "share of loads that missed the first data cache" },
	{ "llc-miss-rate", "LLC-load-misses/LLC-loads",
	  "share of loads in the last cache that missed it" },
	{ "dtlb-miss-rate", "dTLB-load-misses/dTLB-loads",
	  "share of loads whose page was not in the TLB" },
	{ "faults-per-second", "1000000000*page-faults/task-clock",
	  "page faults in a second of CPU time" },
	{ "switches-per-second", "1000000000*context-switches/task-clock",
	  "context switches in a second of CPU time" },
};
const size_t metric_name_count = sizeof(metric_names) / sizeof(metric_names[0]);

const struct metric_name *metric_name_find(const char *name)
{
	for (size_t i = 0; i < metric_name_count; i++)
		if (strcmp(metric_names[i].name, name) == 0)
			return &metric_names[i];
	return NULL;
}
