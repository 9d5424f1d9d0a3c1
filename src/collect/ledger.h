/*
 * ledger - writes the bill of what came since the last one: for each event and
 * CPU what was seen, lost and unknown, for each CPU how busy it was, and what
 * collecting cost.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "collect/cpu_time.h"
#include "collect/idle_cost.h"

struct session;
struct tally_translation;

struct ledger {
	struct cpu_time *started; /* by CPU slot, since the last closing of the clocks */
	struct cpu_time *before;  /* since the last bill */
	struct cpu_time *now;	  /* as last read */
	uint64_t *offline_ns;	  /* by CPU slot, since the last bill */
	uint64_t *away_ns;	  /* by CPU slot, since it went offline; 0: it is online */
	bool stopped;		  /* `now` is when sampling ended */
	uint64_t own_cpu_ns, edge_ns, ring_bytes, lost_sideband, damaged; /* billed so far */
	uint64_t self_bytes;   /* billed so far: it only grows */
	uint64_t stopped_ns;   /* `now` is of that time */
	struct idle_cost cost; /* of a clock's interrupt while idle */
	bool cost_known;
	bool idle_known; /* private: of this closing of the clocks */
};

/* When sampling starts. With `whole_cpus` it first measures, for a quarter of a second, what a
 * clock's interrupts cost. */
int ledger_init(struct ledger *ledger, const struct session *session, bool whole_cpus);
/* Nothing is known of a CPU for so long: it counts as neither busy nor online then. */
void ledger_leave_out(struct ledger *ledger, size_t slot, uint64_t gap_ns);
/* The CPU that was left out is back, `now` is its first reading (perhaps unknown). Where the
 * kernel's books may have counted that time as idle, how busy it was is unknown until the next
 * bill. */
void ledger_return(struct ledger *ledger, size_t slot, const struct cpu_time *now);
void ledger_stop(struct ledger *ledger, const struct session *session); /* when sampling ends */
void ledger_release(struct ledger *ledger);
/*
 * `close_clocks`: an epoch ends; compare what clock samples stood for with the time that the
 * CPUs were busy, which only means something when everything was sampled (`whole_cpus`).
 * 0 or -ENOMEM.
 */
int ledger_write(struct ledger *ledger, struct session *session, bool close_clocks, bool whole_cpus,
		 struct tally_translation *translation);
