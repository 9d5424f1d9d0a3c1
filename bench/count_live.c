#include "count_live.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/count_of.h"
#include "count/count_set.h"
#include "count/count_set_private.h"
#include "count/counter_private.h"
#include "count/reading.h"
#include "support/replayed_kernel.h"

#define TURNS	    2000
#define REPEATED    200
#define MOST_EVENTS 4

static const char *const events[] = { "cycles:u", "{cycles:u,instructions:u}",
				      "{cycles:u,instructions:u,branches:u,branch-misses:u}" };

static const struct perf_event_mmap_page *page_of(const struct count_set *set, size_t event)
{
	return set->slots[event].page;
}

static bool is_live(const struct culprit_counters *counters)
{
	bool live = true;
	for (size_t i = 0; i < culprit_counters_count(counters); i++)
		live &= count_set_is_live(counters->set, i);
	return live && INSTRUCTION_READS_COUNTERS;
}

/* Cycles, by the event that all sets begin with; ns where a function stands for the instruction. */
static uint64_t now(const struct count_set *set)
{
	return set->kernel->read_counter ? clock_monotonic_ns()
					 : instruction_counter(page_of(set, 0)->index - 1);
}

static volatile uint64_t sink;

static void read_bare(struct count_set *set)
{
	for (size_t i = 0; i < count_set_events(set); i++)
		sink = read_counter(set->kernel, page_of(set, i)->index - 1);
}

static void read_set(struct count_set *set)
{
	struct count_moment moments[MOST_EVENTS];
	count_set_moments(set, moments);
}

/* Of one call, the least of all turns in which the thread was not switched out. */
static double cost_of(struct count_set *set, void (*read)(struct count_set *set))
{
	const volatile struct perf_event_mmap_page *page = page_of(set, 0);
	uint64_t least = UINT64_MAX;
	for (int turn = 0; turn < TURNS; turn++) {
		uint32_t sequence = page->lock;
		uint64_t begin = now(set);
		for (int i = 0; i < REPEATED; i++)
			read(set);
		uint64_t passed = now(set) - begin;
		if (page->lock == sequence && passed < least)
			least = passed;
	}
	return (double)least / REPEATED;
}

static void print_cost(struct count_set *set)
{
	const char *unit = set->kernel->read_counter ? "ns" : "cycles";
	double bare = cost_of(set, read_bare), reading = cost_of(set, read_set);
	double more = (reading - bare) / (double)count_set_events(set);
	printf("%zu events in user space: %.1f %s, bare %s %.1f: %+.1f %s for each%s\n",
	       count_set_events(set), reading, unit,
	       set->kernel->read_counter ? "functions in their place" : "instructions", bare, more,
	       unit, set->kernel->read_counter ? "" : "; wanted: +40 at most");
}

static bool print_real(const char *written)
{
	struct culprit_counters *counters;
	struct culprit_error error;
	if (culprit_counters_open(written, NULL, &counters, &error))
		return false;
	bool live = is_live(counters);
	if (live)
		print_cost(counters->set);
	culprit_counters_close(counters);
	return live;
}

static void print_replayed(const char *written)
{
	struct culprit_options options = { .flags = CULPRIT_NOT_CALIBRATED };
	struct count_world world = { &count_kernel_replayed, "/" };
	struct culprit_counters *counters;
	struct culprit_error error;
	replayed_begin();
	replayed.has_rdpmc = true;
	if (counters_open(written, &options, &world, &counters, &error)) {
		printf("reading in user space, replayed: %s\n", error.text);
		return;
	}
	uint32_t counter = 0;
	for (size_t i = 0; i < replayed.count; i++)
		if (replayed.events[i].open)
			replayed_schedule(&replayed.events[i], counter++, 0);
	print_cost(counters->set);
	culprit_counters_close(counters);
	replayed_begin();
}

void count_live_print(void)
{
	bool live = false;
	for (size_t i = 0; i < COUNT_OF(events); i++)
		live |= print_real(events[i]);
	if (live)
		return;
	printf("no counter can be read by an instruction here; what is around it costs:\n");
	for (size_t i = 0; i < COUNT_OF(events); i++)
		print_replayed(events[i]);
}
