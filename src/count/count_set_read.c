/* Reading and switching a set of counters, by system calls. */
#include <errno.h>
#include <string.h>

#include "count/count_set_private.h"
#include "count/group_reading.h"
#include "count/kernel.h"

static int control_all(const struct count_set *set, unsigned long request)
{
	for (size_t t = 0; t < set->target_count; t++)
		for (size_t g = 0; g < set->plan.group_count; g++) {
			int fd = count_group_leader(set, t, &set->plan.groups[g]);
			int status =
				fd < 0 ? 0 : set->kernel->control(fd, request, PERF_IOC_FLAG_GROUP);
			if (status < 0)
				return status;
		}
	return 0;
}

int count_set_enable(struct count_set *set)
{
	return control_all(set, PERF_EVENT_IOC_ENABLE);
}

int count_set_disable(struct count_set *set)
{
	return control_all(set, PERF_EVENT_IOC_DISABLE);
}

int count_set_reset(struct count_set *set)
{
	return control_all(set, PERF_EVENT_IOC_RESET);
}

static int read_group(struct count_set *set, size_t target, const struct count_group *group,
		      struct count_reading *readings)
{
	struct group_reading reading = { .size = 0 };
	int status = count_group_read(set, target, group, &reading);
	if (status && status != -ENODATA)
		return status;
	for (size_t i = 0, at = 0; i < group->size; i++) {
		size_t event = set->plan.members[group->first + i];
		const struct count_slot *slot = count_slot_of(set, target, event);
		struct count_reading *result = &readings[event];
		*result = (struct count_reading){ .state = slot->state, .code = slot->code };
		if (slot->fd < 0 || status)
			continue;
		if (at == reading.size)
			return -EIO;
		result->count = reading.counts[at++];
		result->enabled_ns = reading.enabled_ns;
		result->running_ns = reading.running_ns;
	}
	return 0;
}

int count_set_read(struct count_set *set, size_t target, struct count_reading *readings)
{
	for (size_t g = 0; g < set->plan.group_count; g++) {
		int status = read_group(set, target, &set->plan.groups[g], readings);
		if (status)
			return status;
	}
	return 0;
}

/* Of several targets the state of one that counts stands for all. */
static void add(struct count_reading *sum, const struct count_reading *part)
{
	if (sum->state != COUNT_OPEN && part->state == COUNT_OPEN) {
		sum->state = COUNT_OPEN;
		sum->code = 0;
	}
	sum->count += part->count;
	sum->enabled_ns += part->enabled_ns;
	sum->running_ns += part->running_ns;
}

int count_set_read_all(struct count_set *set, struct count_reading *sums,
		       struct count_reading *scratch)
{
	for (size_t t = 0; t < set->target_count; t++) {
		int status = count_set_read(set, t, t ? scratch : sums);
		if (status)
			return status;
		for (size_t i = 0; t && i < set->events->count; i++)
			add(&sums[i], &scratch[i]);
	}
	return 0;
}
