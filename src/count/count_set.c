#include "count/count_set.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "count/count_plan.h"
#include "count/count_set_private.h"
#include "count/kernel.h"
#include "count/sides.h"
#include "machine/pmu.h"

/* Bits of config1 on arm64 PMUs: a counter of 64 bits, and one that user code may read
 * (Documentation/arch/arm64/perf.rst of Linux). */
#define ARM_LONG       1u
#define ARM_USER_READS 2u

void count_set_close(struct count_set *set)
{
	if (!set)
		return;
	bool mapped = own_process_is_this(&set->own);
	for (size_t i = 0; set->slots && i < set->target_count * set->events->count; i++) {
		if (set->slots[i].page && mapped)
			set->kernel->unmap(set->slots[i].page, set->page_bytes);
		if (set->slots[i].fd >= 0)
			set->kernel->close(set->slots[i].fd);
	}
	count_set_close_rings(set, mapped);
	own_process_release(&set->own);
	count_plan_release(&set->plan);
	free(set->slots);
	free(set->targets);
	free(set->attrs);
	free(set);
}

static void close_set(struct count_set **set)
{
	count_set_close(*set);
}

static bool refused_for_rights(int code)
{
	return code == -EACCES || code == -EPERM;
}

static int try_open(const struct count_set *set, const struct perf_event_attr *attr,
		    const struct count_target *target)
{
	int fd = set->kernel->open(attr, target->pid, target->cpu, -1, 0);
	if (fd >= 0)
		set->kernel->close(fd);
	return fd < 0 ? fd : 0;
}

static bool reads_in_user_space(const struct pmu_list *pmus, const struct event *event)
{
	const struct pmu *pmu = event->pmu ? pmu_find(pmus, event->pmu) : NULL;
	if (!pmu)
		pmu = pmu_core(pmus, 0);
	return pmu && event->kind != EVENT_SOFTWARE && pmu_find_format(pmu, "rdpmc");
}

/*
 * What the kernel does for the target is left out where it may not be counted; a PMU that is asked
 * for it lets user code read. `target` is the first one: all are alike.
 */
static void settle_attr(const struct count_set *set, const struct pmu_list *pmus,
			const struct count_options *options, size_t event)
{
	struct perf_event_attr *attr = &set->attrs[event];
	const struct count_target *target = &set->targets[0];
	const struct event *asked = &set->events->events[event];
	if (options->user_only && !attr->exclude_user && event_has_sides(asked))
		attr->exclude_kernel = attr->exclude_hv = 1;
	if (!attr->exclude_kernel && !attr->exclude_user && !asked->uncore &&
	    !event_is_kernel_only(attr) && refused_for_rights(try_open(set, attr, target))) {
		struct perf_event_attr user = *attr;
		user.exclude_kernel = user.exclude_hv = 1;
		if (!refused_for_rights(try_open(set, &user, target)))
			*attr = user;
	}
	if (!options->live || !reads_in_user_space(pmus, asked))
		return;
	static const uint64_t bits[] = { ARM_USER_READS | ARM_LONG, ARM_USER_READS };
	for (size_t i = 0; i < sizeof(bits) / sizeof(bits[0]); i++) {
		struct perf_event_attr live = *attr;
		live.config1 |= bits[i];
		if (try_open(set, &live, target) == 0) {
			*attr = live;
			return;
		}
	}
}

static void fill_attr(const struct count_options *options, struct perf_event_attr *attr)
{
	attr->size = sizeof(*attr);
	attr->sample_period = 0;
	attr->freq = 0;
	attr->inherit = options->inherit != COUNT_ALONE;
	attr->pinned |= options->pinned;
	attr->read_format =
		PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
}

static enum count_state state_of_refusal(int code)
{
	return code == -ESRCH ? COUNT_GONE : COUNT_NOT_SUPPORTED;
}

/* Whether the event counts on the CPU of the target, if that names one. */
static bool counts_there(const struct event *event, const struct count_target *target)
{
	if (event->uncore && target->cpu < 0)
		return true; /* the kernel says why not */
	return !event->has_cpus || target->cpu < 0 ||
	       cpu_set_has(&event->cpus, (size_t)target->cpu);
}

/* inherit_thread (Linux 5.13) keeps processes out; before that they cannot be told apart. */
static int open_inherited(const struct count_set *set, const struct count_options *options,
			  struct perf_event_attr *attr, const struct count_target *target,
			  int leader)
{
	attr->inherit_thread = options->inherit == COUNT_THREADS;
	int fd = set->kernel->open(attr, target->pid, target->cpu, leader, 0);
	if (fd != -EINVAL && fd != -E2BIG)
		return fd;
	attr->inherit_thread = 0;
	return set->kernel->open(attr, target->pid, target->cpu, leader, 0);
}

/* 0, or -EMFILE or -ENOMEM, which opening less would not meet. */
static int open_slot(struct count_set *set, const struct count_options *options, size_t target,
		     size_t event, int *leader, struct error *err)
{
	const struct event *asked = &set->events->events[event];
	struct count_slot *slot = count_slot_of(set, target, event);
	struct perf_event_attr attr = set->attrs[event];
	if (!counts_there(asked, &set->targets[target])) {
		slot->state = COUNT_ELSEWHERE;
		return 0;
	}
	if (attr.exclude_kernel && event_is_kernel_only(&attr)) {
		slot->state = COUNT_NOT_SUPPORTED;
		slot->code = -EOPNOTSUPP;
		return 0;
	}
	attr.disabled = *leader < 0 && (options->disabled || options->enable_on_exec);
	attr.enable_on_exec = *leader < 0 && options->enable_on_exec;
	attr.pinned &= *leader < 0; /* a member is as pinned as its leader */
	int fd = open_inherited(set, options, &attr, &set->targets[target], *leader);
	if (fd == -EMFILE || fd == -ENFILE || fd == -ENOMEM)
		return error_set(err, fd,
				 fd == -ENOMEM
					 ? "cannot count '%s' on target %zu of %zu: out of memory"
					 : "cannot count '%s' on target %zu of %zu: too many open "
					   "files; each event takes one for each target "
					   "(ulimit -n)",
				 asked->name, target + 1, set->target_count);
	if (fd < 0) {
		slot->state = state_of_refusal(fd);
		slot->code = fd;
		return 0;
	}
	slot->fd = fd;
	if (*leader < 0)
		*leader = fd;
	if (options->live && options->inherit == COUNT_ALONE)
		slot->page = set->kernel->map(fd, set->page_bytes);
	return 0;
}

static int open_all(struct count_set *set, const struct count_options *options, struct error *err)
{
	bool any = false;
	for (size_t t = 0; t < set->target_count; t++)
		for (size_t g = 0; g < set->plan.group_count; g++) {
			struct count_group *group = &set->plan.groups[g];
			int leader = -1;
			for (size_t i = 0; i < group->size; i++) {
				size_t event = set->plan.members[group->first + i];
				int status = open_slot(set, options, t, event, &leader, err);
				if (status)
					return status;
				any |= count_slot_of(set, t, event)->state != COUNT_GONE;
			}
		}
	if (!any && set->events->count)
		return error_set(err, -ESRCH, "cannot count: what was to be counted has ended");
	return 0;
}

/* A group is read in user space when all its events are mapped: they are of one moment. */
static void find_live_groups(struct count_set *set)
{
	set->all_live = true;
	for (size_t g = 0; g < set->plan.group_count; g++) {
		struct count_group *group = &set->plan.groups[g];
		group->live = true;
		for (size_t i = 0; i < group->size; i++) {
			const struct count_slot *slot =
				count_slot_of(set, 0, set->plan.members[group->first + i]);
			group->live &= slot->page && slot->page->cap_user_rdpmc;
		}
		set->all_live &= group->live && !group->shared;
	}
}

int count_set_open(const struct event_list *events, const struct pmu_list *pmus,
		   const struct count_options *options, const struct count_kernel *kernel,
		   struct count_set **out, struct error *err)
{
	CLEANUP(close_set) struct count_set *set = calloc(1, sizeof(*set));
	size_t slots;
	if (!set || __builtin_mul_overflow(events->count, options->target_count, &slots))
		return error_set(err, -ENOMEM, "out of memory while opening counters");
	set->kernel = kernel;
	set->events = events;
	set->user_only = options->user_only;
	set->page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	own_process_init(&set->own);
	set->target_count = options->target_count;
	set->targets = calloc(options->target_count + 1, sizeof(*set->targets));
	set->attrs = calloc(events->count + 1, sizeof(*set->attrs));
	set->slots = calloc(slots + 1, sizeof(*set->slots));
	for (size_t i = 0; set->slots && i < slots; i++)
		set->slots[i].fd = -1; /* before anything can fail: closing closes what is not */
	if (!set->targets || !set->attrs || !set->slots)
		return error_set(err, -ENOMEM, "out of memory while opening counters");
	memcpy(set->targets, options->targets, options->target_count * sizeof(*set->targets));
	if (!set->target_count)
		return error_set(err, -EINVAL, "nothing to count on");
	for (size_t i = 0; i < events->count; i++) {
		set->attrs[i] = events->events[i].attr;
		fill_attr(options, &set->attrs[i]);
		settle_attr(set, pmus, options, i);
	}
	int status = count_plan_make(events, set->attrs, kernel, options->never_multiplex,
				     &set->plan, err);
	if (status == 0)
		status = open_all(set, options, err);
	if (status == 0 && options->slices && options->inherit == COUNT_ALONE)
		status = count_set_open_rings(set, err);
	if (status)
		return status;
	find_live_groups(set);
	*out = set;
	set = NULL;
	return 0;
}

size_t count_set_targets(const struct count_set *set)
{
	return set->target_count;
}

size_t count_set_events(const struct count_set *set)
{
	return set->events->count;
}

size_t count_set_group(const struct count_set *set, size_t event)
{
	return set->plan.group_of[event];
}

bool count_set_is_user_only(const struct count_set *set, size_t event)
{
	const struct event *asked = &set->events->events[event];
	bool wanted = asked->attr.exclude_kernel || (set->user_only && event_has_sides(asked));
	return set->attrs[event].exclude_kernel && !wanted;
}

int count_set_refusal(const struct count_set *set, size_t event)
{
	int code = 0;
	for (size_t t = 0; t < set->target_count; t++) {
		const struct count_slot *slot = count_slot_of(set, t, event);
		if (slot->state == COUNT_OPEN)
			return 0;
		if (slot->state == COUNT_NOT_SUPPORTED && !code)
			code = slot->code;
	}
	return code;
}
