/*
 * count-cost - how many instructions a reading of counters takes, by libculprit and by PAPI, in a
 * machine whose PMU counts exactly (the lab).
 *
 * Two further counters stand outside of both: the thread's instructions in user code, and those
 * with the kernel's. They are read by bare instructions around one call, and what that adds is
 * subtracted. A figure is the median of many calls.
 *
 * Prints a table, and a line for each check; ends with 1 when one failed: a reading in user space
 * costs fewer instructions than PAPI's, and so does
 * a measurement.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/perf_event.h>
#include <papi.h>
#include <sys/mman.h>

#include "base/count_of.h"
#include "count/reading.h"
#include "culprit/counter.h"
#include "culprit/region.h"
#include "machine/perf_open.h"

#define TRIALS	    401
#define WARMING	    20
#define MOST_EVENTS 4

#define INST_RETIRED                                                                               \
	0x08	     /* Arm ARM D13.11.3, common events; CPU_CYCLES is 0x11, and the next two      \
			are STALL_FRONTEND and STALL_BACKEND */
#define USER_READS 2 /* config1: user code may read the counter (arm64 perf.rst) */

static const unsigned sizes[] = { 1, 2, 4 };
static const unsigned configs[MOST_EVENTS] = { INST_RETIRED, 0x11, 0x23, 0x24 };
static const char *const papi_names[MOST_EVENTS] = { "INST_RETIRED", "CPU_CYCLES", "STALL_FRONTEND",
						     "STALL_BACKEND" };
static const char *const culprit_names[MOST_EVENTS + 1] = {
	[1] = "r08:u", [2] = "{r08:u,r11:u}", [4] = "{r08:u,r11:u,r23:u,r24:u}"
};

static void fail(const char *what, const char *why)
{
	printf("FAILED: %s: %s\n", what, why);
	exit(1);
}

static int open_event(unsigned config, bool kernel, int leader)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_RAW,
		.size = sizeof(attr),
		.config = config,
		.config1 = USER_READS,
		.exclude_kernel = !kernel,
		.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED |
			       PERF_FORMAT_TOTAL_TIME_RUNNING,
	};
	int fd = perf_open(&attr, 0, -1, leader, 0);
	if (fd < 0)
		fail("perf_event_open", strerror(-fd));
	return fd;
}

/* The counters outside. */
enum { USER, ALL, OUTSIDE };
static const volatile struct perf_event_mmap_page *pages[OUTSIDE];

static void open_outside(void)
{
	for (int i = 0; i < OUTSIDE; i++) {
		int fd = open_event(INST_RETIRED, i == ALL, -1);
		void *page =
			mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ, MAP_SHARED, fd, 0);
		if (page == MAP_FAILED)
			fail("the counter outside", "its page cannot be mapped");
		pages[i] = page;
		if (!pages[i]->cap_user_rdpmc)
			fail("the counter outside", "user code may not read it (perf_user_access)");
	}
}

typedef void call(void);

static void nothing(void)
{
}

/* What the counter stands at; a system call may have taken it off the PMU and put it back. */
static uint64_t read_outside(int which)
{
	const volatile struct perf_event_mmap_page *page = pages[which];
	uint32_t sequence, index;
	uint64_t count;
	do {
		sequence = page->lock;
		COMPILER_BARRIER();
		index = page->index;
		count = (uint64_t)page->offset + (index ? instruction_counter(index - 1) : 0);
		COMPILER_BARRIER();
	} while (page->lock != sequence || index == 0);
	return count;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

static int64_t median_of(int which, call *run)
{
	uint64_t counts[TRIALS];
	for (int trial = -WARMING; trial < TRIALS; trial++) {
		uint64_t begin = read_outside(which);
		run();
		uint64_t end = read_outside(which);
		if (trial >= 0)
			/* it has 32 bits or more, which one call does not fill */
			counts[trial] = (uint32_t)(end - begin);
	}
	qsort(counts, TRIALS, sizeof(counts[0]), compare);
	return (int64_t)counts[TRIALS / 2];
}

enum subject {
	READ,
	PAPI_READ,
	PAPI_MEASUREMENT,
	READING,
	VALUES,
	MEASUREMENT,
	KERNEL_READING,
	KERNEL_MEASUREMENT,
	REGION,
	CLOCK_REGION,
	SUBJECTS
};

static const char *const names[SUBJECTS] = {
	[READ] = "read(2) of the group",
	[PAPI_READ] = "PAPI_read",
	[PAPI_MEASUREMENT] = "PAPI_start, PAPI_stop",
	[READING] = "a reading (culprit_counters_stop)",
	[VALUES] = "a reading and culprit_counters_values",
	[MEASUREMENT] = "culprit_counters_start, _stop",
	[KERNEL_READING] = "a reading, by read(2)",
	[KERNEL_MEASUREMENT] = "start, stop, by read(2)",
	[REGION] = "culprit_region_begin, _end",
	[CLOCK_REGION] = "begin, end, the clock alone",
};
static int64_t costs[SUBJECTS][COUNT_OF(sizes)][OUTSIDE];
static int64_t own[OUTSIDE]; /* what the counters outside find in nothing() */

static void measure(enum subject subject, size_t size, call *run)
{
	for (int which = 0; which < OUTSIDE; which++)
		costs[subject][size][which] = median_of(which, run) - own[which];
}

static int group;
static unsigned event_count;
static int papi_set;
static struct culprit_counters *counters;
static struct culprit_region *region;

static void run_read(void)
{
	uint64_t words[3 + MOST_EVENTS];
	if (read(group, words, sizeof(words)) < 0)
		fail("read", "it fails");
}

static void run_papi_read(void)
{
	long long values[MOST_EVENTS];
	PAPI_read(papi_set, values);
}

static void run_papi_measurement(void)
{
	long long values[MOST_EVENTS];
	PAPI_start(papi_set);
	PAPI_stop(papi_set, values);
}

static void run_reading(void)
{
	culprit_counters_stop(counters);
}

static void run_values(void)
{
	struct culprit_value values[MOST_EVENTS];
	culprit_counters_stop(counters);
	culprit_counters_values(counters, values, event_count);
}

static void run_measurement(void)
{
	culprit_counters_start(counters);
	culprit_counters_stop(counters);
}

static void run_region(void)
{
	culprit_region_begin(region);
	culprit_region_end(region);
}

static void measure_read(size_t size)
{
	int fds[MOST_EVENTS];
	for (unsigned i = 0; i < event_count; i++)
		fds[i] = open_event(configs[i], false, i ? fds[0] : -1);
	group = fds[0];
	measure(READ, size, run_read);
	for (unsigned i = event_count; i-- > 0;)
		close(fds[i]);
}

static void must(int status)
{
	if (status != PAPI_OK)
		fail("PAPI", PAPI_strerror(status));
}

static void measure_papi(size_t size)
{
	long long values[MOST_EVENTS];
	papi_set = PAPI_NULL;
	must(PAPI_create_eventset(&papi_set));
	for (unsigned i = 0; i < event_count; i++)
		must(PAPI_add_named_event(papi_set, papi_names[i]));
	must(PAPI_start(papi_set));
	measure(PAPI_READ, size, run_papi_read);
	must(PAPI_stop(papi_set, values));
	if (values[0] < TRIALS)
		fail("PAPI", "it counts no instructions");
	measure(PAPI_MEASUREMENT, size, run_papi_measurement);
	must(PAPI_cleanup_eventset(papi_set));
	must(PAPI_destroy_eventset(&papi_set));
}

static void measure_counters(size_t size, bool in_kernel)
{
	struct culprit_options options = { .flags = in_kernel ? CULPRIT_ALWAYS_READ : 0 };
	struct culprit_error error;
	struct culprit_event event;
	if (culprit_counters_open(culprit_names[event_count], &options, &counters, &error))
		fail("counters", error.text);
	culprit_counters_event(counters, event_count - 1, &event);
	if (!event.user_space != in_kernel)
		fail("counters", "they are not read in the way that was asked for");
	culprit_counters_start(counters);
	measure(in_kernel ? KERNEL_READING : READING, size, run_reading);
	if (!in_kernel)
		measure(VALUES, size, run_values);
	measure(in_kernel ? KERNEL_MEASUREMENT : MEASUREMENT, size, run_measurement);
	culprit_counters_close(counters);
}

static void measure_region(size_t size, enum subject subject, const char *events)
{
	struct culprit_regions *regions;
	struct culprit_error error;
	if (culprit_regions_open(events, NULL, &regions, &error))
		fail("regions", error.text);
	region = culprit_region_named(regions, "region");
	if (!region || culprit_regions_join(regions, &error))
		fail("regions", region ? error.text : "no name");
	measure(subject, size, run_region);
	culprit_regions_leave(regions);
	culprit_regions_close(regions);
}

static void print_table(void)
{
	printf("%-38s", "instructions: user's, and all");
	for (size_t i = 0; i < COUNT_OF(sizes); i++)
		printf("    %u event%s  ", sizes[i], sizes[i] == 1 ? " " : "s");
	putchar('\n');
	for (int subject = 0; subject < SUBJECTS; subject++) {
		printf("%-38s", names[subject]);
		for (size_t i = 0; i < COUNT_OF(sizes); i++)
			printf(" %6" PRId64 " %7" PRId64, costs[subject][i][USER],
			       costs[subject][i][ALL]);
		putchar('\n');
	}
}

static unsigned failures;

static void check(enum subject one, enum subject other, size_t size)
{
	for (int which = 0; which < OUTSIDE; which++) {
		int64_t a = costs[one][size][which], b = costs[other][size][which];
		bool ok = a > 0 && a < b;
		failures += !ok;
		printf("%s: %u events, %s: %" PRId64 " (%s), %" PRId64 " (%s)\n",
		       ok ? "ok" : "FAILED", sizes[size], which == USER ? "user's" : "all", a,
		       names[one], b, names[other]);
	}
}

int main(void)
{
	if (PAPI_library_init(PAPI_VER_CURRENT) != PAPI_VER_CURRENT)
		fail("PAPI", "PAPI_library_init()");
	const PAPI_component_info_t *component = PAPI_get_component_info(0);
	printf("PAPI %d.%d.%d, %s, read by %s\n", PAPI_VERSION_MAJOR(PAPI_VERSION),
	       PAPI_VERSION_MINOR(PAPI_VERSION), PAPI_VERSION_REVISION(PAPI_VERSION),
	       component->name, component->fast_counter_read ? "instructions" : "read(2)");
	open_outside();
	for (int which = 0; which < OUTSIDE; which++)
		own[which] = median_of(which, nothing);
	for (size_t i = 0; i < COUNT_OF(sizes); i++) {
		event_count = sizes[i];
		measure_read(i);
		measure_papi(i);
		measure_counters(i, false);
		measure_counters(i, true);
		measure_region(i, REGION, culprit_names[event_count]);
		measure_region(i, CLOCK_REGION, NULL);
	}
	print_table();
	for (size_t i = 0; i < COUNT_OF(sizes); i++) {
		check(READING, PAPI_READ, i);
		check(MEASUREMENT, PAPI_MEASUREMENT, i);
	}
	return failures ? 1 : 0;
}
