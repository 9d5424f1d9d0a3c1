/*
 * chosen_samples_private - what the parts of chosen_samples.h share: filters (chosen_filters.c),
 * the walk and its sums (chosen_samples.c), and stacks (chosen_stacks.c).
 */
#pragma once

#include "analyze/report/chosen_samples.h"

int chosen_out_of_memory(struct error *err);

/* Fill context_kept and image_kept. 0 or a negative errno. */
int chosen_contexts(struct chosen_samples *selection, struct error *err);
int chosen_images(struct chosen_samples *selection, struct resolver *resolver, struct error *err);
/* The state of a stack down to `place`: which of focus and ignore matched a function of it. `above`
 * is the state of what is above the place, 0 where it is the outermost. Or -ENOMEM. */
int chosen_state_at(const struct chosen_samples *selection, int above, uint32_t place);
bool chosen_state_is_kept(const struct chosen_samples *selection, int state);

/* Adds one row of flat or stack to the sums, and, when the filters let it through, to the list or
 * sink. 0, -ENOMEM, or what the sink returned. */
int chosen_take(struct chosen_samples *selection, const struct selected *sample, int state);
/* Gives chosen_take() the rows of flat, which have those places, with the cells `left` or, where it
 * is NULL, their own. As chosen_take(). */
int chosen_walk_flat(struct chosen_samples *selection, const uint32_t *place_of, struct cell *left);
/* Gives chosen_take() all stacks, and what of flat is in none. As chosen_take(). */
int chosen_walk_stacks(struct chosen_samples *selection, const uint32_t *place_of);
/* Fills what the scope has of stacks: samples, depth, and how many were cut, which is guessed where
 * it was not counted: many stacks that end at one depth were probably cut there. 0 or -ENOMEM. */
int chosen_measure_stacks(struct report *report);
