/* Which event of a group is sampled, and reads the others. */
#include <errno.h>

#include "base/error.h"
#include "machine/event.h"

#define NONE SIZE_MAX

/* Stores the event that alone of its group is marked, or NONE; that all are marked says no more
 * than ":S" behind the group. */
static int find_marked(const struct event_list *list, size_t leader, size_t size, size_t *marked,
		       struct error *err)
{
	size_t count = 0, first = NONE, second = NONE;
	for (size_t i = leader; i < leader + size; i++) {
		if (!list->events[i].marked)
			continue;
		count++;
		if (first == NONE)
			first = i;
		else if (second == NONE)
			second = i;
	}
	*marked = count == size ? NONE : first;
	if (count < 2 || count == size)
		return 0;
	return error_set(err, -EINVAL,
			 "both '%s' and '%s' are marked to be sampled: one event of a group is, "
			 "and reads the others",
			 list->events[first].name, list->events[second].name);
}

/* Stores the first event of a group of slots and metrics that is neither. */
static int find_other(const struct event_list *list, size_t leader, size_t size, size_t *other,
		      struct error *err)
{
	for (size_t i = leader; i < leader + size; i++)
		if (list->events[i].slots == EVENT_NO_SLOTS) {
			*other = i;
			return 0;
		}
	return error_set(err, -EINVAL,
			 "slots and topdown events cannot be sampled when they are a group: it "
			 "takes another event in it, as {slots,cycles,topdown-retiring}");
}

static const struct event *find_metric(const struct event_list *list, size_t leader, size_t size)
{
	for (size_t i = leader; i < leader + size; i++)
		if (list->events[i].slots == EVENT_SLOTS_METRIC)
			return &list->events[i];
	return NULL;
}

int event_list_sampled(const struct event_list *list, size_t leader, size_t *sampled,
		       struct error *err)
{
	size_t size = event_list_group_size(list, leader);
	const struct event *metric = find_metric(list, leader, size);
	size_t marked;
	if (metric && list->events[leader].slots != EVENT_SLOTS)
		return error_set(err, -EINVAL,
				 "'%s' is counted only in a group that slots leads, as "
				 "{slots,cycles,topdown-retiring}",
				 metric->name);
	int ret = find_marked(list, leader, size, &marked, err);
	if (ret < 0)
		return ret;
	if (marked == NONE && metric)
		return find_other(list, leader, size, sampled, err);
	if (marked != NONE && metric && list->events[marked].slots != EVENT_NO_SLOTS)
		return error_set(err, -EINVAL,
				 "'%s' cannot be sampled in a group of slots and topdown events",
				 list->events[marked].name);
	*sampled = marked == NONE ? leader : marked;
	return 0;
}
