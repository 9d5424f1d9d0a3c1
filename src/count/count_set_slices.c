/* Slices of the groups of a set that take turns on the PMU. */
#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "count/count_set_private.h"

/* The group's first event that is open on the first target; SIZE_MAX: none. */
static size_t leader_of(const struct count_set *set, const struct count_group *group)
{
	for (size_t i = 0; i < group->size; i++) {
		size_t event = set->plan.members[group->first + i];
		if (set->slots[event].fd >= 0)
			return event;
	}
	return SIZE_MAX;
}

int count_set_open_rings(struct count_set *set, struct error *err)
{
	bool any = false;
	for (size_t g = 0; g < set->plan.group_count; g++)
		any |= set->plan.groups[g].shared;
	if (!any)
		return 0;
	set->rings = calloc(set->plan.group_count, sizeof(*set->rings));
	if (!set->rings)
		return error_set(err, -ENOMEM, "out of memory while opening counters");
	for (size_t g = 0; g < set->plan.group_count; g++) {
		const struct count_group *group = &set->plan.groups[g];
		size_t leader = leader_of(set, group);
		set->rings[g].fd = -1;
		/* without a ring, for which there may be no memory, intervals are not known */
		if (group->shared && leader != SIZE_MAX)
			slice_ring_open(&set->rings[g], set->kernel, set->slots[leader].fd,
					&set->attrs[leader], &set->targets[0]);
	}
	return 0;
}

void count_set_close_rings(struct count_set *set, bool mapped)
{
	for (size_t g = 0; set->rings && g < set->plan.group_count; g++)
		slice_ring_close(&set->rings[g], set->kernel, mapped);
	free(set->rings);
	set->rings = NULL;
}

static bool have_rings(const struct count_set *set)
{
	return set->rings && own_process_is_this(&set->own);
}

void count_set_begin_slices(struct count_set *set)
{
	if (!have_rings(set))
		return;
	for (size_t g = 0; g < set->plan.group_count; g++)
		slice_ring_begin(&set->rings[g]);
}

void count_set_take_slices(struct count_set *set, const uint64_t *enabled_ns)
{
	for (size_t g = 0; have_rings(set) && g < set->plan.group_count; g++) {
		size_t leader = leader_of(set, &set->plan.groups[g]);
		if (leader != SIZE_MAX)
			slice_ring_take(&set->rings[g], enabled_ns[leader]);
	}
}

bool count_set_half_width(const struct count_set *set, size_t event, double count,
			  double enabled_ns, double running_ns, double *half_width)
{
	size_t g = set->plan.group_of[event], at = 0;
	const struct count_group *group = &set->plan.groups[g];
	if (!set->rings || set->rings[g].fd < 0 || set->slots[event].fd < 0)
		return false;
	/* the ring has a place for each member that is open, in their order */
	for (size_t i = 0; set->plan.members[group->first + i] != event; i++)
		at += set->slots[set->plan.members[group->first + i]].fd >= 0;
	return slices_half_width(&set->rings[g].slices[at], count, enabled_ns, running_ns,
				 half_width);
}
