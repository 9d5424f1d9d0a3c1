/*
 * counts - what `stat` counted: events by what was watched (a command, threads, CPUs), as values
 * that lay-outs print and docs/methods.md's figures are made of.
 *
 * All functions are pure. What was not counted is absent, never 0. Texts are borrowed.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct buffer;
struct event;
struct topdown;

/* What an event means to figures that are made of several. */
enum counts_meaning {
	COUNTS_OTHER,
	COUNTS_CLOCK, /* task-clock, cpu-clock: ns */
	COUNTS_CYCLES,
	COUNTS_INSTRUCTIONS,
	COUNTS_BRANCHES,
	COUNTS_BRANCH_MISSES,
	COUNTS_CACHE_REFERENCES,
	COUNTS_CACHE_MISSES,
	COUNTS_STALLED_FRONTEND,
	COUNTS_STALLED_BACKEND,
	COUNTS_L1D_LOADS,
	COUNTS_L1D_LOAD_MISSES,
	COUNTS_L1I_LOADS,
	COUNTS_L1I_LOAD_MISSES,
	COUNTS_LLC_LOADS,
	COUNTS_LLC_LOAD_MISSES,
	COUNTS_DTLB_LOADS,
	COUNTS_DTLB_LOAD_MISSES,
	COUNTS_ITLB_LOADS,
	COUNTS_ITLB_LOAD_MISSES,
	COUNTS_PAGE_FAULTS,
	COUNTS_CONTEXT_SWITCHES,
};

/* Bits of counts_event.scope: what is left out. */
#define COUNTS_WITHOUT_USER   1u
#define COUNTS_WITHOUT_KERNEL 2u
#define COUNTS_WITHOUT_OTHERS 4u /* a host, a guest or idle CPUs */

struct counts_event {
	const char *name;      /* as written */
	const char *unit;      /* "ns", "events" */
	const char *core_type; /* on machines with several core types; else NULL */
	enum counts_meaning meaning;
	unsigned scope; /* figures are made of events of one scope */
	double scale;	/* of the count in that unit */
};

struct counts_event counts_event_of(const struct event *event);
/* Appends a name that no other event of the list has: where there are several core types the one
 * that counts is in it, as perf writes it: "cpu_core/cycles/u". */
void counts_event_append_name(const struct counts_event *event, struct buffer *out);

enum counts_state {
	COUNTS_KNOWN,
	COUNTS_NOT_COUNTED,   /* what was watched did not run, or the event was never on the PMU */
	COUNTS_NOT_SUPPORTED, /* it cannot be counted here */
};

/* One event of one row. */
struct counts_value {
	enum counts_state state;
	double value;	  /* in the event's unit, of all the time; NAN where it is not known */
	double low, high; /* the 95 % interval; NAN: not known; `value` where it is exact */
	/* As counted; enabled_ns is without the time on cores of other types. */
	uint64_t count, enabled_ns, running_ns;
};

/* A count of a part of the time stands for all of it (docs/methods.md, "Counts"). */
struct counts_value counts_value_of(double scale, uint64_t count, uint64_t enabled_ns,
				    uint64_t running_ns);
struct counts_value counts_value_absent(enum counts_state state);
/* The share of the time that it was on the PMU, in percent; 100 where it never was to count. */
double counts_running_percent(const struct counts_value *value);

/* A value of a metric: an expression of events. */
struct counts_metric {
	const char *name;	/* as written: "ipc", "instructions/cycles" */
	const char *expression; /* what it stands for */
};

/* What one thread, core or CPU, or all that was watched, came to. */
struct counts_row {
	const char *label; /* "CPU1", "S0-D0-C0", "sleep-9505"; NULL: all that was watched */
	size_t cpus;	   /* of a core; else 0 */
	const struct counts_value *values;  /* one for each event */
	const struct counts_value *metrics; /* one for each metric: value, low, high */
	const struct topdown *topdown;	    /* one for each core type that slots are counted on */
};

struct counts {
	const char *subject; /* "'sleep 1'", "process id '12'", "'system wide'" */
	const struct counts_event *events;
	size_t event_count;
	const struct counts_metric *metrics;
	size_t metric_count;
	const char *const *core_types; /* of row->topdown; NULL in it: there is one type */
	size_t topdown_count;	       /* 0: slots are not counted */
	const struct counts_row *rows;
	size_t row_count;
	double elapsed_s;	 /* of the run, or of an interval */
	double begin_s;		 /* from the start of counting to the interval's begin; else 0 */
	double user_s, system_s; /* CPU time; NAN: not known */
};

enum counts_remark_kind {
	COUNTS_NO_REMARK,
	COUNTS_CPUS,	  /* CPUs utilized */
	COUNTS_GHZ,	  /* the clock while it ran */
	COUNTS_PER_CYCLE, /* instructions */
	COUNTS_SHARE,	  /* percent of another event */
	COUNTS_RATE,	  /* a second of CPU time */
};

/* The figure that perf stat puts beside an event. */
struct counts_remark {
	enum counts_remark_kind kind;
	double value;
	const char *words; /* "CPUs utilized", "of all branches"; of a rate "/sec" */
};

/* The figure of event `event` of `row`; other events are taken only where they have its scope and
 * core type. A rate takes the clock that is counted in the row. */
struct counts_remark counts_remark_of(const struct counts *counts, const struct counts_row *row,
				      size_t event);
/* The value of the first event of that meaning that counts all (scope 0 and no core type alone);
 * summed over core types; NAN: not known. */
double counts_total(const struct counts *counts, const struct counts_row *row,
		    enum counts_meaning meaning);
