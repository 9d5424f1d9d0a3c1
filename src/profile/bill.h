/*
 * bill - the items of the table "bill": what became of the samples that are not in
 * the cells, and what collecting cost. All are sums. Samples of an event:
 * `runs` = stored + lost_* + filtered + stepped. An item that is missing is
 * unknown, not 0.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "image/unknown.h"

struct profile;

/* per event and CPU, in samples */
#define BILL_RUNS     "runs"	 /* overflows, lost ones included as far as they are known */
#define BILL_STORED   "stored"	 /* samples in the cells */
#define BILL_FILTERED "filtered" /* of processes outside the asked ones */
#define BILL_STEPPED  "stepped"	 /* set aside: of threads while they were stepped */
#define BILL_LOST_RING                                                                             \
	"lost_ring" /* no room in the perf ring (PERF_FORMAT_LOST, else LOST records) */
#define BILL_LOST_TABLE "lost_table" /* no room in a table of the kernel */
/* overflows that the kernel did not hand on, by what the event counted: of events other than clocks
   that are counted in a table of the kernel */
#define BILL_LOST_SKIPPED  "lost_skipped"
#define BILL_LOST_DAMAGED  "lost_damaged"  /* records that could not be decoded */
#define BILL_LOST_ESTIMATE "lost_estimate" /* events that the lost samples stood for */
#define BILL_STACKS_CUT	   "stacks_cut"	   /* stored with a stack that the depth limit cut off */
/* Frames of stacks walked by unwind rules: a frame pointer led to them where no rule was; of a
 * recording */
#define BILL_FRAMES_GUESSED "frames_guessed"
/* Stacks walked in a copy of their memory, not by the kernel; likewise */
#define BILL_STACKS_COPIED  "stacks_copied"
#define BILL_RULES_REFUSED  "rules_refused" /* files whose unwind rules found no room; likewise */
#define BILL_STACKS_FOLLOWED                                                                       \
	"stacks_followed" /* imported: stored with a stack that frame pointers gave */
#define BILL_LOST_HARDWARE "lost_hardware" /* no room in the buffer that the CPU fills itself */
/* of an event whose samples are counted in the kernel: those that come apart, one by one, with
   stacks or to be interpreted; they are in none of the sums above */
#define BILL_APART_RUNS		"apart_runs"
#define BILL_APART_STORED	"apart_stored"
#define BILL_APART_FILTERED	"apart_filtered"
#define BILL_APART_LOST_RING	"apart_lost_ring"
#define BILL_APART_LOST_DAMAGED "apart_lost_damaged"
#define BILL_APART_THROTTLED	"apart_throttled"
#define BILL_READS	   "reads" /* samples of a group's leader that read this event's advance */
/* prefix of samples that are stored with an unknown image: the cause follows, as
 * "unknown_no_mapping" */
#define BILL_UNKNOWN_PREFIX "unknown_"
/* per event, in samples of user code whose registers were taken: interpreted + thinned + unfit +
 * lost of them */
#define BILL_INTERPRETED	"interpreted"	     /* forward, to learn where branches went */
#define BILL_INTERPRET_THINNED	"interpret_thinned"  /* left out, so as to keep the budget */
#define BILL_INTERPRET_UNFIT	"interpret_unfit"    /* no registers, 32-bit, code of no file */
#define BILL_INTERPRET_LOST	"interpret_lost"     /* the interpreter failed */
#define BILL_INTERPRET_SILENT	"interpret_silent"   /* interpreted, and no branch became known */
#define BILL_INTERPRET_OUTCOMES "interpret_outcomes" /* branches that became known, in all */
/* prefix of how many paths ended for a reason, which follows (isa/interpret.h), as
 * "interpret_end_limit" */
#define BILL_INTERPRET_END_PREFIX "interpret_end_"
/* per event and CPU, in ns */
#define BILL_ENABLED_NS	    "enabled_ns"
#define BILL_RUNNING_NS	    "running_ns"
#define BILL_THROTTLED	    "throttled" /* times the kernel stopped the event for its rate */
#define BILL_PERIOD_CHANGES "period_changes"
#define BILL_COUNT	    "count" /* what the event itself counted, scaled by enabled/running */
/* of `count`, where the event took turns with others: variance for the time when it was not
   counted, in millions of squares of what it counts, rounded up; 1.96 standard errors are half its
   interval of 95 % (collect/turn_time.h) */
#define BILL_COUNT_VARIANCE "count_variance"
#define BILL_SHORTFALL_NS   "shortfall_ns" /* clock events: busy time that no sample stood for */
#define BILL_SURPLUS_NS	    "surplus_ns" /* clock events: samples stood for more than the busy time */
/* clock events: of the shortfall, what their own timer's interrupts took while the CPU was idle,
   estimated from how many came and what one costs; and its interval */
#define BILL_IDLE_INTERRUPTS "idle_interrupts"
#define BILL_IDLE_NS	     "idle_interrupt_ns"
#define BILL_IDLE_LOW_NS     "idle_interrupt_low_ns"
#define BILL_IDLE_HIGH_NS    "idle_interrupt_high_ns"
/* per CPU, event 0 */
#define BILL_ONLINE_NS "online_ns"
#define BILL_BUSY_NS   "busy_ns" /* wall - idle - iowait */
#define BILL_STEAL_NS  "steal_ns"
/* time when it was offline and nothing was counted on it; not part of the three above. There only
   when it is not 0 */
#define BILL_OFFLINE_NS "offline_ns"
/* of the whole recording: event 0, no cpu */
#define BILL_COMMAND_ELAPSED_NS "command_elapsed_ns" /* of the command that was recorded */
#define BILL_COMMAND_USER_NS	"command_user_ns" /* CPU time of it and its children, as wait4(2) */
#define BILL_COMMAND_SYSTEM_NS	"command_system_ns"
#define BILL_SAMPLED_USER_NS	"sampled_user_ns" /* CPU time of the processes that were sampled */
#define BILL_SAMPLED_SYSTEM_NS	"sampled_system_ns"
#define BILL_SELF_CPU_NS	"self_cpu_ns" /* CPU time of the collector itself and its helpers */
#define BILL_INTERRUPT_NS	"interrupt_ns" /* that its interrupts took, estimated */
/* of samples that a program handled in the kernel one in 64 is timed there (bpf/program_time.h):
   how many were, and what they took, by what the program did: it found the place's entry in the
   table, or had to make one; it walked a stack. The interrupt itself is not in it */
#define BILL_TIMED_HITS		"timed_hits"
#define BILL_TIMED_HIT_NS	"timed_hit_ns"
#define BILL_TIMED_MISSES	"timed_misses"
#define BILL_TIMED_MISS_NS	"timed_miss_ns"
#define BILL_TIMED_STACKS	"timed_stacks"
#define BILL_TIMED_STACK_NS	"timed_stack_ns"
#define BILL_TIMED_ONE_IN	64
#define BILL_SLOWED_NS		"slowed_ns" /* time of samples that were left out to keep the budget */
#define BILL_SELF_BYTES		"self_bytes"   /* bytes of rings, tables and copies of files */
#define BILL_RING_BYTES		"ring_bytes"   /* bytes that came through the rings */
#define BILL_TABLE_ENTRIES	"table_entries" /* taken out of the kernel's table of samples */
#define BILL_INTERPRET_NS	"interpret_ns" /* part of self_cpu_ns: interpreting samples */
#define BILL_BURSTS		"bursts" /* stretches of single steps, of one instruction or more */
#define BILL_STEPS		"steps"	 /* instructions in them */
#define BILL_BURST_NS		"burst_ns" /* by which stepping delayed threads */
/* prefix of how many bursts ended for a reason, which follows (collect/step.h), as
 * "burst_end_done" */
#define BILL_BURST_END_PREFIX "burst_end_"
#define BILL_LOST_SIDEBAND    "lost_sideband" /* lost records about processes and mappings */
#define BILL_CUT_OFF	      "cut_off"	      /* recordings whose writer died */
/* Time before the epoch that no epoch has, since a daemon was killed or could not sample; estimated
   (daemon/unsampled.h) */
#define BILL_UNSAMPLED_NS     "unsampled_ns"
#define BILL_MAPS_CUT	      "maps_cut" /* processes with more mappings than there was time to read */
#define BILL_TRACE_CUT	      "trace_cut" /* pieces of a hardware trace that came out shorter */
#define BILL_TRACE_LEFT_OUT   "trace_left_out" /* bytes of a hardware trace, which nobody decoded */
#define BILL_RAW_LEFT_OUT     "raw_left_out"   /* bytes of samples' raw data: IBS, tracepoints */

/*
 * Prefix of what was not gathered. What and why follow, as "left_out_lines_time": how many files
 * lack names, code, flow or lines, and what comes after that in this order; why is time, memory,
 * asked, failed, unanswered, busy or size. Or what exceeded the share of its user follows, as
 * "left_out_mappings". The second prefix is followed by the path of such a file; only the first
 * ones are there.
 */
#define BILL_LEFT_OUT_PREFIX	  "left_out_"
#define BILL_LEFT_OUT_FILE_PREFIX "left_out_file_"

/* Adds up an item over all events and CPUs. False: the bill does not have it. */
bool bill_sum(const struct profile *profile, const char *item, uint64_t *sum);

/* Adds the items BILL_UNKNOWN_PREFIX of one event, by enum unknown_cause; the CPU is an
 * optional_of(). 0 or -ENOMEM. */
int bill_add_unknown(struct profile *profile, uint32_t event, uint64_t optional_cpu,
		     const uint64_t samples[UNKNOWN_CAUSES]);
