/*
 * culprits - why the instructions of a procedure took longer than executing them takes.
 * What a static schedule explains (slotting, operands, units) is told apart from stalls
 * that only running shows; for each of these stalls all causes are listed that are not
 * proven innocent, with the instruction that may be to blame, and how many cycles each
 * took at least and at most. After Anderson et al., "Continuous profiling: where have
 * all the cycles gone?", SOSP 1997, section 6.3; docs/methods.md, "Culprits", has the rule
 * that clears each cause and what bounds it.
 *
 * In order, an instruction's cycles are those at the head of the issue queue: it waits for
 * operands. Out of order they are those at the head of the reorder buffer: what waits
 * there is the load, the division itself. Instructions that retire together are charged
 * to one of them, so its best case includes theirs, within its block. Where figures are relative
 * (cycles.h) a cycle may be any part of what it is at most, so a stall is what an instruction is
 * charged beyond one such cycle each time that it ran: it waited that long at any scale. All else
 * counts as issuing, from which shorter waits cannot be told.
 *
 * Borrows the procedure. Nothing changes once made. An unknown figure is NaN, never 0.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/cycles/cycles.h"

struct error;
struct event_columns;

#define CULPRIT_NO_INSTRUCTION UINT32_MAX

/* What a schedule without misses explains. */
enum static_cause {
	STATIC_NONE,
	STATIC_SLOTTING, /* slots left empty: units, or the end of a group */
	STATIC_RA,	 /* a value that it works on is not ready */
	STATIC_RB,	 /* part of an address */
	STATIC_RC,	 /* flags */
	STATIC_UNIT,	 /* an earlier instruction keeps the unit busy */
	STATIC_CAUSES
};

enum dynamic_cause {
	DYNAMIC_ICACHE,
	DYNAMIC_ITLB,
	DYNAMIC_DCACHE,
	DYNAMIC_DTLB,
	DYNAMIC_WRITE_BUFFER,
	DYNAMIC_SYNCHRONISATION,
	DYNAMIC_MISPREDICT,
	DYNAMIC_MULTIPLY,
	DYNAMIC_DIVIDE,
	DYNAMIC_CHAIN, /* out of order: results that each take several cycles and need the one
			  before; in order a product of an earlier block (others are static) */
	DYNAMIC_OTHER, /* work of no fixed length: microcode, system instructions, instructions
			  that are not understood */
	DYNAMIC_CAUSES
};

/* "operand Ra", "I-cache miss": as text for people. */
const char *static_cause_text(enum static_cause cause);
const char *dynamic_cause_text(enum dynamic_cause cause);
/* "operand_ra", "icache_miss": keys of JSON. */
const char *static_cause_key(enum static_cause cause);
const char *dynamic_cause_key(enum dynamic_cause cause);
/* For the column of stalls in a listing: DCPI's p, d, D, w, i and others. */
char static_cause_letter(enum static_cause cause);
char dynamic_cause_letter(enum dynamic_cause cause);

/* A cause that may have made an instruction stall. Cycles are in the unit of the time event. */
struct culprit {
	enum dynamic_cause cause;
	/* To blame, of the cfg: the load, the branch, the division; CULPRIT_NO_INSTRUCTION: none,
	 * or in another procedure. */
	uint32_t instruction;
	/* Cycles that no other cause explains; cycles that this one can explain, at any scale. */
	double low, high;
	bool bound_by_events; /* `high` rests on samples of an event that counts it */
};

/* One instruction. issue + static + dynamic + noise is what it was charged. */
struct stall {
	double issue_cycles; /* of its issue slots */

	double static_cycles;
	enum static_cause static_cause; /* STATIC_NONE: no such stall */
	uint8_t static_register;	/* of an operand, else REGISTER_NONE */
	uint32_t static_instruction;	/* the one it waits for, or CULPRIT_NO_INSTRUCTION */

	/*
	 * What it was charged beyond these. Negative: less than the best case (an unexplained
	 * gain). 0 where chance may explain it: then it is in `noise_cycles`.
	 */
	double dynamic_cycles;
	double dynamic_low, dynamic_high; /* 95 %, by samples and executions */
	/* The stall if a cycle is as short as can be, even where none is shown (dynamic_cycles 0);
	 * upper bounds of causes are of this. Where a cycle is known, dynamic_cycles or 0. */
	double most_cycles;
	double noise_cycles;
	double unexplained_cycles; /* of the dynamic stall: more than all causes can explain */

	uint32_t culprits, culprit_count; /* first in culprits.list, and how many; the
					    highest bound first */
};

struct culprits {
	const struct procedure_cycles *procedure;
	struct stall *stalls; /* by instruction of the cfg */
	struct culprit *list;
	size_t count;
	bool known; /* false: no executions or no cycles are known, and all figures are NaN */
};

/*
 * Events that count causes of stalls, with the column of each; CYCLES_NO_COLUMN: none. Of several
 * that count one cause, the most complete.
 */
enum culprit_event {
	CULPRIT_L1I_MISSES,
	CULPRIT_FETCH_MISSES, /* of instructions, in the last cache */
	CULPRIT_ITLB_MISSES,
	CULPRIT_L1D_MISSES,
	CULPRIT_LOAD_MISSES, /* of loads, in the last cache */
	CULPRIT_STORE_L1_MISSES,
	CULPRIT_STORE_MISSES, /* of stores, in the last cache */
	CULPRIT_DTLB_MISSES,
	CULPRIT_MISPREDICTS,
	CULPRIT_INDIRECT_MISPREDICTS, /* where conditional branches have an event of their own */
	CULPRIT_EVENTS
};

struct culprit_events {
	size_t column[CULPRIT_EVENTS];
};

/* "L1-dcache-load-misses", "D1mr" and what else counts them, by name. */
struct culprit_events culprit_events_of(const struct event_columns *columns);

/*
 * Of a procedure; `columns` are those of its index, `events` columns among them (NULL: none is
 * used). Returns 0 and stores what the caller frees, or -ENOMEM with *err filled.
 */
int culprits_new(const struct procedure_cycles *procedure, const struct event_columns *columns,
		 const struct culprit_events *events, struct culprits **out, struct error *err);
void culprits_free(struct culprits *culprits);
void culprits_freep(struct culprits **culprits); /* for CLEANUP() */
