/*
 * schedule_private - shared by the files of schedule: a schedule under way, when operands and units
 * let the next instruction issue, and the bounds of a block. Cycles count from the block's first
 * one, 0; positions of instructions are in the block, SCHEDULE_BEFORE: before it.
 */
#pragma once

#include "analyze/flow/schedule.h"

/* The unit for an instruction's class, one for its load, one for its store. */
#define SCHEDULE_REQUESTS_EACH 3
#define SCHEDULE_REQUESTS      (PIPELINE_MAX_WIDTH * SCHEDULE_REQUESTS_EACH)
#define SCHEDULE_NO_UNIT       PIPELINE_UNITS

/* One unit that an instruction needs when it issues. */
struct schedule_request {
	uint32_t units; /* a bit for each unit that will do */
	uint32_t busy_cycles;
	uint32_t by;  /* position of the instruction */
	uint8_t unit; /* the one given, or SCHEDULE_NO_UNIT */
};

/* A register's value: when each kind of use can have it, and which instruction makes it. */
struct schedule_result {
	int32_t ready_cycle[PIPELINE_USES];
	uint32_t by;
};

/* A schedule being made. Of `registers` only those in `touched` mean anything. */
struct schedule {
	const struct pipeline *pipeline;
	int32_t cycle;	  /* the one that instructions issue in now */
	uint32_t issued;  /* in this cycle */
	bool group_ended; /* nothing more issues in this cycle */
	struct schedule_request requests[SCHEDULE_REQUESTS]; /* of this cycle, each with a unit or
								SCHEDULE_NO_UNIT */
	size_t request_count;
	uint32_t open;	/* units that no instruction of an earlier cycle keeps busy */
	uint32_t taken; /* units that instructions of this cycle have */
	int32_t unit_free_cycle[PIPELINE_UNITS]; /* after what issued before this cycle */
	uint32_t unit_by[PIPELINE_UNITS];	 /* the instruction that keeps it busy until then */
	int32_t last_store_cycle;
	uint32_t last_store; /* its position */
	struct register_set touched;
	struct schedule_result registers[REGISTER_LIMIT];
};

/* When an instruction may issue, and what keeps it from issuing earlier (struct scheduled). */
struct schedule_earliest {
	int32_t cycle;
	enum schedule_wait wait;
	uint8_t wait_register;
	uint32_t wait_for;
};

/* schedule_operands.c */

/* Moves *earliest on until all that the instruction reads is there. */
void schedule_wait_for_operands(const struct schedule *s, const struct instruction_effects *op,
				struct schedule_earliest *earliest);
/* Cycles from issue until a use of that kind can have the result. */
uint32_t schedule_result_cycles(const struct pipeline *pipeline,
				const struct instruction_effects *op, enum pipeline_use use);
/* Says when the registers are there that the instruction at `by` writes, issued in `cycle`. */
void schedule_write_results(struct schedule *s, const struct instruction_effects *op, uint32_t by,
			    int32_t cycle);

/* schedule_units.c */

/* Fills out[SCHEDULE_REQUESTS_EACH], each still without a unit; returns how many there are. */
size_t schedule_requests_of(const struct pipeline *pipeline, const struct instruction_effects *op,
			    uint32_t by, struct schedule_request *out);
/* The units that are free in that cycle, as far as s->unit_free_cycle knows. */
uint32_t schedule_open_units(const struct schedule *s, int32_t cycle);
/* Begins that cycle: the units of the one before it are busy as long as its requests say. */
void schedule_next_cycle(struct schedule *s, int32_t cycle);
/* Moves *earliest out of the cycle in which a load right after a store may not issue. */
void schedule_keep_store_gap(const struct schedule *s, const struct instruction_effects *op,
			     struct schedule_earliest *earliest);
/*
 * Moves *earliest on until the units are free, begins that cycle and takes them. Units that the
 * instruction could not have together even on an idle machine are not waited for.
 */
void schedule_take_units(struct schedule *s, const struct instruction_effects *op,
			 struct schedule_request *wanted, size_t count,
			 struct schedule_earliest *earliest, uint32_t by);

/* schedule_bounds.c */
void schedule_find_bounds(const struct pipeline *pipeline, const struct instruction_effects *ops,
			  size_t count, struct schedule_bounds *bounds);
