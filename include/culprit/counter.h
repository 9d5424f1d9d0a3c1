/*
 * culprit/counter.h - counts events of the hardware and the kernel around exactly one piece of a
 * program.
 *
 *	struct culprit_counters *counters;
 *	struct culprit_error error;
 *	if (culprit_counters_open("cycles,instructions,L1-dcache-load-misses", NULL, &counters,
 *				  &error))
 *		errx(1, "%s", error.text);
 *	culprit_counters_start(counters);
 *	... what is measured ...
 *	culprit_counters_stop(counters);
 *	struct culprit_value values[3];
 *	culprit_counters_values(counters, values, 3);
 *	culprit_counters_close(counters);
 *
 * Events are written as after `culprit stat -e` (culprit-events(1)): the kernel's names
 * ("cycles", "page-faults"), "cpu/event=0x3c,umask=0/u", "r01c2", groups in braces, names of a
 * file of definitions (struct culprit_options), and libpfm4's names when a program links
 * libculprit-pfm (culprit/pfm.h).
 *
 * What a call costs is measured when the counters are opened and subtracted from every value
 * (culprit_counters_cost()). Reading is done in user space where the machine allows it (rdpmc on
 * x86, PMCCNTR_EL0 and PMEVCNTR_EL0 on arm64), else by read(2); the values are the same.
 *
 * Where there is no PMU, "cycles" is counted as task-clock in ns, and other events of the hardware
 * are absent. Where the kernel's side may not be counted, the user's alone is, and events that
 * happen in the kernel alone, as context-switches, are absent. All that is said in the value's
 * flags and by culprit_counters_event(). CULPRIT_STRICT makes opening fail instead.
 *
 * Threads: one struct culprit_counters belongs to one thread at a time. Those of
 * CULPRIT_THIS_THREAD count the thread that opened them, and only that thread may use them (-EPERM).
 * Several threads may each have their own. After opening nothing is allocated, printed or locked;
 * start, stop and values may be called from a signal handler that does not interrupt another call
 * with the same counters.
 * After fork(2) the child has counters that count nothing of it (those of CULPRIT_THIS_THREAD return
 * -ECHILD): it closes them and opens its own.
 */
#ifndef CULPRIT_COUNTER_H
#define CULPRIT_COUNTER_H

#include <stddef.h>
#include <stdint.h>

#include "error.h"

#ifdef __cplusplus
extern "C" {
#endif

struct culprit_counters;

/* Of whom events are counted. */
enum culprit_subject {
	CULPRIT_THIS_THREAD,  /* the calling thread */
	CULPRIT_THIS_PROCESS, /* all threads of this process, those to come too */
	CULPRIT_PROCESS,      /* all threads of process `id`, those to come too */
	CULPRIT_THREAD,	      /* thread `id` */
	CULPRIT_CPU	      /* everything that runs on CPU `id` */
};

enum culprit_option_flags {
	CULPRIT_USER_ONLY = 1,	     /* not what the kernel does for the subject */
	CULPRIT_CHILDREN = 2,	     /* of processes: those that they fork, too */
	CULPRIT_NEVER_MULTIPLEX = 4, /* refuse events that do not all fit the PMU at once */
	CULPRIT_STRICT = 8,	  /* refuse events that cannot be counted as they were asked for */
	CULPRIT_ALWAYS_READ = 16, /* never read in user space */
	CULPRIT_NOT_CALIBRATED = 32, /* leave what a call costs in the values */
	CULPRIT_PINNED = 64	     /* keep others from the counters; unscheduled when in vain */
};

/* All zero: this thread, user and kernel. */
struct culprit_options {
	enum culprit_subject subject;
	int id;		/* pid, tid or CPU; else not used */
	unsigned flags; /* of enum culprit_option_flags; -EINVAL for others */
	/* The path of a file with a line `name = event` for each name of one's own, where the
	   event is what may be written anywhere (`l3-miss = r412e`); # begins a comment. NULL:
	   none. */
	const char *definitions;
	const struct culprit_names *names; /* further names, see culprit/pfm.h; NULL: none */
	uint64_t reserved[8];		   /* 0 */
};

/*
 * Opens counters and starts them counting; `events` is copied. 0 and *counters, which the caller
 * closes; or -EINVAL for a mistake in `events`, the definitions or the options, -ENOENT for an
 * event that nobody knows or that cannot be counted here, -EBUSY for one that does not fit the PMU
 * beside the others (CULPRIT_NEVER_MULTIPLEX) or in its group in braces (CULPRIT_STRICT, too),
 * -EACCES or -EPERM, -ESRCH, -EMFILE, -ENOMEM, with the event and the reason in *error. That an
 * event cannot be counted is an error with CULPRIT_STRICT, and when it is so of all.
 */
CULPRIT_API int culprit_counters_open(const char *events, const struct culprit_options *options,
				      struct culprit_counters **counters,
				      struct culprit_error *error);
CULPRIT_API void culprit_counters_close(struct culprit_counters *counters); /* NULL: nothing */

enum culprit_value_flags {
	/* No value: `value` is NAN. The event cannot be counted here (culprit_counters_event()
	   says why), or it was never on the PMU while it was to be counted. */
	CULPRIT_ABSENT = 1,
	/* Counted a part of the time, since there are fewer counters than events, and scaled: see
	   `low` and `high`. */
	CULPRIT_MULTIPLEXED = 2,
	/* A part of the time the subject ran on cores of a type that does not count this event. */
	CULPRIT_MIGRATED = 4,
	/* The thread was switched out meanwhile; what others did to caches is in the value. Where
	   events are read by read(2), less than 1/10000 of the time goes unnoticed. */
	CULPRIT_INTERRUPTED = 8,
	/* Never on the PMU although enabled: others have the counters. CULPRIT_ABSENT is set too.
	 */
	CULPRIT_UNSCHEDULED = 16,
	/* Not the event that was asked for, but what this machine has in its place. */
	CULPRIT_SUBSTITUTE = 32,
	/* Less than what the error of the subtracted cost allows to tell; `low` is 0. */
	CULPRIT_TOO_SMALL = 64,
	/* How wrong the value may be is not known; `low` and `high` are NAN: it is scaled, or the
	   counters were not read as when the cost was measured, since others wanted the PMU. */
	CULPRIT_NO_INTERVAL = 128
};

struct culprit_value {
	/* In the event's unit; what the calls cost is subtracted. NAN when absent. */
	double value;
	/* The value lies between them in 95 of 100 measurements. Equal to `value` when it is
	   exact. */
	double low, high;
	uint64_t count;			 /* as counted: not scaled, nothing subtracted */
	uint64_t enabled_ns, running_ns; /* was to count; did count. 0 where that is not known */
	uint32_t flags;			 /* of enum culprit_value_flags */
};

/* A measurement begins. 0 or a negative errno value: -EPERM in another thread than that of
   CULPRIT_THIS_THREAD, -ECHILD in a child of its process, -EAGAIN when for a second some thread or
   child of the subject was starting or ending, while which Linux reads no group, or what reading
   failed with. The counters of a subject that has ended stay as they are: its end is no error. */
CULPRIT_API_BOUND int culprit_counters_start(struct culprit_counters *counters);
/* It ends, or, called again, ends later; start() begins the next one. 0; -EINVAL before the first
   start; or a negative errno value of reading. */
CULPRIT_API_BOUND int culprit_counters_stop(struct culprit_counters *counters);
/*
 * Values of the measurement that ended last, or, between start and stop, of the time since start.
 * Fills values[0..count), in the order the events were written; at most as many as there are events
 * are filled. 0; -EINVAL before the first start; or a negative errno value of reading.
 */
CULPRIT_API int culprit_counters_values(struct culprit_counters *counters,
					struct culprit_value *values, size_t count);

struct culprit_event {
	const char *name; /* as written */
	/* What is counted for it: the name; "task-clock"; with a "u" behind it, as "cycles:u",
	   where the kernel had to be left out; NULL: nothing. */
	const char *counted;
	const char *unit;      /* "cycles", "ns", "events", ... */
	const char *core_type; /* "cpu_core" on machines with several core types; else NULL */
	const char *why;       /* it is not counted, or something else is; NULL: it is counted */
	unsigned group;	       /* events of one group are counted at the same times */
	int user_space;	       /* non-zero: read without a system call */
};

/* How many values there are: on machines with several core types one for each event and type. */
CULPRIT_API size_t culprit_counters_count(const struct culprit_counters *counters);
/* Fills *event for the value number `index`; texts live as long as the counters. 0 or -EINVAL. */
CULPRIT_API int culprit_counters_event(const struct culprit_counters *counters, size_t index,
				       struct culprit_event *event);

/*
 * What one start and stop add to the count of event `index`, as measured when the counters were
 * opened and subtracted from values: the median of some hundred empty measurements, and how far 95
 * of 100 lay from it. 0; -EINVAL; -ENODATA when it was not measured (other subjects than this
 * thread, CULPRIT_NOT_CALIBRATED).
 */
CULPRIT_API int culprit_counters_cost(const struct culprit_counters *counters, size_t index,
				      double *median, double *spread);

/*
 * An expression of events: names of the counters, numbers, + - * / and parentheses, as
 * "instructions / cycles" or "L1-dcache-load-misses / units". `units` is the number of units of
 * work given to culprit_metric_value(). A name that holds operators is put between single quotes
 * where it is ambiguous; otherwise the longest name that fits is meant.
 */
struct culprit_metric;
/* 0 and *metric, which the caller frees before the counters are closed; -EINVAL with the position
   of the mistake; -ENOENT for a name that the counters do not have; -ENOMEM. */
CULPRIT_API int culprit_metric_open(const struct culprit_counters *counters, const char *expression,
				    struct culprit_metric **metric, struct culprit_error *error);
CULPRIT_API void culprit_metric_close(struct culprit_metric *metric);
/*
 * Computes the metric from culprit_counters_values(). The interval follows from those of the events
 * by first-order error propagation, the events' errors taken as independent. flags: all of those of
 * the events. *result has no count and no times; it is absent when
 * an event is, or when something is divided by 0.
 */
CULPRIT_API void culprit_metric_value(struct culprit_metric *metric,
				      const struct culprit_value *values, double units,
				      struct culprit_value *result);

#ifdef __cplusplus
}
#endif
#endif
