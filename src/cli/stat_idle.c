#include "cli/stat_idle.h"

#include <math.h>
#include <sched.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "collect/cpu_time.h"
#include "machine/cpu_set.h"

/* /proc/stat is right to a tick of 10 ms at either end; below, that is more than a fifth. */
#define LEAST_NS 100000000

/* The CPUs that it may use, in idle->cpus. */
static size_t allowed(pid_t pid, int **cpus)
{
	size_t size = CPU_ALLOC_SIZE(CPU_SET_LIMIT), count = 0;
	cpu_set_t *set = CPU_ALLOC(CPU_SET_LIMIT);
	if (set && sched_getaffinity(pid, size, set) == 0 &&
	    (*cpus = calloc((size_t)CPU_COUNT_S(size, set) + 1, sizeof(**cpus))))
		for (int cpu = 0; cpu < CPU_SET_LIMIT; cpu++)
			if (CPU_ISSET_S(cpu, size, set))
				(*cpus)[count++] = cpu;
	if (set)
		CPU_FREE(set);
	return count;
}

void stat_idle_begin(struct stat_idle *idle, pid_t pid)
{
	*idle = (struct stat_idle){ 0 };
	size_t count = allowed(pid, &idle->cpus);
	idle->from = calloc(count + 1, sizeof(*idle->from));
	if (idle->from && cpu_time_read(idle->cpus, count, idle->from) == 0)
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
