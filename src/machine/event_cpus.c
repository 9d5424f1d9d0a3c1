#include "machine/event_cpus.h"

#include "machine/event.h"

/* Of a whole socket an event counts wherever it is opened. */
static bool has_own_cpus(const struct event *event)
{
	return event->has_cpus && !event->uncore;
}

bool event_cpus_go(const struct event *event, cpu_set_t *before)
{
	if (!has_own_cpus(event))
		return true;
	cpu_set_t wanted;
	CPU_ZERO(&wanted);
	for (size_t cpu = cpu_set_next(&event->cpus, 0); cpu < CPU_SETSIZE;
	     cpu = cpu_set_next(&event->cpus, cpu + 1))
		CPU_SET(cpu, &wanted);
	return sched_getaffinity(0, sizeof(*before), before) == 0 &&
	       sched_setaffinity(0, sizeof(wanted), &wanted) == 0;
}

void event_cpus_come_back(const struct event *event, const cpu_set_t *before)
{
	if (has_own_cpus(event))
		sched_setaffinity(0, sizeof(*before), before);
}
