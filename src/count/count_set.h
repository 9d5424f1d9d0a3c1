/*
 * count_set - events that count on some targets: a thread, processes, CPUs. What libculprit and
 * `culprit stat` count with; culprit/counter.h is the one public face of it.
 *
 * Events are opened in groups that fit the PMU (count_plan.h), on every target. Counters count from
 * opening on, unless `disabled` or `enable_on_exec` says otherwise; a measurement is the difference
 * of two readings, so that its begin and end cost the same and nothing is switched.
 *
 * A set is used by one thread at a time. After count_set_open() nothing is allocated.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "count/target.h"

struct count_kernel;
struct count_set;
struct error;
struct event_list;
struct pmu_list;

enum count_inherit {
	COUNT_ALONE,	/* the target's own thread */
	COUNT_THREADS,	/* threads that it starts, too */
	COUNT_CHILDREN, /* and processes */
};

struct count_options {
	const struct count_target *targets;
	size_t target_count;
	enum count_inherit inherit;
	bool disabled;	     /* until count_set_enable() */
	bool enable_on_exec; /* disabled until the target calls execve(2) */
	bool user_only;
	bool pinned;
	bool never_multiplex; /* -EBUSY with the event that does not fit beside the others */
	bool slices;	      /* of the first target: see count_set_half_width() */
	bool live; /* map the counters, so that count_set_moments() reads them in user space
		      (moment.h) */
};

/* Why an event has no count on a target. */
enum count_state {
	COUNT_OPEN,
	/* The kernel refused to open it: `code` says why. -EOPNOTSUPP: it happens in the kernel
	   alone, and was asked for without that. */
	COUNT_NOT_SUPPORTED,
	COUNT_ELSEWHERE, /* counts on other CPUs or core types than this target's */
	COUNT_GONE,	 /* the target ended before it was opened */
};

/* One event on one target, since it was opened (or count_set_reset()). */
struct count_reading {
	uint64_t count;			 /* not scaled */
	uint64_t enabled_ns, running_ns; /* was to count; was on the PMU */
	enum count_state state;
	int code; /* negative errno value of COUNT_NOT_SUPPORTED; else 0 */
};

/*
 * Opens `events`, which have to outlive the set, on all targets. An event that a target refuses is
 * absent there (count_reading.state), and the others are opened. `kernel` is count_kernel_real but
 * in tests. 0 and *set; -EBUSY (never_multiplex); -EMFILE, -ENOMEM; -ESRCH when all targets have
 * ended; with the event and the reason in *err.
 */
int count_set_open(const struct event_list *events, const struct pmu_list *pmus,
		   const struct count_options *options, const struct count_kernel *kernel,
		   struct count_set **set, struct error *err);
void count_set_close(struct count_set *set); /* NULL: nothing */

size_t count_set_targets(const struct count_set *set);
size_t count_set_events(const struct count_set *set);
/* Which events are counted at the same times: the number of the group of event `event`. */
size_t count_set_group(const struct count_set *set, size_t event);
/* What the kernel does is left out of the event although it was asked for: there was no right to
 * count it. */
bool count_set_is_user_only(const struct count_set *set, size_t event);
/* The negative errno value with which the kernel refused the event where it could count; 0 when it
 * is open on a target, or on none could be. Events that open alone may be refused in a group. */
int count_set_refusal(const struct count_set *set, size_t event);

/* Starts and stops counting on all targets. 0 or a negative errno value. */
int count_set_enable(struct count_set *set);
int count_set_disable(struct count_set *set);
int count_set_reset(struct count_set *set); /* counts, not times */

/* Reads all events of one target into readings[0..count_set_events()), by read(2), one call a
 * group. 0 or the negative errno value of a read that failed. */
int count_set_read(struct count_set *set, size_t target, struct count_reading *readings);
/* Sum over targets: counts and times; state COUNT_OPEN when any target has it, else that of the
 * first. `scratch` has room for a reading of each event. Scaling the sum weighs targets by their
 * counts: one that was on the PMU for a smaller part of its time should be scaled by itself. */
int count_set_read_all(struct count_set *set, struct count_reading *readings,
		       struct count_reading *scratch);

/*
 * How far a scaled count may be wrong, for sets that were opened with `slices`: the kernel notes
 * how groups that take turns on the PMU proceed (slice_ring.h). count_set_begin_slices() when a
 * measurement begins, count_set_take_slices() when it has ended, with what the first target's
 * events were enabled for by then, in order of the events.
 */
void count_set_begin_slices(struct count_set *set);
void count_set_take_slices(struct count_set *set, const uint64_t *enabled_ns);
/* Half the width of the 95 % interval of the scaled count, in events (slices.h). False when it is
 * not known. */
bool count_set_half_width(const struct count_set *set, size_t event, double count,
			  double enabled_ns, double running_ns, double *half_width);
