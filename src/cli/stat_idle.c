#include "cli/stat_idle.h"

#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "collect/cpu_time.h"
#include "machine/cpu_set.h"

/* /proc/stat is right to a tick of 10 ms at either end; below, that is more than a fifth. */
#define LEAST_NS 100000000

void stat_idle_begin(struct stat_idle *idle, const struct cpu_set *cpus)
{
	size_t count = cpu_set_count(cpus), next = 0;
	stat_idle_release(idle);
	idle->cpus = calloc(count + 1, sizeof(*idle->cpus));
	idle->from = calloc(count + 1, sizeof(*idle->from));
	if (!idle->cpus || !idle->from)
		return;
	for (size_t i = 0; i < count; i++, next++)
		idle->cpus[i] = (int)(next = cpu_set_next(cpus, next));
	if (cpu_time_read(idle->cpus, count, idle->from) == 0)
		idle->count = count;
}

double stat_idle_share(const struct stat_idle *idle)
{
	CLEANUP(free_pointer) struct cpu_time *now = calloc(idle->count + 1, sizeof(*now));
	uint64_t wall_ns = 0, idle_ns = 0;
	if (!now || cpu_time_read(idle->cpus, idle->count, now) < 0)
		return NAN;
	for (size_t i = 0; i < idle->count; i++) {
		if (!idle->from[i].known || !now[i].known)
			continue; /* it was offline */
		uint64_t wall = now[i].wall_ns - idle->from[i].wall_ns;
		if (wall < LEAST_NS)
			return NAN;
		wall_ns += wall;
		idle_ns += cpu_time_idle_ns(&idle->from[i], &now[i]);
	}
	return wall_ns ? fmin(1, (double)idle_ns / (double)wall_ns) : NAN;
}

void stat_idle_release(struct stat_idle *idle)
{
	free(idle->cpus);
	free(idle->from);
	*idle = (struct stat_idle){ 0 };
}
