/*
 * cycles - what the instructions of a procedure cost: how often each ran, how many
 * cycles it took each time, and how many it would take if nothing went wrong. This is
 * where code (flow/cfg.h), machine (pipelines/pipeline.h, schedule.h) and samples
 * (annotate_index.h) meet the estimate of frequencies (flow/frequency.h). After
 * Anderson et al., "Continuous profiling: where have all the cycles gone?", SOSP 1997,
 * section 6; docs/methods.md, "Cycles".
 *
 * A struct cycles knows a whole profile; making it costs nothing that depends on the
 * code. A struct procedure_cycles is of one procedure and its cold part. Both borrow from
 * the index, the resolver and the profile. One thread at a time.
 *
 * An unknown figure is NaN, never 0.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/code/annotate_index.h"
#include "analyze/flow/cfg.h"
#include "analyze/flow/flow_loops.h"
#include "analyze/flow/frequency.h"
#include "analyze/flow/schedule.h"
#include "isa/effects.h"
#include "pipelines/pipeline.h"

struct error;
struct cycles;

#define CYCLES_NO_COLUMN SIZE_MAX

/* What the figures of a procedure can be compared with. */
enum cycles_scale {
	/*
	 * Executions are right up to a factor of the procedure's own, and so are cycles an
	 * execution: they are scaled so that an instruction costs 1 on average. `best` figures are
	 * then the most that they can be: the fastest loop is taken to run as fast as the processor
	 * can.
	 */
	CYCLES_RELATIVE,
	/* The same, but one factor for all procedures, as far as calls tell (cycles_join_calls()).
	 */
	CYCLES_PROGRAM,
	/* Cycles an execution are what they are called; executions are divided by the clock's
	 * unknown cycles a nanosecond, the same in all procedures. */
	CYCLES_BY_CLOCK,
	/* Both are what they are called. */
	CYCLES_ABSOLUTE,
};

/* What the profile's events tell; columns of the index, or CYCLES_NO_COLUMN. */
struct cycles_events {
	size_t time;	   /* cycles or a clock: where time was spent. None: cycles are not known */
	size_t executions; /* with samples of its own, as likely at each instruction executed */
	size_t instructions; /* counted with the samples of `time` (a group): right for a procedure,
				not for an instruction */
	enum frequency_model model;
	enum cycles_scale scale; /* of procedures, unless they say otherwise */
	bool time_is_clock;	 /* cycles are ns of CPU time */
	/* By how many executed instructions the address of a sample of `time` is late. */
	unsigned skid;
	bool skid_assumed; /* the profile does not say; it is what such an event usually has */
};

struct cycles_options {
	enum isa isa;	      /* as annotate_options */
	const char *pipeline; /* name of a table; NULL: that of the profile's processor */
	bool no_evidence; /* do not use branches that were interpreted, stepped over or recorded */
};

/* Of an instruction, block, loop or the whole: sums over it. NaN: not known. */
struct cycles_cost {
	double samples;	      /* of the time event, charged here: with the skid taken back */
	double cycles;	      /* estimate of the time event, in its unit, likewise charged */
	double executed;      /* instructions; of one instruction its executions */
	double best_cycles;   /* what these would take if nothing went wrong */
	double cpi, best_cpi; /* cycles and best_cycles by `executed` */
	double low, high;     /* 95 % of cpi, by samples and executions */
};

/* The fewest processor cycles that a loop with the loops inside can take out of order, summed over
 * all its executions. Whatever a processor may do at no cost counts as nothing. */
struct cycles_bounds {
	double issue_cycles; /* by its width and by units that take another each cycle */
	double busy_cycles;  /* by units that do not: dividers, locked accesses */
	double chain_cycles; /* by results that each round needs from the one before */
};

struct procedure_cycles {
	const struct cycles *cycles;
	const struct annotate_procedure *procedure; /* the one given */
	const struct annotate_procedure
		*cold; /* its other part, when that has samples too; or NULL */
	enum isa isa;
	const struct pipeline *pipeline;

	struct cfg cfg;
	struct flow_loops loops;
	struct instruction_effects *effects; /* by instruction of the cfg, as the next ones */
	struct scheduled *schedule;
	double *samples; /* of the time event, at its own address */
	struct cycles_cost *instructions;
	struct cycles_cost *blocks;	   /* by block */
	struct schedule_bounds *bounds;	   /* by block */
	struct cycles_cost *loop_costs;	   /* by loop: with the loops inside */
	struct cycles_bounds *loop_bounds; /* by loop; behind them, of the whole; NULL in order */
	struct cycles_cost whole;

	struct frequencies frequencies; /* executions, by block and edge */
	enum frequency_model model;	/* the events', or FREQUENCY_COUNTS of branch stacks */
	enum cycles_scale scale;
	/* One processor cycle in the unit of a CPI: 1, but where that is relative, or in ns with
	 * absolute executions, the most that it can be. NaN: not known. */
	double cycle;
	/* Of the time event, at addresses where no instruction of the cfg starts. */
	double elsewhere_samples, elsewhere_cycles;
	/* How often branches were interpreted or stepped over, by edge of cfg.graph; NULL: never.
	 */
	double *evidence;
	double *evidence_weights;    /* what they weigh in the estimate; in the same memory */
	uint64_t evidence_unmatched; /* seen at its jumps and returns, but along no edge */
	uint64_t chain_steps;	     /* budget that is left for finding chain_cycles */
	bool chains_left_out;	     /* of loops for which they were too few: chain_cycles is 0 */
};

/*
 * Chooses events and the machine. Returns 0 and stores what the caller frees; -ENOENT (no event of
 * the index was sampled that says where time went or what ran), -EINVAL (no such pipeline) or
 * -ENOMEM, with *err filled.
 */
int cycles_new(const struct annotate_index *index, const struct cycles_options *options,
	       struct cycles **out, struct error *err);
void cycles_free(struct cycles *cycles);
void cycles_freep(struct cycles **cycles); /* for CLEANUP() */

const struct cycles_events *cycles_events(const struct cycles *cycles);
/* The table that describes the processor, and how well it fits. */
const struct pipeline_choice *cycles_pipeline(const struct cycles *cycles);
const struct annotate_index *cycles_index(const struct cycles *cycles);
/* What these events and this processor cannot tell, one sentence each. */
size_t cycles_notes(const struct cycles *cycles, const char *const **notes);

/*
 * Where executions are right up to a factor of each procedure's own and branches were seen, makes
 * them compare over the calls between procedures: from then on their scale is CYCLES_PROGRAM.
 * Estimates all procedures once. 0, or -ENOMEM with *err filled.
 */
int cycles_join_calls(struct cycles *cycles, struct error *err);

/* Whether the procedure is the cold part of another that has samples too, in which it is counted.
 */
bool cycles_is_counted_elsewhere(struct cycles *cycles, size_t position);
/* The position of that other, else the procedure's own. */
size_t cycles_counted_at(struct cycles *cycles, size_t position);

/*
 * By how many executed instructions the samples of any column of the profile are late, as far as
 * cycles charges them: 0 of precise events, and of events that do not tell of time. What was read
 * with the samples of another event is as late as these.
 */
unsigned cycles_skid_of(const struct cycles *cycles, const struct event_column *column);

/*
 * Of index->procedures[position]. Returns 0 and stores what the caller frees; -ENODATA (its code
 * is not known, or it is no code: *err says why) or -ENOMEM.
 */
int cycles_of_procedure(struct cycles *cycles, size_t position, struct procedure_cycles **out,
			struct error *err);
void procedure_cycles_free(struct procedure_cycles *procedure);
void procedure_cycles_freep(struct procedure_cycles **procedure); /* for CLEANUP() */
/* Whether cycles an execution are known up to a factor alone, the procedure's or the program's. */
bool procedure_cycles_are_relative(const struct procedure_cycles *procedure);
