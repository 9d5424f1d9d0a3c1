#include "count/moment.h"

#include <errno.h>
#include <math.h>

#include "count/count_set_private.h"
#include "count/group_reading.h"
#include "count/reading.h"
#include "culprit/counter.h"

/* The counter has pmc_width bits and a sign (perf_event_mmap_page.pmc_width). */
static inline uint64_t extend_sign(uint64_t value, unsigned width)
{
	if (width == 0 || width >= 64)
		return value;
	return (uint64_t)((int64_t)(value << (64 - width)) >> (64 - width));
}

/* Nanoseconds since the page's times were written (perf_event_mmap_page.time_offset). */
static uint64_t passed_ns(const struct count_kernel *kernel,
			  const volatile struct perf_event_mmap_page *page)
{
	uint64_t ticks = kernel->ticks ? kernel->ticks() : instruction_ticks();
	if (page->cap_user_time_short)
		ticks = page->time_cycles + ((ticks - page->time_cycles) & page->time_mask);
	unsigned shift = page->time_shift;
	uint64_t mult = page->time_mult;
	uint64_t whole = ticks >> shift, part = ticks & ((UINT64_C(1) << shift) - 1);
	return page->time_offset + whole * mult + ((part * mult) >> shift);
}

/*
 * Reads the event of the page as perf_event_open(2) describes. False where the kernel has to be
 * asked: it is not on the PMU now, or user code may not read its counter any more.
 *
 * The times are those of the last change; only where they matter, of groups that take turns and of
 * events that were off the PMU once, the time since then is added.
 */
static inline bool read_page(const struct count_kernel *kernel,
			     const volatile struct perf_event_mmap_page *page, bool timed,
			     struct count_moment *moment)
{
	uint32_t sequence, index;
	uint64_t count, enabled, running;
	do {
		sequence = page->lock;
		COMPILER_BARRIER();
		index = page->index;
		if (!page->cap_user_rdpmc || index == 0)
			return false;
		enabled = page->time_enabled;
		running = page->time_running;
		if ((timed || enabled != running) && page->cap_user_time) {
			uint64_t passed = passed_ns(kernel, page);
			enabled += passed;
			running += passed;
		}
		count = (uint64_t)page->offset +
			extend_sign(read_counter(kernel, index - 1), page->pmc_width);
		COMPILER_BARRIER();
	} while (page->lock != sequence);
	*moment = (struct count_moment){
		.count = count,
		.enabled_ns = enabled,
		.running_ns = running,
		.sequence = sequence,
		.known = true,
	};
	return true;
}

static bool read_live_group(const struct count_set *set, const struct count_group *group,
			    struct count_moment *moments)
{
	for (size_t i = 0; i < group->size; i++) {
		size_t event = set->plan.members[group->first + i];
		if (!read_page(set->kernel, set->slots[event].page, group->shared, &moments[event]))
			return false;
	}
	return true;
}

static inline __attribute__((always_inline)) int ask_kernel(const struct count_set *set,
							    const struct count_group *group,
							    struct count_moment *moments)
{
	struct group_reading reading;
	int status = count_group_read(set, 0, group, &reading);
	for (size_t i = 0, at = 0; i < group->size; i++) {
		size_t event = set->plan.members[group->first + i];
		moments[event] = (struct count_moment){ .known = false };
		if (status || set->slots[event].fd < 0 || at == reading.size)
			continue;
		moments[event].count = reading.counts[at++];
		moments[event].enabled_ns = reading.enabled_ns;
		moments[event].running_ns = reading.running_ns;
		moments[event].known = true;
	}
	return status == -ENODATA ? 0 : status;
}

int count_set_moments(struct count_set *set, struct count_moment *moments)
{
	int result = 0;
	if (!own_process_is_this(&set->own)) {
		/* the kernel would answer with what the parent's thread counts */
		for (size_t i = 0; i < set->events->count; i++)
			moments[i] = (struct count_moment){ .known = false };
		return -ECHILD;
	}
	for (size_t g = 0; g < set->plan.group_count; g++) {
		const struct count_group *group = &set->plan.groups[g];
		if (group->live && read_live_group(set, group, moments))
			continue;
		int status = ask_kernel(set, group, moments);
		if (status)
			result = status;
	}
	return result;
}

bool count_set_is_live(const struct count_set *set, size_t event)
{
	const struct count_group *group = &set->plan.groups[set->plan.group_of[event]];
	const struct perf_event_mmap_page *page = set->slots[event].page;
	return group->live && own_process_is_this(&set->own) && page && page->cap_user_rdpmc &&
	       page->index;
}

static void set_absent(struct culprit_value *value, uint32_t flags)
{
	*value = (struct culprit_value){
		.value = NAN,
		.low = NAN,
		.high = NAN,
		.enabled_ns = value->enabled_ns,
		.running_ns = value->running_ns,
		.flags = CULPRIT_ABSENT | flags,
	};
}

static void subtract_cost(const struct count_cost *cost, double scale, struct culprit_value *value)
{
	double median = cost->median * scale, spread = cost->spread * scale;
	value->value -= median;
	value->low = value->value - spread;
	value->high = value->value + spread;
	if (value->low >= 0)
		return;
	/* a negative count says that it is below what can be told, and no more */
	value->low = 0;
	if (value->value < 0)
		value->value = 0;
	if (value->high < value->value)
		value->high = value->value;
	if (spread > 0)
		value->flags |= CULPRIT_TOO_SMALL;
}

void count_difference(const struct count_moment *begin, const struct count_moment *end,
		      const struct count_cost *cost, double scale, struct culprit_value *value)
{
	*value = (struct culprit_value){ .flags = 0 };
	if (!begin->known || !end->known) {
		set_absent(value, 0);
		return;
	}
	value->count = end->count - begin->count;
	value->enabled_ns = end->enabled_ns - begin->enabled_ns;
	value->running_ns = end->running_ns - begin->running_ns;
	if (begin->sequence && end->sequence && begin->sequence != end->sequence)
		value->flags |= CULPRIT_INTERRUPTED;
	double factor = 1;
	if (value->running_ns < value->enabled_ns) {
		if (value->running_ns == 0) {
			set_absent(value, CULPRIT_UNSCHEDULED);
			return;
		}
		factor = (double)value->enabled_ns / (double)value->running_ns;
		value->flags |= CULPRIT_MULTIPLEXED | CULPRIT_NO_INTERVAL;
	}
	value->value = value->low = value->high = (double)value->count * scale;
	if (cost && cost->known)
		subtract_cost(cost, scale, value);
	if (value->flags & CULPRIT_NO_INTERVAL) {
		value->value *= factor;
		value->low = value->high = NAN;
	}
}
