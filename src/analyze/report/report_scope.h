/*
 * report_scope - what stands around a table of figures: whose machine and time it is
 * about, and the bill, which says what happened to the samples that are in no
 * row and what collecting cost. Numbers that the profile does not have are
 * absent (scope_number.known false), never 0.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/figures/event_column.h"
#include "base/arena.h"
#include "base/span.h"
#include "profile/profile.h"

struct error;
struct places;

struct scope_number {
	bool known;
	uint64_t value;
};

/* What a sample was lost by, or unknown by. */
struct scope_cause {
	struct span name; /* "ring", "no_mapping" */
	uint64_t samples;
};
/* For qsort(): most samples first, then by name. */
int scope_compare_causes(const void *left, const void *right);

/* Linux's default kernel.perf_event_max_stack; deeper stacks lose their outermost frames. */
#define SCOPE_KERNEL_MAX_STACK 127

#define SCOPE_CAUSES 16 /* kinds of loss or of unknown, each; more are summed up in the last */

/* What came of interpreting samples of user code: interpreted + thinned + unfit + lost = all. */
struct scope_interpreted {
	struct scope_number interpreted, thinned, unfit, lost;
	struct scope_number silent;	       /* of the interpreted: no branch became known */
	struct scope_number outcomes;	       /* branches that became known */
	struct scope_cause ends[SCOPE_CAUSES]; /* why the interpreted ones ended */
	size_t end_count;
};

/* Stretches of single steps, and why they ended, those without a step too. */
struct scope_bursts {
	struct scope_number bursts, steps, ns;
	struct scope_cause ends[SCOPE_CAUSES];
	size_t end_count;
};

/* Samples that came one by one beside those that were counted in the kernel. */
struct scope_apart {
	struct scope_number runs, stored, filtered, lost_ring, lost_damaged, throttled;
};

/* The bill of one column. */
struct scope_bill {
	struct scope_number runs, stored, filtered, stepped, lost_events, throttled, period_changes,
		count;
	struct scope_number count_variance; /* of `count`, in millions of its squares */
	struct scope_number reads; /* samples of its group's leader that read it */
	struct scope_number enabled_ns, running_ns, shortfall_ns, surplus_ns, stacks_cut;
	struct scope_number stacks_followed; /* imported, by frame pointers */
	/* Of shortfall_ns, estimated: a clock's own interrupts while CPUs were idle. */
	struct scope_number idle_interrupts, idle_ns, idle_low_ns, idle_high_ns;
	struct scope_cause lost[SCOPE_CAUSES], unknown[SCOPE_CAUSES];
	size_t lost_count, unknown_count;
	struct scope_interpreted interpreted;
	struct scope_apart apart;
};

/* Half the interval of 95 % of bill->count, where its event took turns; NAN: not known. */
double scope_count_half_width(const struct scope_bill *bill);

/* How well samples became names; of the samples in `whole` columns that have samples. */
struct scope_resolution {
	uint64_t samples;	     /* all */
	uint64_t with_image;	     /* of all */
	uint64_t user_symbol_images; /* user code in images with a symbol table, not only exports */
	uint64_t user_named;	     /* of those */
	uint64_t in_extent;	     /* of with_image */
	uint64_t with_symbol; /* of all: a symbol, or an imported name, names the procedure */
	uint64_t start_only;  /* of all: only where the procedure starts and ends is known */
};

/* What programs in the kernel took, of one sample in BILL_TIMED_ONE_IN (profile/bill.h): of samples
 * whose place had an entry in the table, of those that got one, of stacks that were walked. */
struct scope_timed {
	struct scope_number hits, hit_ns, misses, miss_ns, stacks, stack_ns;
};
/* Mean time of a sample that was counted, and of a stack that was walked; NAN: none was timed. */
double scope_timed_sample_ns(const struct scope_timed *timed);
double scope_timed_stack_ns(const struct scope_timed *timed);
/* All samples and stacks together, the others as long as the timed ones; NAN: none was timed. */
double scope_timed_all_ns(const struct scope_timed *timed);

/* Samples that came late, by procedure. */
struct scope_late {
	uint32_t procedure;
	uint64_t samples;
};
#define SCOPE_LATE 8

/*
 * Stacks that were followed by frame pointers and lack their outer frames, since
 * some code on the way keeps none (analyze/report/broken_stacks.h).
 */
#define SCOPE_BROKEN_IMAGES 6
struct scope_broken_stacks {
	uint64_t user_samples;	 /* with user code in their stack */
	uint64_t broken_samples; /* of user_samples */
	uint64_t walked_samples; /* of broken_samples: the recorder said why the rest is missing, */
	uint64_t beyond_copy_samples; /* and for these that is because too little was copied */
	uint64_t unjudged_samples;    /* of user_samples: their outermost function has no name */
	struct scope_cause images[SCOPE_BROKEN_IMAGES]; /* of the last frame that is known, most
							   samples first */
	size_t image_count;
};

struct scope {
	struct span *hosts; /* distinct, sorted */
	size_t host_count;
	size_t epochs;
	struct profile_source first; /* the earliest source; zeroed without any */
	bool has_source;
	uint64_t start_ns, end_ns; /* since 1970; 0: not known of every source */
	uint64_t duration_ns;	   /* sum of the epochs'; 0 when it passes 64 bits */
	bool duration_passed;	   /* it does */
	bool sums_passed;	   /* it does, or a number below, which is not known then */
	uint64_t cpus;		   /* of the largest host */
	bool one_machine;	   /* `first` describes all sources */
	bool one_command;
	struct scope_number busy_ns, online_ns, steal_ns;
	struct scope_number offline_ns; /* of watched CPUs, of which nothing is known then */
	struct scope_number unsampled_ns; /* before epochs of a daemon that was killed; estimated */
	struct scope_number command_elapsed_ns, command_user_ns, command_system_ns;
	struct scope_number sampled_user_ns, sampled_system_ns; /* of what was sampled, when not of
								   the machine */
	struct scope_number interpret_ns;			/* of self_cpu_ns */
	struct scope_bursts bursts;
	struct scope_number interrupt_ns, slowed_ns; /* estimated; to keep the budget */
	struct scope_timed timed;
	struct scope_number self_cpu_ns, self_bytes, ring_bytes, table_entries, lost_sideband,
		cut_off, maps_cut, trace_cut, trace_left_out,
		raw_left_out; /* bytes of recordings that were imported */
	/* What gathering left out: counts by what and why (profile/bill.h), and files. */
	struct scope_cause left_out[SCOPE_CAUSES], left_out_files[SCOPE_CAUSES];
	size_t left_out_count, left_out_file_count;
	struct scope_bill *bills; /* by column */
	struct scope_resolution resolution;
	struct scope_late late[SCOPE_LATE]; /* most samples first */
	size_t late_count;
	uint64_t late_samples, late_of; /* of the samples of events that can come late */
	uint64_t stack_depth;		/* of the deepest stack; 0 without stacks */
	struct scope_number cut_stacks; /* samples whose stack was cut by the depth limit */
	bool cut_is_guess;	/* not counted when recording: too many stacks end at one depth */
	uint64_t stack_samples; /* samples with a stack */
	uint64_t apart_samples; /* of these: such as are no samples of any other table */
	struct scope_broken_stacks broken_stacks;
};

/* Fills everything but resolution, late and stacks, which chosen_samples.h fills. Returns 0, or
 * -ENOMEM with *err and nothing to release. Texts borrow from the profile. */
int scope_init(struct scope *scope, const struct profile *profile,
	       const struct event_columns *columns, struct error *err);
void scope_release(struct scope *scope);

/*
 * How many CPUs were busy on average; of several hosts, of one. Busy time comes in the
 * kernel's ticks and the length by the clock, so it may be a little more than all CPUs have: then
 * all were busy. Negative when either is not known, or when they contradict each other.
 */
double scope_mean_busy_cpus(const struct scope *scope);
/* How much of the CPUs' time was busy, 0 to 1; negative likewise. */
double scope_busy_ratio(const struct scope *scope);
/* Samples that were lost: the sum over the causes where the bill has any, else the overflows that
 * nothing accounts for; absent where neither is known. */
struct scope_number scope_lost(const struct scope_bill *bill);
/* What the timers of all clocks took while CPUs were idle, estimated. */
struct scope_number scope_idle_ns(const struct scope *scope, size_t columns);
/* Samples stored without an image, from the bill or, where it has none, counted in the cells. */
struct scope_number scope_unknown(const struct scope_bill *bill);
/* Adds samples to a cause of unknown ones. */
void scope_add_unknown(struct scope_bill *bill, struct span cause, uint64_t samples);
/* Sorts the causes in the bill by scope_compare_causes(). */
void scope_sort_causes(struct scope_bill *bill);
