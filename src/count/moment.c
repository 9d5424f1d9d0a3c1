#include "count/moment.h"

#include <errno.h>
#include <math.h>

#include "count/count_set_private.h"
#include "count/group_reading.h"
#include "count/reading.h"
#include "culprit/counter.h"

#define ALWAYS_INLINE	  static inline __attribute__((always_inline))
#define NEVER_INLINE	  static __attribute__((noinline))
#define RARELY(condition) __builtin_expect(!!(condition), 0)

/* Of struct count_kernel; NULL: the instruction itself. */
typedef uint64_t counter_reader(uint32_t counter);

/* The counter has pmc_width bits and a sign (perf_event_mmap_page.pmc_width); 0 and 64 are all. */
ALWAYS_INLINE uint64_t extend_sign(uint64_t value, unsigned width)
{
	unsigned unused = -width & 63;
	return (uint64_t)((int64_t)(value << unused) >> unused);
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

enum times {
	TIMES_ARE_EQUAL, /* an event that was off the PMU once is not read */
	TIMES_DIFFER,	 /* of events of which they do, the time since the last change is added */
	TIMES_RUN	 /* and of all others */
};

/*
 * Reads the event of the page as perf_event_open(2) describes. False where the kernel has to be
 * asked: it is not on the PMU now, or user code may not read its counter any more.
 *
 * The times are those of the last change; only where they matter the time since then is added.
 */
ALWAYS_INLINE bool read_page(const struct count_kernel *kernel, counter_reader *reader,
			     enum times times, const volatile struct perf_event_mmap_page *page,
			     struct count_moment *moment)
{
	uint32_t sequence, index;
	uint64_t count, enabled, running;
	bool lagging;
	do {
		sequence = page->lock;
		COMPILER_BARRIER();
		index = page->index;
		if (RARELY(index == 0) || RARELY(!page->cap_user_rdpmc))
			return false;
		enabled = page->time_enabled;
		running = page->time_running;
		if (times == TIMES_ARE_EQUAL && RARELY(enabled != running))
			return false;
		lagging = !((times == TIMES_RUN || enabled != running) && page->cap_user_time);
		if (!lagging) {
			uint64_t passed = passed_ns(kernel, page);
			enabled += passed;
			running += passed;
		}
		count = reader ? reader(index - 1) : instruction_counter(index - 1);
		count = (uint64_t)page->offset + extend_sign(count, page->pmc_width);
		COMPILER_BARRIER();
	} while (RARELY(page->lock != sequence));
	moment->count = count;
	moment->enabled_ns = enabled;
	moment->running_ns = running;
	moment->sequence = sequence;
	moment->known = true;
	moment->lagging = lagging;
	return true;
}

NEVER_INLINE bool read_live_group(const struct count_set *set, const struct count_group *group,
				  struct count_moment *moments)
{
	enum times times = group->shared ? TIMES_RUN : TIMES_DIFFER;
	for (size_t i = 0; i < group->size; i++) {
		size_t event = set->plan.members[group->first + i];
		if (!read_page(set->kernel, set->kernel->read_counter, times,
			       set->slots[event].page, &moments[event]))
			return false;
	}
	return true;
}

ALWAYS_INLINE int ask_kernel(const struct count_set *set, const struct count_group *group,
			     struct count_moment *moments)
{
	struct group_reading reading;
	int status = count_group_read(set, 0, group, &reading);
	if (status)
		reading.size = 0;
	const size_t *member = set->plan.members + group->first, *end = member + group->size;
	for (size_t at = 0; member != end; member++) {
		bool known = set->slots[*member].fd >= 0 && at < reading.size;
		moments[*member] = (struct count_moment){
			.count = known ? reading.counts[at++] : 0,
			.enabled_ns = known ? reading.enabled_ns : 0,
			.running_ns = known ? reading.running_ns : 0,
			.known = known,
		};
	}
	return status == -ENODATA ? 0 : status;
}

NEVER_INLINE int read_groups(const struct count_set *set, struct count_moment *moments)
{
	int result = 0;
	if (!own_process_is_this(&set->own)) {
		/* the kernel would answer with what the parent's thread counts */
		for (size_t i = 0; i < set->events->count; i++)
			moments[i] = (struct count_moment){ .known = false };
		return -ECHILD;
	}
	const struct count_group *group = set->plan.groups;
	for (const struct count_group *end = group + set->plan.group_count; group != end; group++) {
		if (group->live && read_live_group(set, group, moments))
			continue;
		int status = ask_kernel(set, group, moments);
		if (status)
			result = status;
	}
	return result;
}

ALWAYS_INLINE int read_all(const struct count_set *set, counter_reader *reader,
			   struct count_moment *moments)
{
	const struct count_slot *slot = set->slots, *end = slot + set->events->count;
	for (; slot != end; slot++, moments++)
		if (RARELY(!read_page(set->kernel, reader, TIMES_ARE_EQUAL, slot->page, moments)))
			return read_groups(set, moments - (slot - set->slots));
	return 0;
}

NEVER_INLINE int read_all_by_function(const struct count_set *set, struct count_moment *moments)
{
	return read_all(set, set->kernel->read_counter, moments);
}

/* The common case, that everything is read in user space and nothing takes turns, calls no
 * function, so that no register has to be saved. */
int count_set_moments(struct count_set *set, struct count_moment *moments)
{
	if (!set->all_live || !set->own.mark || RARELY(!*set->own.mark))
		return read_groups(set, moments);
	if (RARELY(set->kernel->read_counter))
		return read_all_by_function(set, moments);
	return read_all(set, NULL, moments);
}

bool count_set_is_direct(const struct count_set *set)
{
	return set->all_live;
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
	if (begin->lagging || end->lagging)
		value->enabled_ns = value->running_ns = 0;
}
