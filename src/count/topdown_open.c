/* Setting up how slots are counted: the method of each core type, and its events. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "count/kernel.h"
#include "count/target_list.h"
#include "count/topdown_private.h"
#include "machine/cpu.h"
#include "machine/machine_root.h"

static int open_cores(struct culprit_topdown *topdown, struct topdown_cores *cores, const char *pmu,
		      const struct target_list *targets, const struct culprit_options *options,
		      const struct count_kernel *kernel, struct error *err)
{
	struct count_options how = {
		.targets = targets->all,
		.target_count = targets->count,
		.inherit = target_inherit(options),
		.user_only = options->flags & CULPRIT_USER_ONLY,
		.pinned = options->flags & CULPRIT_PINNED,
		.never_multiplex = options->flags & CULPRIT_NEVER_MULTIPLEX,
	};
	int status = topdown_events_add(&cores->method, pmu, topdown->levels, &topdown->pmus,
					&cores->events, &cores->where, err);
	if (status)
		return status;
	bool registers = cores->method.register_levels >= topdown->levels && topdown->own_thread &&
			 !(options->flags & CULPRIT_ALWAYS_READ);
	/* of formulas each count is read in user space as well, of registers their pair is */
	how.live = topdown->own_thread && !(options->flags & CULPRIT_ALWAYS_READ) &&
		   (registers || !cores->method.register_levels);
	status = count_set_open(&cores->events, &topdown->pmus, &how, kernel, &cores->set, err);
	if (status)
		return status;
	cores->by_registers = registers && topdown_registers_readable(cores);
	return 0;
}

/* An event that is not counted, or without the kernel's side, for those who want all of it. */
static int check_strictly(const struct topdown_cores *cores, const struct count_reading *readings,
			  struct error *err)
{
	for (size_t i = 0; i < cores->events.count; i++) {
		enum count_state state = readings[i].state;
		int code = readings[i].code ? readings[i].code : -ENOENT;
		if (state == COUNT_OPEN && count_set_is_user_only(cores->set, i))
			return error_set(err, -EACCES,
					 "cannot count '%s' for method '%s': the kernel's side may "
					 "not be counted",
					 cores->events.events[i].name, cores->method.name);
		if (state != COUNT_OPEN && state != COUNT_ELSEWHERE)
			return error_set(err, code, "cannot count '%s' for method '%s': %s",
					 cores->events.events[i].name, cores->method.name,
					 strerror(-code));
	}
	return 0;
}

/* At least one event has to open, or nothing is known; but for cores that are not the target's. */
static int check_counted(struct culprit_topdown *topdown, struct topdown_cores *cores, bool strict,
			 struct error *err)
{
	int code = -ENOENT;
	int status = count_set_read_all(cores->set, topdown->readings, topdown->scratch);
	if (status)
		return error_set(err, status, "cannot read counters: %s", strerror(-status));
	if (strict && (status = check_strictly(cores, topdown->readings, err)))
		return status;
	for (size_t i = 0; i < cores->events.count; i++) {
		if (topdown->readings[i].state == COUNT_OPEN ||
		    topdown->readings[i].state == COUNT_ELSEWHERE)
			return 0;
		if (topdown->readings[i].code)
			code = topdown->readings[i].code;
	}
	return error_set(err, code, "cannot count slots by method '%s': %s", cores->method.name,
			 strerror(-code));
}

/* The PMU that counts on cores of the type, NULL for none. */
static const struct pmu *pmu_of(const struct pmu_list *pmus, const struct cpu_info *cpu,
				size_t type)
{
	if (cpu->type_count == 1)
		return pmu_core(pmus, 0);
	return pmu_find(pmus, cpu->types[type].name);
}

static int set_up_cores(struct culprit_topdown *topdown, const struct cpu_info *cpu, size_t type,
			const struct target_list *targets, const struct culprit_options *options,
			const struct count_kernel *kernel, struct error *err)
{
	const struct pmu *pmu = pmu_of(&topdown->pmus, cpu, type);
	struct topdown_cores *cores = &topdown->cores[topdown->count];
	if (!pmu)
		return error_set(err, -ENOENT,
				 "cannot count slots: this machine has no hardware counters (no "
				 "PMU)");
	int status = topdown_method_choose(cpu, &cpu->types[type], pmu, &cores->method, err);
	if (status)
		return status;
	if (cpu->type_count > 1)
		snprintf(cores->core_type, sizeof(cores->core_type), "%s", cpu->types[type].name);
	topdown->count++; /* to be closed, whatever follows */
	status = open_cores(topdown, cores, pmu->name, targets, options, kernel, err);
	return status ? status
		      : check_counted(topdown, cores, options->flags & CULPRIT_STRICT, err);
}

static int set_up(struct culprit_topdown *topdown, const struct culprit_options *options,
		  const struct count_world *world, struct error *err)
{
	CLEANUP(target_list_release) struct target_list targets = { 0 };
	CLEANUP(free_pointer) struct cpu_info *cpu = calloc(1, sizeof(*cpu));
	struct machine_root root;
	topdown->cores = calloc(CPU_MAX_TYPES, sizeof(*topdown->cores));
	topdown->readings = calloc(TOPDOWN_EVENTS, sizeof(*topdown->readings));
	topdown->scratch = calloc(TOPDOWN_EVENTS, sizeof(*topdown->scratch));
	if (!cpu || !topdown->cores || !topdown->readings || !topdown->scratch)
		return error_set(err, -ENOMEM, "out of memory while opening counters");
	int status = target_list_fill(&targets, options, err);
	if (status == 0)
		status = machine_root_open(world->root, &root, err);
	if (status)
		return status;
	cpu_info_read(&root, cpu);
	status = pmu_list_read_if_any(&root, &topdown->pmus, err);
	machine_root_close(&root);
	/* a type without a method has no result beside those that have one */
	struct error missing = { 0 };
	for (size_t type = 0; type < cpu->type_count; type++) {
		size_t before = topdown->count;
		status = set_up_cores(topdown, cpu, type, &targets, options, world->kernel, err);
		if (status && (status != -ENOENT || topdown->count != before))
			return status;
		if (status && !missing.code)
			missing = *err;
	}
	topdown->counts_all_types = topdown->count == cpu->type_count;
	for (size_t i = 0; i < topdown->count; i++)
		topdown->counts_all_types &= !topdown->cores[i].by_registers;
	if (topdown->count)
		return 0;
	if (!missing.code)
		return error_set(err, -ENOENT, "cannot count slots: /proc/cpuinfo names no CPU");
	*err = missing;
	return missing.code;
}

int topdown_open(unsigned levels, const struct culprit_options *options,
		 const struct count_world *world, struct culprit_topdown **out,
		 struct culprit_error *error)
{
	static const struct culprit_options usual = { .subject = CULPRIT_THIS_THREAD };
	struct error err = { 0 };
	int status;
	struct culprit_topdown *topdown = calloc(1, sizeof(*topdown));
	if (!topdown) {
		status = error_set(&err, -ENOMEM, "out of memory while opening counters");
	} else if (levels != 1 && levels != 2) {
		status = error_set(&err, -EINVAL, "TopDown has levels 1 and 2, not %u", levels);
	} else {
		topdown->levels = levels;
		options = options ? options : &usual;
		topdown->own_thread = options->subject == CULPRIT_THIS_THREAD;
		topdown->thread = pthread_self();
		status = set_up(topdown, options, world, &err);
	}
	if (status) {
		culprit_topdown_close(topdown);
		if (error) {
			error->code = status;
			snprintf(error->text, sizeof(error->text), "%s", err.text);
		}
		return status;
	}
	*out = topdown;
	return 0;
}

int culprit_topdown_open(unsigned levels, const struct culprit_options *options,
			 struct culprit_topdown **topdown, struct culprit_error *error)
{
	return topdown_open(levels, options, &count_world_real, topdown, error);
}

void culprit_topdown_close(struct culprit_topdown *topdown)
{
	if (!topdown)
		return;
	for (size_t i = 0; i < topdown->count; i++) {
		count_set_close(topdown->cores[i].set);
		event_list_release(&topdown->cores[i].events);
	}
	pmu_list_release(&topdown->pmus);
	free(topdown->cores);
	free(topdown->readings);
	free(topdown->scratch);
	free(topdown);
}
