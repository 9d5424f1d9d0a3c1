/*
 * cycles_rank - what to look at first in a procedure: its loops and blocks by what
 * they cost, and how much of it is how sure.
 *
 * Lists borrow nothing. Ranking is O(n log n) and not recursive.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/cycles/cycles.h"

/* A loop, or a block. */
struct ranked_part {
	bool is_loop;
	uint32_t number; /* of the loop or block */
	uint32_t depth;	 /* shown loops around it */
};

/*
 * The loop as which a loop is shown: itself, but an irreducible loop right inside another
 * irreducible one is shown as part of that, as how these nest depends on the order of search
 * (flow_loops.h). A computed goto makes hundreds of them.
 */
uint32_t cycles_shown_loop(const struct flow_loops *loops, uint32_t loop);

/*
 * All blocks and shown loops, the dearest first: blocks outside of loops among the outermost loops,
 * and behind each loop the parts inside it, likewise. The dearest has most cycles, or where these
 * are not known most instructions executed; among equals the lower address is first. 0 and a list
 * to free, or -ENOMEM.
 */
int cycles_rank(const struct procedure_cycles *procedure, struct ranked_part **parts,
		size_t *count);

/* What a cost weighs when parts are compared: cycles, or instructions executed where no event
 * tells cycles; 0 when it is not known. */
double cycles_weight(const struct cycles_cost *cost);

/* Percent of the procedure's weight in blocks of that confidence in their executions; the rest is
 * in blocks of unknown executions. */
struct cycles_surety {
	double high, medium, low;
};
struct cycles_surety cycles_surety(const struct procedure_cycles *procedure);
