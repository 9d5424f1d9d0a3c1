/*
 * ledger - writes the bill (profile/bill.h) of what came since the last one: for each
 * event and CPU what was seen, lost and unknown, for each CPU how busy it was, and
 * what collecting cost. At the end of an epoch the clocks are closed: what their
 * samples stood for is compared with the time that the CPUs were busy.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "bpf/sample_table.h"
#include "collect/cpu_time.h"
#include "collect/idle_cost.h"

struct session;
struct tally_translation;

struct ledger {
	struct cpu_time *started; /* by CPU slot, at the last closing of the clocks */
	struct cpu_time *before;  /* at the last bill */
	struct cpu_time *now;	  /* as last read */
	uint64_t *offline_ns;	  /* by CPU slot, since the last bill */
	uint64_t *away_ns;	  /* by CPU slot, in its present absence; 0: it is online */
	bool stopped;		  /* `now` is when sampling ended */
	uint64_t own_cpu_ns, edge_ns, ring_bytes, lost_sideband, damaged; /* billed so far */
	uint64_t frames_guessed, stacks_copied, rules_refused, table_entries,
		slowed_ns;						  /* likewise */
	double interrupts;						  /* likewise */
	struct sample_table_times timed;				  /* likewise */
	struct program_time timed_walks;				  /* likewise */
	uint64_t self_bytes;   /* likewise: the most memory of rings, tables and copied files */
	uint64_t stopped_ns;   /* when sampling ended */
	struct idle_cost cost; /* of a clock's interrupt on an idle CPU */
	bool cost_known;
	bool idle_known; /* what interrupts of idle CPUs cost, at this closing of the clocks */
};

/* To be called before sampling starts. With `whole_cpus` it measures for a quarter of a second what
 * a clock's interrupts cost (collect/idle_cost.h). 0 or -ENOMEM; release it either way. */
int ledger_init(struct ledger *ledger, const struct session *session, bool whole_cpus);
/* To be called when sampling starts: what the CPUs have done until now is not part of the bill. */
void ledger_begin(struct ledger *ledger, const struct session *session);
/* Nothing is known of a CPU for a time of `gap_ns`, which counts as neither busy nor online. */
void ledger_leave_out(struct ledger *ledger, size_t slot, uint64_t gap_ns);
/* A CPU that was left out is back; `now` is its first reading, which may be unknown. Where the
 * kernel may have accounted the absence as idle time (cpu_time_idle_offline()), how busy the CPU
 * was is unknown until the next bill. */
void ledger_return(struct ledger *ledger, size_t slot, const struct cpu_time *now);
/* To be called when sampling ends: reads how busy the CPUs were until then. */
void ledger_stop(struct ledger *ledger, const struct session *session);
void ledger_release(struct ledger *ledger); /* also right for a zeroed one */
/*
 * Writes the bill into translation->to and begins a new one. `close_clocks`: an epoch ends, and the
 * clocks are closed, which only means something when everything on the CPUs was sampled
 * (`whole_cpus`). 0 or -ENOMEM.
 */
int ledger_write(struct ledger *ledger, struct session *session, bool close_clocks, bool whole_cpus,
		 struct tally_translation *translation);
