/* What regions came to. Nothing here allocates, and threads may go on measuring. */
#include <errno.h>

#include "count/region_private.h"
#include "count/region_summary.h"

/* Reading takes the lock, which is no part of what regions are. */
static struct culprit_regions *with_lock(const struct culprit_regions *regions)
{
	struct culprit_regions *locked = (struct culprit_regions *)regions;
	region_lock(locked);
	return locked;
}

static const struct region_cells *cells_of(const struct region_thread *thread, size_t number)
{
	return atomic_load_explicit(&thread->cells[number], memory_order_relaxed);
}

/* Whether it did anything with the region. */
static bool ran(const struct region_thread *thread, size_t number)
{
	const struct region_cells *cells = cells_of(thread, number);
	if (!cells)
		return thread->remainders[number] != NULL;
	return tally_get(&cells->sequence) || tally_get(&cells->mismatched) ||
	       tally_get(&cells->omitted);
}

size_t culprit_regions_results(const struct culprit_regions *regions)
{
	struct culprit_regions *locked = with_lock(regions);
	size_t rows = locked->listed = locked->count;
	for (struct region_thread *thread = locked->threads; thread; thread = thread->next)
		for (size_t i = 0; i < locked->count; i++) {
			thread->listed[i] |= ran(thread, i);
			rows += thread->listed[i];
		}
	region_unlock(locked);
	return rows;
}

static void set_quantity(const struct culprit_regions *regions, size_t quantity,
			 const struct culprit_region_event *value,
			 struct culprit_region_result *result)
{
	if (quantity == 0) {
		result->time = *value;
		return;
	}
	result->events[quantity - 1] = *value;
	if (regions->substitute[quantity - 1])
		result->events[quantity - 1].flags |= CULPRIT_SUBSTITUTE;
}

static void of_all_threads(const struct culprit_regions *regions, size_t number,
			   struct culprit_region_result *result)
{
	result->mismatched = regions->left_mismatched[number];
	result->omitted = regions->left_omitted[number];
	result->not_joined = tally_get(&regions->all[number]->not_joined);
	for (const struct region_thread *thread = regions->threads; thread; thread = thread->next) {
		const struct region_cells *cells = cells_of(thread, number);
		result->mismatched += cells ? tally_get(&cells->mismatched) : 0;
		result->omitted += cells ? tally_get(&cells->omitted) : 0;
	}
	for (size_t i = 0; i <= regions->event_count; i++) {
		struct region_summary sum = { 0 };
		struct culprit_region_event value;
		if (regions->left[number])
			region_summary_merge(&sum, &regions->left[number][i]);
		for (const struct region_thread *thread = regions->threads; thread;
		     thread = thread->next)
			if (cells_of(thread, number))
				region_summary_add(&sum, cells_of(thread, number), i,
						   &thread->costs[i]);
		region_summary_result(&sum, regions->scales[i], &value);
		set_quantity(regions, i, &value, result);
	}
}

static void of_thread(const struct culprit_regions *regions, const struct region_thread *thread,
		      size_t number, struct culprit_region_result *result)
{
	const struct region_cells *cells = cells_of(thread, number);
	const struct region_remainder *remainder = thread->remainders[number];
	result->thread = thread->tid;
	result->mismatched = cells ? tally_get(&cells->mismatched) : remainder->mismatched;
	result->omitted = cells ? tally_get(&cells->omitted) : remainder->omitted;
	for (size_t i = 0; i <= regions->event_count; i++) {
		if (!cells) {
			set_quantity(regions, i, &remainder->quantities[i], result);
			continue;
		}
		struct region_summary sum = { 0 };
		struct culprit_region_event value;
		region_summary_add(&sum, cells, i, &thread->costs[i]);
		region_summary_result(&sum, regions->scales[i], &value);
		set_quantity(regions, i, &value, result);
	}
}

static int find(const struct culprit_regions *regions, size_t index,
		struct culprit_region_result *result)
{
	for (size_t i = 0; i < regions->listed; i++) {
		*result = (struct culprit_region_result){
			.name = regions->all[i]->name,
			.event_count = regions->event_count,
		};
		if (index-- == 0) {
			of_all_threads(regions, i, result);
			return 0;
		}
		for (const struct region_thread *thread = regions->threads; thread;
		     thread = thread->next)
			if (thread->listed[i] && index-- == 0) {
				of_thread(regions, thread, i, result);
				return 0;
			}
	}
	return -EINVAL;
}

int culprit_regions_result(const struct culprit_regions *regions, size_t index,
			   struct culprit_region_result *result)
{
	struct culprit_regions *locked = with_lock(regions);
	int status = find(locked, index, result);
	region_unlock(locked);
	return status;
}

int culprit_regions_event(const struct culprit_regions *regions, size_t index,
			  struct culprit_event *event)
{
	if (index >= regions->event_count)
		return -EINVAL;
	*event = regions->described[index];
	return 0;
}
