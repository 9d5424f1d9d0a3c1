#include "cli/stat_topdown.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "machine/cpu.h"
#include "machine/machine_root.h"
#include "machine/pmu.h"

/* The PMU that counts on cores of the type; NULL: none. */
static const struct pmu *pmu_of(const struct pmu_list *pmus, const struct cpu_info *cpu,
				size_t type)
{
	return cpu->type_count == 1 ? pmu_core(pmus, 0) : pmu_find(pmus, cpu->types[type].name);
}

static int add_cores(struct stat_topdown *topdown, const struct cpu_info *cpu, size_t type,
		     const struct stat_options *options, const struct pmu_list *pmus,
		     struct event_list *list, struct error *err)
{
	struct stat_topdown_cores *cores = &topdown->cores[topdown->count];
	const struct pmu *pmu = pmu_of(pmus, cpu, type);
	int ret = topdown_method_choose(cpu, &cpu->types[type], pmu, &cores->method, err);
	if (ret < 0)
		return error_prefix(err, "cannot count for --topdown");
	if (!pmu)
		return error_set(err, -ENOENT,
				 "cannot count for --topdown: this machine has no hardware "
				 "counters (no PMU); 'culprit doctor' says more");
	snprintf(cores->type, sizeof(cores->type), "%s", cpu->types[type].name);
	topdown->types[topdown->count++] = cpu->type_count > 1 ? cores->type : NULL;
	return topdown_events_add(&cores->method, pmu->name, (unsigned)options->topdown_level, pmus,
				  list, &cores->events, err);
}

int stat_topdown_add_events(struct stat_topdown *topdown, const struct stat_options *options,
			    const struct machine_root *root, const struct pmu_list *pmus,
			    struct event_list *list, struct error *err)
{
	CLEANUP(free_pointer) struct cpu_info *cpu = calloc(1, sizeof(*cpu));
	topdown->cores = calloc(CPU_MAX_TYPES, sizeof(*topdown->cores));
	topdown->types = calloc(CPU_MAX_TYPES, sizeof(*topdown->types));
	if (!cpu || !topdown->cores || !topdown->types)
		return error_set(err, -ENOMEM, "out of memory for --topdown");
	cpu_info_read(root, cpu);
	int ret = 0;
	for (size_t type = 0; ret == 0 && type < cpu->type_count; type++)
		ret = add_cores(topdown, cpu, type, options, pmus, list, err);
	return ret;
}

void stat_topdown_release(struct stat_topdown *topdown)
{
	free(topdown->cores);
	free(topdown->types);
	*topdown = (struct stat_topdown){ 0 };
}

void stat_topdown_compute(const struct stat_topdown *topdown, const struct counts_value *values,
			  struct topdown *results)
{
	for (size_t i = 0; i < topdown->count; i++) {
		const struct stat_topdown_cores *cores = &topdown->cores[i];
		struct topdown_count counts[TOPDOWN_EVENTS] = { 0 };
		for (size_t e = 0; e < cores->method.event_count; e++) {
			if (cores->events.event_of[e] == SIZE_MAX)
				continue;
			const struct counts_value *value = &values[cores->events.event_of[e]];
			counts[e] = (struct topdown_count){
				.known = value->state == COUNTS_KNOWN,
				.value = value->count,
				.enabled_ns = value->enabled_ns,
				.running_ns = value->running_ns,
			};
		}
		topdown_of_counts(&cores->method, counts, &results[i]);
	}
}
