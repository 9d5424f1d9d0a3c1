/*
 * culprit/topdown.h - what the issue slots of the pipeline were used for, around one piece of one's
 * own program: useful work, work thrown away, waiting for instructions, waiting for data or units
 * (A. Yasin, "A Top-Down Method for Performance Analysis and Counters Architecture", ISPASS 2014).
 *
 *	culprit_topdown_open(1, NULL, &topdown, &error);
 *	culprit_topdown_start(topdown);
 *	... what is measured, some thousand instructions or more ...
 *	culprit_topdown_stop(topdown);
 *	struct culprit_topdown_result result;
 *	culprit_topdown_result(topdown, 0, &result);
 *	printf("%.1f %% retiring\n", 100 * result.figures[CULPRIT_RETIRING].value);
 *
 * How slots are counted depends on the CPU: Intel's slots counter and metrics register, formulas of
 * events on other Intel, AMD Zen 4 and 5 and Arm Neoverse CPUs (docs/methods.md, "TopDown"; each
 * formula names its source in data/topdown). A CPU without a method, or without a PMU, is an error
 * of opening that says so; what a CPU does not tell is absent from the result with the reason.
 *
 * On Intel CPUs from Ice Lake on the calling thread's registers are read in user space, where that
 * is allowed: a field has steps of 1/255 of all slots since the registers were reset, so that they
 * are reset, by one system call in start, before a figure would be off by more than one point. The
 * counters are then never read by read(2), which would reset them within a measurement. Elsewhere
 * counts are read as by culprit/counter.h.
 *
 * Threads and fork(2): as in culprit/counter.h.
 */
#ifndef CULPRIT_TOPDOWN_H
#define CULPRIT_TOPDOWN_H

#include <stddef.h>
#include <stdint.h>

#include "counter.h"
#include "error.h"

#ifdef __cplusplus
extern "C" {
#endif

struct culprit_topdown;

enum culprit_topdown_category {
	CULPRIT_RETIRING,
	CULPRIT_BAD_SPECULATION,
	CULPRIT_FRONTEND_BOUND,
	CULPRIT_BACKEND_BOUND,
	/* Level 2, two parts of each: heavy and light operations of retiring, branch mispredicts
	   and machine clears of bad speculation, fetch latency and bandwidth of frontend bound,
	   memory and core bound of backend bound. */
	CULPRIT_HEAVY_OPERATIONS,
	CULPRIT_BRANCH_MISPREDICTS,
	CULPRIT_FETCH_LATENCY,
	CULPRIT_MEMORY_BOUND,
	CULPRIT_LIGHT_OPERATIONS,
	CULPRIT_MACHINE_CLEARS,
	CULPRIT_FETCH_BANDWIDTH,
	CULPRIT_CORE_BOUND,
	/* Level 1, on AMD alone: slots that the other thread of the core took. */
	CULPRIT_SMT_CONTENTION,
	CULPRIT_TOPDOWN_CATEGORIES
};

/* "frontend bound"; NULL for a number that is no category. */
CULPRIT_API const char *culprit_topdown_name(unsigned category);

/*
 * `levels` is 1, or 2 for both. options as for culprit_counters_open(), without definitions and
 * names; CULPRIT_STRICT: each event of the method is counted, the kernel's side too. 0 and *topdown;
 * -EINVAL; -ENOENT when there is no method for this CPU, -EBUSY when the method's events do not all
 * fit (CULPRIT_NEVER_MULTIPLEX), -EACCES, -ESRCH, -EMFILE, -ENOMEM.
 */
CULPRIT_API int culprit_topdown_open(unsigned levels, const struct culprit_options *options,
				     struct culprit_topdown **topdown, struct culprit_error *error);
CULPRIT_API void culprit_topdown_close(struct culprit_topdown *topdown); /* NULL: nothing */

/* 0 or a negative errno value. */
CULPRIT_API_BOUND int culprit_topdown_start(struct culprit_topdown *topdown);
CULPRIT_API_BOUND int culprit_topdown_stop(struct culprit_topdown *topdown);

struct culprit_topdown_figure {
	double value; /* share of the slots, 0 to 1 unless in doubt; NAN when absent */
	/* As far as the steps of the register go, it lies between them; both `value` where whole
	   events were counted. */
	double low, high;
	int in_doubt;	 /* non-zero: below 0, above 1, or a part above its whole */
	const char *why; /* it is absent; NULL: it is not */
};

struct culprit_topdown_result {
	struct culprit_topdown_figure figures[CULPRIT_TOPDOWN_CATEGORIES];
	double slots; /* that were counted; NAN when not known */
	/* What the categories of level 1 sum up to, where they are counted independently of each
	   other; else NAN. Beyond 2 points from 1 they cannot all be right. */
	double sum;
	/* Of enum culprit_value_flags; CULPRIT_SUBSTITUTE: of user code alone, since the kernel's
	   side may not be counted. */
	uint32_t flags;
	int cycles;	       /* non-zero: shares of stalled cycles, where no slots are counted */
	int user_space;	       /* non-zero: measured without a system call but resets */
	const char *method;    /* "golden-cove": a table of data/topdown */
	const char *core_type; /* "cpu_core" on machines with several core types; else NULL */
};

/* One for each core type of the machine that has a method. */
CULPRIT_API size_t culprit_topdown_results(const struct culprit_topdown *topdown);
/* Of the measurement that ended last. 0; -EINVAL before one has ended, and for an index that is too
   large. Texts live as long as *topdown. */
CULPRIT_API int culprit_topdown_result(const struct culprit_topdown *topdown, size_t index,
				       struct culprit_topdown_result *result);

#ifdef __cplusplus
}
#endif
#endif
