/*
 * limiting_factor - what a run was limited by, as far as its counts tell. The rules, with the
 * reason of each number, are in docs/methods.md, "What limits a run". Pure.
 */
#pragma once

#include "machine/topdown.h"

/* NAN: not known. */
struct run_figures {
	double elapsed_s;
	double busy_s; /* CPU time of all threads */
	double cpus;   /* that it was allowed to use */
	double user_s, system_s;
	double cycles, instructions, branch_misses;
	double page_faults;
	double page_fault_s; /* what the cheapest kind of one costs here */
	/* Times that it gave the CPU up to wait, and that it was taken away. */
	double voluntary_switches, involuntary_switches;
	double starting_switches;      /* of the voluntary ones, at most: by who started it */
	double idle_share;	       /* of the time of the CPUs that it was allowed to use */
	double slots[TOPDOWN_LEVEL_1]; /* shares, by category; all NAN without TopDown */
};

enum limit {
	LIMIT_NOT_KNOWN,     /* no CPU time was measured */
	LIMIT_TOO_SHORT,     /* starting was most of it */
	LIMIT_WAITING,	     /* for I/O, locks, timers or other processes */
	LIMIT_CROWDED,	     /* others had the CPUs */
	LIMIT_OFF_CPU,	     /* off the CPU; why is not known */
	LIMIT_PAGE_FAULTS,   /* most of its time is the kernel's, most of that page faults */
	LIMIT_KERNEL,	     /* most of its time is the kernel's */
	LIMIT_MISPREDICTION, /* on a CPU, which works at what it throws away */
	LIMIT_SLOTS,	     /* on a CPU, where `slots_use` is the largest use of its slots */
	LIMIT_CPU,	     /* on one CPU all the time */
	LIMIT_SOME_CPUS,     /* on several, but not on all */
	LIMIT_ALL_CPUS,	     /* on all that it may use */
	LIMIT_NOTHING_CLEARLY,
};

struct limiting_factor {
	enum limit limit;
	enum topdown_category slots_use; /* of LIMIT_SLOTS */
	double slots_share;		 /* the same */
	double cpus_used, cpus;		 /* NAN: not known, as all of these */
	double instructions_per_cycle;
	double system_share;	    /* of the CPU time */
	double page_faults_per_s;   /* of CPU time */
	double page_fault_share;    /* of the kernel's time, at least */
	double misprediction_share; /* of cycles, at least */
	/* Of elapsed time: the voluntary ones, or, when there were more of them, those at which it
	   was pushed off. */
	double switches_per_s;
	bool pushed_off; /* it is the latter */
};

struct limiting_factor limiting_factor_of(const struct run_figures *figures);

/* "waiting", "page-faults": for machines to read. */
extern const char *const limit_names[];
