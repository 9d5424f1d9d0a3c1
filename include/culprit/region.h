/*
 * culprit/region.h - named pieces of a program that run many times: how often, and how much of
 * each event every time, per thread.
 *
 *	struct culprit_regions *regions;
 *	culprit_regions_open("cycles,instructions", NULL, &regions, &error);
 *	struct culprit_region *lookup = culprit_region_named(regions, "lookup");
 *	culprit_regions_join(regions, &error);		in each thread, once
 *	...
 *	culprit_region_begin(lookup);
 *	...
 *	culprit_region_end(lookup);
 *	...
 *	culprit_regions_leave(regions);			in each thread
 *	culprit_regions_print(regions, NULL, stdout);	culprit/print.h
 *
 * Each region keeps, for each thread and event, the number of times, the least, the greatest and
 * the sum of what was counted, and a histogram whose buckets are 1/16 of their value wide, from
 * which quantiles come. The clock is always among what is counted, as "time" in ns: the CPU's own
 * (rdtsc, CNTVCT_EL0), which costs a few ns and needs no right.
 *
 * Regions may be nested, 32 deep; the same region within itself, too. What an inner region's
 * begin and end cost is subtracted from the outer ones, as its own is from itself.
 *
 * Threads: open, named and close are for one thread; a thread that has joined marks regions with
 * no lock and no allocation; its numbers are its own until it leaves or culprit_regions_result()
 *reads them, which any thread may do at any time: it sees numbers of some moment, each event's by
 *itself. begin and end in a thread that has not joined do nothing but count the omission. A thread
 *that ends leaves by itself.
 *
 * Signal handlers may use begin and end in pairs; one that interrupts the end of a region is
 *omitted. In the child of a fork(2) nothing is measured before it joins anew.
 */
#ifndef CULPRIT_REGION_H
#define CULPRIT_REGION_H

#include <stddef.h>
#include <stdint.h>

#include "counter.h"
#include "error.h"

#ifdef __cplusplus
extern "C" {
#endif

struct culprit_regions;
struct culprit_region;

/* The most events (the clock not among them), names, and regions within each other. */
#define CULPRIT_REGION_EVENTS 15
#define CULPRIT_REGION_NAMES  256
#define CULPRIT_REGION_DEPTH  32

/*
 * `events` as for culprit_counters_open(), or NULL for the clock alone; options->subject is
 * CULPRIT_THIS_THREAD. Nothing is counted before a thread joins. 0 and *regions; or a negative
 * errno value, as culprit_counters_open().
 */
CULPRIT_API int culprit_regions_open(const char *events, const struct culprit_options *options,
				     struct culprit_regions **regions, struct culprit_error *error);
/* No thread may be in a region, nor use one afterwards. NULL does nothing. */
CULPRIT_API void culprit_regions_close(struct culprit_regions *regions);

/* The region of this name, made when there is none yet; at set-up, from any one thread. NULL when
   there are CULPRIT_REGION_NAMES, or no memory. The name is copied. */
CULPRIT_API struct culprit_region *culprit_region_named(struct culprit_regions *regions,
							const char *name);

/* The calling thread takes part: opens its counters, and allocates and calibrates. 0; -EALREADY; or
   as culprit_counters_open(). */
CULPRIT_API int culprit_regions_join(struct culprit_regions *regions, struct culprit_error *error);
/* It takes part no more; what it counted stays. */
CULPRIT_API void culprit_regions_leave(struct culprit_regions *regions);

CULPRIT_API_BOUND void culprit_region_begin(struct culprit_region *region);
/* Ends the region. Those that this thread began within it and did not end are counted as
   mismatched; so is a region that ends and has not begun. */
CULPRIT_API_BOUND void culprit_region_end(struct culprit_region *region);

/* What one event came to in one region: in one thread, or in all together. */
struct culprit_region_event {
	uint64_t count;		      /* times it was measured */
	double min, median, p99, max; /* NAN without any; quantiles are exact to 1/16 */
	double total, low, high;      /* of all times; the 95 % interval of the total */
	uint64_t absent;	      /* times it was not: not on the PMU */
	uint32_t flags;		      /* of enum culprit_value_flags, of any time */
	/* CULPRIT_TOO_SMALL is among the flags when the median is below this: the least size of
	   which begin and end leave the value right to 2 % in 95 of 100 times. NAN where not known.
	 */
	double measurable;
};

struct culprit_region_result {
	const char *name;
	int thread;	     /* its id; 0: all threads together */
	uint64_t mismatched; /* begin and end that do not belong together */
	/* Times that were not measured: deeper than CULPRIT_REGION_DEPTH, or in a signal handler
	   that had interrupted the end of a region of the same thread. */
	uint64_t omitted;
	uint64_t not_joined; /* begins in threads that had not joined; only for all together */
	struct culprit_region_event time; /* ns */
	struct culprit_region_event events[CULPRIT_REGION_EVENTS];
	size_t event_count;
};

/* How many results there are: a row for each region, of all threads together, and after it one for
   each thread that ran it. Rows stay where they are until this is called again. */
CULPRIT_API size_t culprit_regions_results(const struct culprit_regions *regions);
/* Fills *result with row `index`. 0 or -EINVAL. */
CULPRIT_API int culprit_regions_result(const struct culprit_regions *regions, size_t index,
				       struct culprit_region_result *result);
/* As culprit_counters_event(), of the events of a result. 0 or -EINVAL. */
CULPRIT_API int culprit_regions_event(const struct culprit_regions *regions, size_t index,
				      struct culprit_event *event);

/*
 * A scope of C as a region: it ends wherever the scope is left (not by longjmp).
 *
 *	{
 *		CULPRIT_SCOPE(lookup);
 *		...
 *	}
 */
#if defined(__GNUC__)
#define CULPRIT_SCOPE_NAME_(line) culprit_scope_##line
#define CULPRIT_SCOPE_NAME(line)  CULPRIT_SCOPE_NAME_(line)
#define CULPRIT_SCOPE(region)                                                                      \
	__attribute__((cleanup(culprit_scope_end), unused)) struct culprit_region *                \
	CULPRIT_SCOPE_NAME(__LINE__) = culprit_scope_begin(region)

static inline struct culprit_region *culprit_scope_begin(struct culprit_region *region)
{
	culprit_region_begin(region);
	return region;
}

static inline void culprit_scope_end(struct culprit_region **region)
{
	culprit_region_end(*region);
}
#endif

#ifdef __cplusplus
}

namespace culprit
{
/* A scope of C++ as a region; ends when an exception leaves it, too. */
class scope
{
      public:
	explicit scope(culprit_region *region) : region_(region)
	{
		culprit_region_begin(region_);
	}
	~scope()
	{
		culprit_region_end(region_);
	}
	scope(const scope &) = delete;
	scope &operator=(const scope &) = delete;

      private:
	culprit_region *region_;
};
} // namespace culprit
#endif
#endif
