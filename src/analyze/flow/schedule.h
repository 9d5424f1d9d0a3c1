/*
 * schedule - when the instructions of one basic block issue if nothing happens that
 * only running shows: no miss, no wrong prediction. The static schedule of DCPI
 * (Anderson et al., SOSP 1997, 6.1.2 and 6.3), on the machine that a table describes
 * (pipelines/pipeline.h); docs/methods.md, "Static schedules".
 *
 * In order: an instruction issues in the first cycle, not before the one ahead of it,
 * in which its operands are there, the issue width is not used up, and a unit is free
 * for it. Units within a cycle are given out by matching, so that which came first
 * does not matter. head_cycles is DCPI's M: cycles at the head of the issue queue.
 *
 * Out of order: what waits lets others pass, and the window is larger than a block, so
 * cycles at the head mean little. Here head_cycles is 1 / width for each instruction,
 * issue_cycle is when its operands are there (at the earliest when it is dispatched,
 * so many a cycle as the width says) and units are in the bounds alone.
 *
 * Not looked at: that memory read was written just before, that a register is written
 * while an older write to it is under way, and the end of a fetch group.
 *
 * No call allocates or fails; time is linear in the instructions. Nothing is kept
 * between calls, so threads may share what is passed as const.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "isa/effects.h"
#include "pipelines/pipeline.h"

#define SCHEDULE_BEFORE UINT32_MAX

enum schedule_wait {
	SCHEDULE_WAITS_NOT,
	SCHEDULE_SLOTTING, /* could not issue with the one ahead: width, end of a group, or units */
	SCHEDULE_OPERAND,  /* `wait_register` of `wait_for` */
	SCHEDULE_UNIT,	   /* `wait_for` has kept the unit busy since an earlier cycle */
};

struct scheduled {
	int32_t issue_cycle; /* 0: the first after what ran before; -1: with its last */
	double head_cycles;  /* M: a whole number in order, 1 / width out of order */
	/* What decided the cycle; among equals the operand, then the unit. */
	enum schedule_wait wait;
	uint8_t wait_register;
	uint32_t wait_for; /* position in the block; SCHEDULE_BEFORE: before it */
};

/* The fewest cycles that one thing alone allows, with nothing under way at entry. */
struct schedule_bounds {
	double width_cycles;   /* instructions / width */
	double unit_cycles;    /* work over units, for the set of units with most of it */
	double latency_cycles; /* the longest chain of operands, to its last result */
};

#define SCHEDULE_PENDING 32

/* What is under way at the end of a block; cycle 0 is the one after its last issue. */
struct schedule_state {
	struct {
		uint8_t number;
		int16_t ready_cycle[PIPELINE_USES];
	} pending[SCHEDULE_PENDING];
	uint32_t pending_count;
	uint32_t left_out; /* registers that had no place; they are ready before the others */
	int16_t unit_free_cycle[PIPELINE_UNITS];
	int16_t last_store_cycle; /* negative; INT16_MIN: none near */
	uint32_t issued;	  /* in the last cycle */
	/* Nothing more issues in the last cycle. Set it for an edge that is a taken branch. */
	bool group_ended;
};

/*
 * Fills out[0..count-1]. `entry` is the state at the end of the block that ran before;
 * NULL: nothing is under way, and the first instruction issues in cycle 0 with
 * head_cycles 1. `bounds` and `exit` may be NULL; `exit` may be `entry`.
 */
void schedule_block(const struct pipeline *pipeline, const struct instruction_effects *ops,
		    size_t count, const struct schedule_state *entry, struct scheduled *out,
		    struct schedule_bounds *bounds, struct schedule_state *exit);
