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
/* What focus and ignore met in a stack that goes on with `place` from `above` (0: it begins there).
 * -ENOMEM. */
int chosen_state_at(const struct chosen_samples *selection, int above, uint32_t place);
bool chosen_state_is_kept(const struct chosen_samples *selection, int state);

/* Takes one row of flat or stack into the sums, and into the list when the filters let it through.
 * 0, -ENOMEM, or what the sink returned. */
int chosen_take(struct chosen_samples *selection, const struct selected *sample, int state);
/* Flat, whose rows have those places: as it is, or what is left of each row. As chosen_take(). */
int chosen_walk_flat(struct chosen_samples *selection, const uint32_t *place_of, struct cell *left);
/* Stacks, and what of flat is in none. As chosen_take(). */
int chosen_walk_stacks(struct chosen_samples *selection, const uint32_t *place_of);
/* Many stacks that end at one depth were probably cut there. 0 or -ENOMEM. */
int chosen_measure_stacks(struct report *report);
