/*
 * bench count - what counting from inside a program costs: ns per reading of software events, per
 * region and per measurement, beside the bare instructions and system calls, and beside PAPI where
 * it is installed. And how often memory was allocated after set-up.
 *
 * What is compared runs in turns, a few hundred times each; a figure is the least of many turns,
 * which is what it costs when nothing comes between.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#ifdef WITH_PAPI
#include <papi.h>
#endif

#include "base/clock.h"
#include "base/count_of.h"
#include "count/count_set.h"
#include "count/counter_private.h"
#include "count/instruction.h"
#include "count/region_private.h"
#include "culprit/counter.h"
#include "culprit/region.h"
#include "machine/perf_open.h"

#define TURNS	 3000
#define REPEATED 200
#define EVENTS	 "page-faults,task-clock,context-switches,cpu-migrations"

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
static _Atomic unsigned allocations;

void *__wrap_malloc(size_t size);
void *__wrap_malloc(size_t size)
{
	allocations++;
	return __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size)
{
	allocations++;
	return __real_calloc(count, size);
}

void *__wrap_realloc(void *memory, size_t size);
void *__wrap_realloc(void *memory, size_t size)
{
	allocations++;
	return __real_realloc(memory, size);
}

static struct culprit_regions *clock_regions, *event_regions;
static struct culprit_region *outer, *inner, *counted;
static struct culprit_counters *counters;
static int group; /* the same events, opened here */
static volatile uint64_t sink;
#ifdef WITH_PAPI
static int papi_set = PAPI_NULL;
#endif

static void read_tick(void)
{
	sink = instruction_ticks();
}

static void read_two_ticks(void)
{
	sink = instruction_ticks();
	sink = instruction_ticks();
}

static void mark_region(void)
{
	culprit_region_begin(outer);
	culprit_region_end(outer);
}

static void mark_nested(void)
{
	culprit_region_begin(outer);
	culprit_region_begin(inner);
	culprit_region_end(inner);
	culprit_region_end(outer);
}

static void read_group(void)
{
	uint64_t words[3 + 4];
	sink = (uint64_t)read(group, words, sizeof(words));
}

static void read_two_groups(void)
{
	read_group();
	read_group();
}

static void read_moments(void)
{
	struct count_moment moments[4];
	count_set_moments(counters->set, moments);
}

static void start_and_stop(void)
{
	culprit_counters_start(counters);
	culprit_counters_stop(counters);
}

static void mark_counted(void)
{
	culprit_region_begin(counted);
	culprit_region_end(counted);
}

#ifdef WITH_PAPI
static void read_papi(void)
{
	long long values[4];
	PAPI_read(papi_set, values);
}

static void read_papi_clock_twice(void)
{
	sink = (uint64_t)PAPI_get_real_cyc();
	sink = (uint64_t)PAPI_get_real_cyc();
}
#endif

enum subject {
	TICK,
	TWO_TICKS,
	REGION,
	NESTED,
	GROUP,
	TWO_GROUPS,
	MOMENTS,
	MEASUREMENT,
	COUNTED,
	PAPI_CLOCKS,
	PAPI_EVENTS,
	SUBJECTS
};

struct measured {
	const char *name;
	void (*run)(void); /* NULL: cannot be, here */
	double least_ns;
};

static struct measured measured[SUBJECTS] = {
	[TICK] = { "a bare reading of the clock's instruction", read_tick, 0 },
	[TWO_TICKS] = { "two of them", read_two_ticks, 0 },
	[REGION] = { "a region, clock alone", mark_region, 0 },
	[NESTED] = { "a region in a region", mark_nested, 0 },
	[GROUP] = { "a bare read(2) of 4 software events", read_group, 0 },
	[TWO_GROUPS] = { "two of them", read_two_groups, 0 },
	[MOMENTS] = { "one reading of culprit_counters", read_moments, 0 },
	[MEASUREMENT] = { "culprit_counters_start() and _stop()", start_and_stop, 0 },
	[COUNTED] = { "a region with these 4 events", mark_counted, 0 },
	[PAPI_CLOCKS] = { "two PAPI_get_real_cyc()", NULL, 0 },
	[PAPI_EVENTS] = { "PAPI_read() of these 4 events", NULL, 0 },
};

static double time_turn(void (*run)(void))
{
	uint64_t begin = clock_monotonic_ns();
	for (int i = 0; i < REPEATED; i++)
		run();
	return (double)(clock_monotonic_ns() - begin) / REPEATED;
}

static void measure_all(void)
{
	for (int turn = 0; turn < TURNS; turn++)
		for (int i = 0; i < SUBJECTS; i++) {
			struct measured *one = &measured[i];
			double ns = one->run ? time_turn(one->run) : 0;
			if (turn == 0 || ns < one->least_ns)
				one->least_ns = ns;
		}
}

static int open_group(void)
{
	static const uint64_t configs[] = { PERF_COUNT_SW_PAGE_FAULTS, PERF_COUNT_SW_TASK_CLOCK,
					    PERF_COUNT_SW_CONTEXT_SWITCHES,
					    PERF_COUNT_SW_CPU_MIGRATIONS };
	int leader = -1;
	for (size_t i = 0; i < COUNT_OF(configs); i++) {
		struct perf_event_attr attr = {
			.size = sizeof(attr),
			.type = PERF_TYPE_SOFTWARE,
			.config = configs[i],
			.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED |
				       PERF_FORMAT_TOTAL_TIME_RUNNING,
		};
		int fd = perf_open(&attr, 0, -1, leader, 0);
		if (fd < 0)
			return fd;
		leader = leader < 0 ? fd : leader;
	}
	return leader;
}

/* NULL, or why PAPI cannot be compared with. */
static const char *open_papi(void)
{
#ifdef WITH_PAPI
	static const char *const events[] = { "perf::PAGE-FAULTS", "perf::TASK-CLOCK",
					      "perf::CONTEXT-SWITCHES", "perf::CPU-MIGRATIONS" };
	if (PAPI_library_init(PAPI_VER_CURRENT) != PAPI_VER_CURRENT)
		return "PAPI_library_init() fails";
	measured[PAPI_CLOCKS].run = read_papi_clock_twice;
	int status = PAPI_create_eventset(&papi_set);
	for (size_t i = 0; i < COUNT_OF(events) && status == PAPI_OK; i++)
		status = PAPI_add_named_event(papi_set, events[i]);
	if (status == PAPI_OK)
		status = PAPI_start(papi_set);
	if (status != PAPI_OK)
		return PAPI_strerror(status);
	measured[PAPI_EVENTS].run = read_papi;
	return NULL;
#else
	return "it was not there when this was built (libpapi-dev)";
#endif
}

static int fail(const char *what, const struct culprit_error *error)
{
	fprintf(stderr, "bench count: %s: %s\n", what, error->text);
	return 1;
}

static int set_up(void)
{
	struct culprit_error error = { 0 };
	if (culprit_regions_open(NULL, NULL, &clock_regions, &error) ||
	    culprit_regions_open(EVENTS, NULL, &event_regions, &error))
		return fail("regions", &error);
	outer = culprit_region_named(clock_regions, "outer");
	inner = culprit_region_named(clock_regions, "inner");
	counted = culprit_region_named(event_regions, "counted");
	if (!outer || !inner || !counted)
		return fail("regions", &error);
	/* those that were joined last are found at once */
	if (culprit_regions_join(event_regions, &error) ||
	    culprit_regions_join(clock_regions, &error))
		return fail("joining", &error);
	if (culprit_counters_open(EVENTS, NULL, &counters, &error))
		return fail("counters", &error);
	group = open_group();
	if (group < 0) {
		fprintf(stderr, "bench count: cannot open events: %s\n", strerror(-group));
		return 1;
	}
	return 0;
}

static void compare(enum subject one, enum subject other, const char *limit)
{
	const struct measured *a = &measured[one], *b = &measured[other];
	if (!a->run || !b->run)
		return;
	printf("%-38s %8.1f ns   %5.2f times, %+.1f ns against %s (%.1f)%s%s\n", a->name,
	       a->least_ns, a->least_ns / b->least_ns, a->least_ns - b->least_ns, b->name,
	       b->least_ns, *limit ? "; wanted: " : "", limit);
}

int main(void)
{
	const char *no_papi = open_papi();
	if (set_up())
		return 1;
	if (clock_regions->clock.read)
		printf("the clock is CLOCK_MONOTONIC: this CPU's own cannot be used\n");
	unsigned before = allocations;
	for (int i = 0; i < 1000; i++)
		for (int k = 0; k < PAPI_CLOCKS; k++)
			measured[k].run();
	unsigned after = allocations;
	measure_all();
	printf("%-38s %8.1f ns\n", measured[TICK].name, measured[TICK].least_ns);
	compare(REGION, TWO_TICKS, "+10 ns at most");
	compare(NESTED, REGION, "");
	compare(MOMENTS, GROUP, "1.10 at most");
	compare(MEASUREMENT, TWO_GROUPS, "");
	compare(COUNTED, TWO_GROUPS, "");
	compare(REGION, PAPI_CLOCKS, "");
	compare(MOMENTS, PAPI_EVENTS, "");
	if (no_papi)
		printf("PAPI's reading of events is not compared with: %s\n", no_papi);
	printf("allocations after set-up, in 1000 rounds of all of these: %u\n", after - before);
	printf("an event read in user space: %s\n",
	       INSTRUCTION_READS_COUNTERS && culprit_counters_count(counters) &&
			       count_set_is_live(counters->set, 0)
		       ? "yes"
		       : "no: software events have no counter that an instruction could read");
	return after != before;
}
