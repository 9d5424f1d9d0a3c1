/*
 * counter_private - what struct culprit_counters consists of, for the files that implement
 * culprit/counter.h.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "count/moment.h"
#include "culprit/counter.h"
#include "machine/event.h"
#include "machine/pmu.h"

struct count_set;
struct count_kernel;
struct count_world;
struct definitions;
struct error;
struct target_list;

/* What is counted for an event, and why not it. */
struct counted {
	const char *name;    /* as written */
	const char *counted; /* NULL: nothing */
	const char *why;     /* NULL: it is counted as written */
	int code;	     /* negative errno value of `why` */
	bool substitute;
};

struct culprit_counters {
	struct arena arena;
	struct pmu_list pmus;
	struct definitions *definitions;
	struct event_list events; /* as they are opened: substitutes in their places */
	struct counted *counted;
	struct count_set *set;
	size_t targets;
	struct count_moment *begin, *end; /* [target][event] */
	struct count_reading *readings;	  /* of one target */
	uint64_t *enabled_ns;		  /* of the first target, at the end */
	struct count_cost *costs;
	/* counters_asked() of a begin and an end together when the costs were measured: they hold
	   for measurements that are taken the same way. */
	size_t costs_asked;
	bool own_thread;  /* of CULPRIT_THIS_THREAD: moments, not readings */
	pthread_t thread; /* that opened them */
	bool calibrated;
	bool started, stopped;
	uint64_t begin_ns, end_ns; /* wall clock, where events are not read in user space */
};

/*
 * What becomes of events that cannot be counted as they were written. Before the set is opened:
 * each has its substitute or its reason; targets in front that have ended are left out. Afterwards:
 * those that their group has no room for, or whose kernel side may not be counted, have theirs. 0,
 * or the negative errno value of an event that shall not be absent, and when all are.
 */
int counters_settle(struct culprit_counters *counters, const struct count_kernel *kernel,
		    struct target_list *targets, const struct culprit_options *options,
		    struct error *err);
int counters_settle_opened(struct culprit_counters *counters, const struct culprit_options *options,
			   struct error *err);

/* Take the moments of all targets at the begin and at the end of a measurement. The clock
 * is read inside of the moments, so that wall time is never the longer one by what a call takes. 0
 * or a negative errno value. */
int counters_take_begin(struct culprit_counters *counters, struct count_moment *moments);
int counters_take_end(struct culprit_counters *counters, struct count_moment *moments);

/* Of how many events the kernel was asked for these moments, or the page's times had to be added to
 * (count_set_is_direct()); the others were read in user space, as usual. */
size_t counters_asked(const struct culprit_counters *counters, const struct count_moment *moments);

/* What event `index` came to on one target between its moments begin[] and ends[] of all events, as
 * count_difference(); what was counted on cores of another type is no loss. */
void counters_difference(const struct culprit_counters *counters, const struct count_moment *begin,
			 const struct count_moment *ends, size_t index,
			 const struct count_cost *cost, struct culprit_value *value);

/* Whether a thread that ran for `enabled_ns` of `wall_ns` was switched out meanwhile. */
bool counters_switched_out(uint64_t wall_ns, uint64_t enabled_ns);

/* culprit_counters_open() in another world than the real one: for tests. */
int counters_open(const char *events, const struct culprit_options *options,
		  const struct count_world *world, struct culprit_counters **counters,
		  struct culprit_error *error);
