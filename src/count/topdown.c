/* Measuring where slots went: nothing here allocates (culprit/topdown.h). */
#include <errno.h>
#include <math.h>

#include "count/topdown_private.h"
#include "machine/topdown.h"

/* A section before any was measured is taken to be long enough for what the registers hold. */
static bool is_reset_due(const struct topdown_cores *cores)
{
	return topdown_reset_due(cores->first.slots, cores->section_slots,
				 TOPDOWN_WANTED_RESOLUTION);
}

static int begin_registers(struct topdown_cores *cores)
{
	cores->registers_ended = false;
	cores->registers_begun =
		topdown_read_registers(cores, &cores->first, &cores->first_sequence);
	if (!cores->registers_begun || !is_reset_due(cores))
		return 0;
	int status = topdown_reset_registers(cores);
	if (status == 0)
		cores->registers_begun =
			topdown_read_registers(cores, &cores->first, &cores->first_sequence);
	return status;
}

static void end_registers(struct topdown_cores *cores)
{
	cores->registers_ended = cores->registers_begun &&
				 topdown_read_registers(cores, &cores->last, &cores->last_sequence);
	if (cores->registers_ended && cores->last.slots > cores->first.slots)
		cores->section_slots = cores->last.slots - cores->first.slots;
}

/* By counts: of this thread moments, of others the sum of readings. */
static int take_counts(struct culprit_topdown *topdown, struct topdown_cores *cores,
		       struct count_moment *moments)
{
	if (topdown->own_thread)
		return count_set_moments(cores->set, moments);
	int status = count_set_read_all(cores->set, topdown->readings, topdown->scratch);
	for (size_t i = 0; i < cores->events.count; i++) {
		const struct count_reading *reading = &topdown->readings[i];
		moments[i] = (struct count_moment){
			.count = reading->count,
			.enabled_ns = reading->enabled_ns,
			.running_ns = reading->running_ns,
			.known = status == 0 && reading->state == COUNT_OPEN,
		};
	}
	return status;
}

/* User code reads the registers of the CPU it runs on: those of another thread. */
static bool is_of_another_thread(const struct culprit_topdown *topdown)
{
	return topdown->own_thread && !pthread_equal(topdown->thread, pthread_self());
}

int culprit_topdown_start(struct culprit_topdown *topdown)
{
	int result = 0;
	if (is_of_another_thread(topdown))
		return -EPERM;
	topdown->started = true;
	topdown->stopped = false;
	for (size_t i = 0; i < topdown->count; i++) {
		struct topdown_cores *cores = &topdown->cores[i];
		int status = cores->by_registers ? begin_registers(cores)
						 : take_counts(topdown, cores, cores->begin);
		if (status)
			result = status;
	}
	return result;
}

int culprit_topdown_stop(struct culprit_topdown *topdown)
{
	int result = 0;
	if (is_of_another_thread(topdown))
		return -EPERM;
	if (!topdown->started)
		return -EINVAL;
	for (size_t i = topdown->count; i-- > 0;) {
		struct topdown_cores *cores = &topdown->cores[i];
		int status = 0;
		if (cores->by_registers)
			end_registers(cores);
		else
			status = take_counts(topdown, cores, cores->end);
		if (status)
			result = status;
	}
	topdown->stopped = true;
	return result;
}

size_t culprit_topdown_results(const struct culprit_topdown *topdown)
{
	return topdown->count;
}

static uint32_t judge_registers(const struct topdown_cores *cores, unsigned levels,
				struct topdown *figures)
{
	if (!cores->registers_begun || !cores->registers_ended) {
		topdown_clear(figures, "the slots counter was not on the PMU of this core at the "
				       "begin or at the end");
		return CULPRIT_ABSENT | CULPRIT_UNSCHEDULED;
	}
	uint32_t flags = cores->first_sequence != cores->last_sequence ? CULPRIT_INTERRUPTED : 0;
	enum topdown_pair pair =
		topdown_of_registers(cores->first, cores->last, levels, cores->slots_bits, figures);
	return pair == TOPDOWN_PAIR_GOOD ? flags : flags | CULPRIT_ABSENT;
}

/* Readings of the cores' times are this far apart, at most, and no event is off the PMU for less.
 */
#define READ_APART_NS 20000

static uint64_t ran_ns(const struct topdown_cores *cores, size_t event)
{
	return cores->end[event].running_ns - cores->begin[event].running_ns;
}

static bool is_known(const struct topdown_cores *cores, size_t event)
{
	return cores->begin[event].known && cores->end[event].known;
}

/* For how long it was to count, and was not on the PMU. */
static uint64_t idle_ns(const struct topdown_cores *cores, size_t event)
{
	uint64_t enabled_ns = cores->end[event].enabled_ns - cores->begin[event].enabled_ns;
	uint64_t running_ns = ran_ns(cores, event);
	return enabled_ns > running_ns ? enabled_ns - running_ns : 0;
}

static uint64_t longest_ran_ns(const struct topdown_cores *cores)
{
	uint64_t longest = 0;
	for (size_t i = 0; i < cores->events.count; i++)
		if (is_known(cores, i) && ran_ns(cores, i) > longest)
			longest = ran_ns(cores, i);
	return longest;
}

static uint64_t least_idle_ns(const struct topdown_cores *cores)
{
	uint64_t least = UINT64_MAX;
	for (size_t i = 0; i < cores->events.count; i++)
		if (is_known(cores, i) && idle_ns(cores, i) < least)
			least = idle_ns(cores, i);
	return least;
}

/*
 * For how long there was nothing to count, since the thread was on cores of other types: as long as
 * their events were on the PMU. Where that is not known of each type, as long as none of these
 * cores' events was.
 */
static uint64_t elsewhere_ns(const struct culprit_topdown *topdown,
			     const struct topdown_cores *cores)
{
	uint64_t sum = 0;
	if (!cores->core_type[0])
		return 0;
	if (!topdown->counts_all_types)
		return least_idle_ns(cores);
	for (size_t i = 0; i < topdown->count; i++)
		if (&topdown->cores[i] != cores)
			sum += longest_ran_ns(&topdown->cores[i]);
	return sum;
}

/* The event's count in the measurement; adds what is to be said of it to the flags. */
static struct topdown_count count_of(const struct topdown_cores *cores, size_t event,
				     uint64_t elsewhere, uint32_t *flags)
{
	const struct count_moment *begin = &cores->begin[event], *end = &cores->end[event];
	struct topdown_count count = {
		.known = is_known(cores, event),
		.value = end->count - begin->count,
		.running_ns = ran_ns(cores, event),
	};
	uint64_t idle = idle_ns(cores, event);
	uint64_t missed = idle > elsewhere ? idle - elsewhere : 0;
	if (elsewhere && missed <= READ_APART_NS)
		missed = 0;
	count.enabled_ns = count.running_ns + missed;
	if (count.known && missed)
		*flags |= CULPRIT_MULTIPLEXED | CULPRIT_NO_INTERVAL;
	if (count.known && elsewhere && idle)
		*flags |= CULPRIT_MIGRATED;
	if (begin->sequence && end->sequence && begin->sequence != end->sequence)
		*flags |= CULPRIT_INTERRUPTED;
	return count;
}

static uint32_t judge_counts(const struct culprit_topdown *topdown,
			     const struct topdown_cores *cores, struct topdown *figures)
{
	struct topdown_count counts[TOPDOWN_EVENTS];
	uint64_t elsewhere = elsewhere_ns(topdown, cores);
	uint32_t flags = 0;
	for (size_t i = 0; i < cores->method.event_count; i++) {
		size_t at = cores->where.event_of[i];
		counts[i] = at == SIZE_MAX ? (struct topdown_count){ .known = false }
					   : count_of(cores, at, elsewhere, &flags);
	}
	topdown_of_counts(&cores->method, counts, figures);
	bool known = false;
	for (size_t i = 0; i < TOPDOWN_LEVEL_1; i++)
		known |= figures->figures[i].known;
	return known ? flags : flags | CULPRIT_ABSENT;
}

/* Whether start and stop take no system call, but for resets. */
static bool reads_in_user_space(const struct culprit_topdown *topdown,
				const struct topdown_cores *cores)
{
	bool live = topdown->own_thread;
	for (size_t i = 0; i < cores->events.count; i++)
		live &= count_set_is_live(cores->set, i);
	return live || cores->by_registers;
}

/* Whether the kernel was left out for want of a right. */
static bool lacks_kernel(const struct topdown_cores *cores)
{
	bool lacking = false;
	for (size_t i = 0; i < cores->events.count; i++)
		lacking |= count_set_is_user_only(cores->set, i);
	return lacking;
}

static struct culprit_topdown_figure figure_of(const struct topdown_figure *figure)
{
	if (!figure->known)
		return (struct culprit_topdown_figure){
			.value = NAN, .low = NAN, .high = NAN, .why = figure->why
		};
	return (struct culprit_topdown_figure){
		.value = figure->value,
		.low = figure->value - figure->resolution,
		.high = figure->value + figure->resolution,
		.in_doubt = (figure->doubts & ~(unsigned)TOPDOWN_EXTRAPOLATED) != 0,
	};
}

int culprit_topdown_result(const struct culprit_topdown *topdown, size_t index,
			   struct culprit_topdown_result *result)
{
	if (index >= topdown->count || !topdown->stopped)
		return -EINVAL;
	const struct topdown_cores *cores = &topdown->cores[index];
	struct topdown figures = { .method = cores->method.name };
	uint32_t flags = cores->by_registers ? judge_registers(cores, topdown->levels, &figures)
					     : judge_counts(topdown, cores, &figures);
	if (lacks_kernel(cores))
		flags |= CULPRIT_SUBSTITUTE;
	*result = (struct culprit_topdown_result){
		.slots = figures.slots.known ? figures.slots.value : (double)NAN,
		.sum = figures.sum_state == TOPDOWN_SUM_HOLDS ||
				       figures.sum_state == TOPDOWN_SUM_OFF
			       ? figures.sum
			       : (double)NAN,
		.flags = flags,
		.cycles = figures.unit == TOPDOWN_CYCLES,
		.user_space = reads_in_user_space(topdown, cores),
		.method = cores->method.name,
		.core_type = cores->core_type[0] ? cores->core_type : NULL,
	};
	for (size_t i = 0; i < CULPRIT_TOPDOWN_CATEGORIES; i++)
		result->figures[i] = figure_of(&figures.figures[i]);
	return 0;
}

const char *culprit_topdown_name(unsigned category)
{
	static const char *const names[CULPRIT_TOPDOWN_CATEGORIES] = {
		[CULPRIT_RETIRING] = "retiring",
		[CULPRIT_BAD_SPECULATION] = "bad speculation",
		[CULPRIT_FRONTEND_BOUND] = "frontend bound",
		[CULPRIT_BACKEND_BOUND] = "backend bound",
		[CULPRIT_HEAVY_OPERATIONS] = "heavy operations",
		[CULPRIT_BRANCH_MISPREDICTS] = "branch mispredicts",
		[CULPRIT_FETCH_LATENCY] = "fetch latency",
		[CULPRIT_MEMORY_BOUND] = "memory bound",
		[CULPRIT_LIGHT_OPERATIONS] = "light operations",
		[CULPRIT_MACHINE_CLEARS] = "machine clears",
		[CULPRIT_FETCH_BANDWIDTH] = "fetch bandwidth",
		[CULPRIT_CORE_BOUND] = "core bound",
		[CULPRIT_SMT_CONTENTION] = "SMT contention",
	};
	return category < CULPRIT_TOPDOWN_CATEGORIES ? names[category] : NULL;
}

_Static_assert((int)CULPRIT_SMT_CONTENTION == (int)TOPDOWN_SMT_CONTENTION &&
		       (int)CULPRIT_LIGHT_OPERATIONS == (int)TOPDOWN_LIGHT_OPERATIONS,
	       "categories have the same numbers inside and outside");
