/*
 * counters - the perf events of one recording: one per event, CPU and (where
 * tasks are followed by inheritance) task, all writing into two rings a CPU,
 * one for samples and one, the side-band, for records about processes and mappings.
 *
 * A lane is one event on one CPU, whatever the number of descriptors: what the
 * kernel counts, loses and throttles there.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <linux/perf_event.h>

#include "base/number_map.h"
#include "collect/options.h"
#include "collect/period.h"
#include "collect/ring.h"
#include "collect/ring_watch.h"
#include "collect/task_open.h"
#include "collect/turn_time.h"
#include "image/unknown.h"
#include "machine/cpu_set.h"
#include "machine/perf_record.h"
#include "machine/probe.h"
#include "profile/profile.h"
#include "profile/weight.h"

struct error;
struct event;
struct sample_table;

#define SAMPLER_NAME_SIZE 256

/* One event that was asked for. */
struct sampler {
	const struct event *event; /* borrowed */
	struct perf_event_attr attr;
	struct perf_layout layout;
	char name[SAMPLER_NAME_SIZE];
	size_t leader;	   /* its own index when it leads or stands alone */
	size_t sampled_by; /* whose samples read it; its own index when it is sampled */
	size_t group_size; /* of the group that it leads, or that its samples read; else 1 */
	bool clock;
	bool sampled; /* false: read by the samples of another event of its group */
	/* It samples the event of the sampler `beside` once more, through rings and at a rate of
	   its own, for what a table in the kernel has no room for: stacks, registers. The samples
	   of `beside` are counted in that table. */
	bool apart;
	size_t beside;
	bool stacks; /* its samples come with their callers */
	bool edges; /* its samples carry registers and stack, to be interpreted (collect/edges.h) */
	bool memory; /* and come with the memory that their registers point to */
	bool walked; /* its samples come with the user's stack, walked in the kernel */
	bool throttles_silently; /* nobody hears when the kernel stops it for its rate */
	enum period_policy policy;
	uint64_t mean_period; /* of clocks in ns */
	double frequency_hz;  /* 0: the period was given */
	/* Of inherited events, and of those that take turns: enabled / running time of all tasks, 1
	   when it always counted. One descriptor does not tell: its "enabled" goes on while the
	   task runs on another CPU. */
	double multiplexed;
	uint64_t task_enabled_ns, task_running_ns; /* private, of one reading */
	/* Which of how many sets of its PMU's events it is in, that take turns; 0 sets: it counts
	   all the time (collect/turns.h). */
	size_t turn_set, turn_sets;
	bool resting; /* it is another set's turn */
	uint64_t turn_began_ns;
	double turns_ns, turns_ran_ns; /* of all CPUs so far; then `multiplexed` is their ratio */
	uint32_t id;				   /* in the session's profile */
};

struct counters_options;
/* Adds to an event's attributes what its samples bring along of the user's registers and stack. */
void counters_ask_for_user(const struct counters_options *options, const struct sampler *sampler,
			   struct perf_event_attr *attr);
/* The same of the calls that the CPU keeps. */
void counters_ask_for_branches(struct perf_event_attr *attr);

/* One descriptor. */
struct counter {
	int fd;
	uint32_t sampler, slot; /* slot: position of its CPU */
	pid_t task;		/* -1: whoever runs there */
	uint64_t id;
	uint64_t value, enabled, running, lost; /* as last read */
	uint64_t began_ns;			/* when it was enabled; 0: it was not, by us */
	bool gone;				/* its CPU or task went away: not read any more */
	/* Its enabled time has not advanced, in a turn of its where it takes turns: its CPU was
	   away, however briefly. */
	bool stood_still;
};

/* What goes into the bill, since the last one. */
struct lane_sums {
	uint64_t stored, filtered, stepped, lost_ring, lost_table, lost_skipped, lost_damaged,
		lost_estimate, throttled, period_changes, stacks_cut;
	uint64_t unknown[UNKNOWN_CAUSES];
	uint64_t enabled_ns, running_ns;
	double count;
};

/* Samples that were taken and are in no cell. */
static inline uint64_t lane_lost(const struct lane_sums *sums)
{
	return sums->lost_ring + sums->lost_table + sums->lost_skipped + sums->lost_damaged;
}

/* Overflows that are known of. */
static inline uint64_t lane_runs(const struct lane_sums *sums)
{
	return sums->stored + sums->filtered + sums->stepped + lane_lost(sums);
}

struct calm_time {
	double ns, interrupts;
};

struct lane {
	struct weight weight;
	struct period_log periods;
	struct lane_sums sums;
	double weighed_ns;	/* clock events: all weights since the clocks were last closed */
	double interrupts;	/* clock events: of the timer, as of that time */
	double advanced;	/* since the last settling, scaled */
	/* Counted in the kernel (count_intake.c): what the event has counted since the last half
	   was added, unscaled; how much of a period had begun then; overflows that were due and are
	   not known of; and how sure that is. */
	uint64_t unadded;
	double begun, due, due_variance;
	double unscaled;	/* private, of one reading */
	uint64_t running_ns;	/* likewise */
	uint64_t lost_settled;	/* of sums.lost_*: what `weight` has been given */
	uint64_t lost_epoch;	/* grows with each loss that shows in the order of samples */
	uint64_t lost_in_read;	/* last PERF_FORMAT_LOST value seen within a sample */
	uint64_t runs_billed;	/* of sums.*, in bills so far */
	/* Clock events: the CPU idles, and periods are CALM_PERIODS times as long; so they are
	 * drawn. */
	bool calm, drawn_calm;
	/* How long they were, and the interrupts of that time, as lane_calm() has it: less what had
	   passed when the present such time began. And as of when the clocks were last closed. */
	struct calm_time calm_before, calm_closed;
	double rate_per_second; /* of the count while it ran, at the last reading */
	struct turn_time turn;	/* of a sampler that takes turns */
	bool round_over;	/* likewise: `advanced` has what the pending samples stand for */
};

/* A CPU that was taken offline takes its events with it, for good. */
struct cpu_absence {
	bool away;
	bool billed;	   /* its first part, up to since_ns */
	uint64_t since_ns; /* by CLOCK_MONOTONIC: nothing was counted, or billed, from then on */
};

struct counters_options {
	const struct perf_features *features; /* borrowed, outlives us */
	const struct cpu_set *cpus;	      /* to open on; borrowed by counters_init() only */
	size_t sample_pages, sideband_pages;
	bool inherit; /* tasks are followed by the kernel; else CPUs are watched */
	bool enable_on_exec;
	enum collect_stacks stacks;
	uint32_t stack_bytes;	 /* that samples have of the user's stack, for COLLECT_STACKS_RULES */
	uint64_t user_registers; /* likewise, perf's mask; 0: none */
	unsigned call_depth;	 /* so many calls the CPU keeps, for COLLECT_STACKS_BRANCHES; 0: not
				    known */
	uint64_t edge_registers; /* likewise, for samplers with `edges`: those, and more */
	/* For samplers with `memory` or `walked`; borrowed, they outlive us; NULL: there are none. */
	const struct sample_extra *memory, *walker;
	/* Counts all samples, but for those of samplers `apart`; borrowed, outlives us; NULL: rings
	 */
	struct sample_table *table;
	const struct helper_watch *watch; /* may end the wait for a task; borrowed; or NULL */
	bool user_sideband; /* no right to kernel events: the side-band has exclude_kernel */
};

struct counters {
	struct counters_options options;
	struct sampler *samplers;
	size_t sampler_count;
	int *cpus;
	size_t cpu_count;
	struct cpu_absence *absences; /* by slot */
	struct task_patience patience;
	pid_t watched; /* of the last counters_open(): the task, or -1, and its flags */
	unsigned long watched_flags;
	struct lane *lanes; /* [sampler * cpu_count + slot] */
	struct counter *list;
	size_t count, capacity;
	struct number_map by_id; /* position in `list` plus one */
	struct ring *rings;	 /* samples of slot i at 2i, side-band at 2i + 1 */
	int *sideband_fds;
	size_t sideband_count, sideband_capacity; /* where CPUs are watched: by slot */
	uint64_t sideband_lost;			  /* by those that were replaced */
	struct perf_layout sideband_layout;
	int *links; /* of events to the table that counts their samples */
	size_t link_count, link_capacity;
	int *output_fds; /* by slot, of the event whose records are attached to samples; -1: none */
	struct perf_layout output_layout;
	/* A negative errno: why some samples come without memory, or without the user's stack; or 0. */
	int memory_refusal, walker_refusal;
	struct ring_watch watch; /* ready: a ring of samples is half full */
	struct ring_watch sideband_watch; /* ready: a record about processes has come */
	double period_scale;		  /* of mean periods, as the budget demands; 0 is 1 */
	bool reads_lost;		  /* the kernel has PERF_FORMAT_LOST */
	bool kernel_dropped; /* some event samples user code only, for want of rights */
};

/* Whether the sampler's samples are counted in the kernel instead of coming through rings. */
static inline bool counters_in_table(const struct counters *counters, const struct sampler *sampler)
{
	return counters->options.table && !sampler->apart;
}

static inline struct lane *counters_lane(const struct counters *counters, size_t sampler,
					 size_t slot)
{
	return &counters->lanes[sampler * counters->cpu_count + slot];
}

static inline struct ring *counters_ring(const struct counters *counters, size_t slot,
					 bool sideband)
{
	return &counters->rings[2 * slot + sideband];
}

/* Takes over `samplers` (malloc'ed), whatever it returns; counters_release() is due either way. 0,
 * or a negative errno with *err. */
int counters_init(struct counters *counters, struct sampler *samplers, size_t sampler_count,
		  const struct counters_options *options, struct error *err);
/* After counters_init(), or with RING_WATCH_NONE as both watches. */
void counters_release(struct counters *counters);

/*
 * Opens all events on all CPUs, for one task; or, with `task` -1, for every process; or for a
 * control group, with its descriptor as `task` and PERF_FLAG_PID_CGROUP in `flags`. The side-band
 * counts at once, the rest after counters_enable(). 0; -ESRCH without *err: the task is gone; or
 * another negative errno with *err.
 */
int counters_open(struct counters *counters, pid_t task, unsigned long flags, struct error *err);
/* Starts all counters, but with enable_on_exec leaves that to the exec. 0, or a negative errno with
 * *err. */
int counters_enable(struct counters *counters, struct error *err);
/* Stops all counters; the side-band goes on. */
void counters_disable(struct counters *counters);

/*
 * To be called when a CPU is offline, or was: reads its counters a last time, and not again. Does
 * nothing where events belong to tasks, and go with them.
 */
void counters_lose_cpu(struct counters *counters, size_t slot, uint64_t now_ns);
/* To be called when it is back: opens and starts its events anew, for the same rings and lanes, and
 * stores from when to when nothing was counted that is not billed yet. 0; -ENODEV: it has left
 * again; or another negative errno with *err. */
int counters_return_cpu(struct counters *counters, size_t slot, uint64_t *from_ns, uint64_t *to_ns,
			struct error *err);

/* How many records of a side-band event the kernel could not write, by PERF_FORMAT_LOST. */
uint64_t counters_lost_of(int fd);

/* Reads the counters (COUNTERS_COUNTED: but for those of sampled clocks and their groups) and adds
 * what advanced to their lanes. 0, or -EIO: what was read makes no sense. */
enum counters_which { COUNTERS_COUNTED, COUNTERS_ALL };
int counters_read(struct counters *counters, enum counters_which which);

#define CALM_PERIODS 8
/* Clock events: how long periods have been longer as the CPU idled, and the interrupts of that
 * time. */
struct calm_time lane_calm(const struct lane *lane, uint64_t now_ns);
/*
 * Notes a new period of a clock, drawn for what `calm` says. When the CPU wakes up the first tick
 * pays for half of the new period, not of the old one: work that begins between long ticks, at any
 * moment, loses nothing when they are cut off; it loses half a short one when it ends
 * (docs/methods.md, "The budget").
 */
void lane_note_period(struct lane *lane, uint64_t now_ns, uint64_t period);

/* Draws new random periods where one is due, and adapts the mean of those with a frequency to the
 * rate that was counted. */
void counters_redraw(struct counters *counters, struct random_state *random);

/* The counter that the kernel knows by that identifier; NULL: none. */
static inline struct counter *counters_by_id(const struct counters *counters, uint64_t id)
{
	uintptr_t position = (uintptr_t)number_map_find(&counters->by_id, id);
	return position ? &counters->list[position - 1] : NULL;
}
