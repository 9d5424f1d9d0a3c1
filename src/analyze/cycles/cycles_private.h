/*
 * cycles_private - shared by the files of cycles. A struct cycles keeps what the
 * procedures of one image have in common: its code space and its decoder.
 */
#pragma once

#include "analyze/cycles/cycles.h"
#include "analyze/flow/code_space_stash.h"
#include "analyze/flow/flow_calls.h"
#include "analyze/flow/seen_branches.h"

#define CYCLES_NOTES 8

/* Fewer samples of a loop do not tell how fast the processor can be. */
#define CYCLES_POOL_SAMPLES 400.0

/*
 * Budgets for following results through the loops of one procedure, and of all: instructions and
 * edges, over all rounds. docs/limits.md has what real code needs.
 */
#define CYCLES_PROCEDURE_CHAIN_STEPS (UINT64_C(2) << 20)
#define CYCLES_CHAIN_STEPS	     (UINT64_C(16) << 20)

/* By image id; opened for the first of its procedures. */
struct cycles_image {
	bool opened;
	enum isa isa;			/* ISA_UNKNOWN: not known, or not decodable here */
	struct code_space_stash *stash; /* NULL: nothing is known of its code */
};

/* A procedure whose extent is known, by image and first address. */
struct cycles_extent {
	uint32_t image, position;
	uint64_t first;
};

struct cycles {
	const struct annotate_index *index;
	struct cycles_options options;
	struct pipelines *pipelines;
	struct pipeline_choice choice;
	struct cycles_events events;
	struct cycles_image *images;
	size_t image_count;
	struct decoder *decoders[ISA_AARCH64 + 1];
	struct seen_branches *evidence; /* NULL: not wanted */
	/* by position in the index; NULL before cycles_join_calls(), or where that is no use */
	struct flow_calls_factor *factors;
	struct cycles_extent *extents;
	size_t extent_count;
	uint64_t chain_steps; /* budget that is left */
	bool chains_left_out; /* there is a note of it */
	const char *notes[CYCLES_NOTES];
	size_t note_count;
	char join_note[256];
	char pipeline_note[sizeof(((struct pipeline_choice *)0)->note)];
};

/* cycles_events.c: -ENOENT when no event was sampled that says anything. */
int cycles_choose_events(struct cycles *cycles, struct error *err);
void cycles_note(struct cycles *cycles, const char *note);

/* cycles.c: of an image, NULL with *err filled (-ENODATA, -ENOMEM in *ret) when it can't be had. */
const struct code_space *cycles_code(struct cycles *cycles, uint32_t image,
				     struct decoder **decoder, struct error *err, int *ret);
/* The annotated procedure that starts there, or NULL. */
const struct annotate_procedure *cycles_procedure_at(const struct cycles *cycles, uint32_t image,
						     uint64_t first);

/* cycles_schedule.c: finds effects, schedule and bounds of procedure->cfg, each block by itself. 0
 * or -ENOMEM. */
int cycles_schedule(struct procedure_cycles *procedure, struct decoder *decoder);
/* The same but for the effects, which are there. */
int cycles_schedule_blocks(struct procedure_cycles *procedure);
/* In order, with frequencies: schedules each block behind the one that mostly leads to it. 0 or
 * -ENOMEM. */
int cycles_schedule_entries(struct procedure_cycles *procedure);

/* Samples of one column, by instruction of the cfg. */
struct cycles_samples {
	double *samples, *events;
	double sample_sum, event_sum; /* of both arrays */
	double elsewhere_samples, elsewhere_events;
};
/* cycles_charge.c. 0 or -ENOMEM. */
int cycles_samples_of(const struct procedure_cycles *procedure, const struct event_columns *columns,
		      size_t column, struct cycles_samples *out);
void cycles_samples_release(struct cycles_samples *samples); /* also right for a zeroed one */
/* A part of samples, and the instruction that it belongs to. */
struct cycles_share {
	uint32_t instruction;
	double share;
};
struct cycles_shares {
	struct cycles_share *list;
	size_t count, capacity;
};
void cycles_shares_release(struct cycles_shares *shares); /* also right for a zeroed one */
/* Appends the instructions that ran right before that one, with `share` divided among them. One may
 * come twice. 0 or -ENOMEM. */
int cycles_share_back(const struct procedure_cycles *procedure, uint32_t instruction, double share,
		      struct cycles_shares *to);

/* "rep stosb" and its like: they count rcx down and move a pointer along. */
bool cycles_repeats(const struct procedure_cycles *procedure, uint32_t instruction);
/* Moves samples that are late by `skid` executed instructions back to where they belong. 0 or
 * -ENOMEM. */
int cycles_charge(const struct procedure_cycles *procedure, unsigned skid,
		  struct cycles_samples *samples);

/* cycles_calls.c: the factor that makes the procedure's executions compare with those of others;
 * NULL: none is known. */
const struct flow_calls_factor *cycles_factor(const struct cycles *cycles,
					      const struct annotate_procedure *procedure);

/* cycles_chain.c: finds loop_bounds, after costs are summed up. 0 or -ENOMEM. */
int cycles_find_bounds(struct procedure_cycles *procedure);
/* The most that a cycle can be, in the unit of the time event, as no loop nor the whole can be
 * faster than its bounds. NaN: not known. */
double cycles_most_of_cycle(const struct procedure_cycles *procedure);

/* cycles_cost.c: finds all costs and `cycle`, from charged samples (NULL: time is not known). 0 or
 * -ENOMEM. */
int cycles_sum_up(struct procedure_cycles *procedure, const struct cycles_samples *charged);
