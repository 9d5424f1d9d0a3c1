/*
 * annotate_subject - all that is known of the procedures that annotate shows, one by
 * one: code, samples, executions, cycles, stalls.
 */
#pragma once

#include <stddef.h>

#include "analyze/code/annotate.h"
#include "base/error.h"
#include "render/listing.h"

struct cycles;

struct annotate_subject {
	struct listing_subject shown; /* of what follows */
	struct annotation *annotation;
	struct procedure_cycles *cycles;
	struct culprits *culprits;
	struct cycles_cost *lines;
	struct error no_cycles;
};

/*
 * Of index->procedures[position]; `cycles` NULL: executions and cycles are not asked for. For
 * annotate_subject_release(), at the place where it was made. 0 or -ENOMEM with *err filled: a
 * procedure without executions is no failure.
 */
int annotate_subject_init(struct annotate_subject *subject, const struct annotate_index *index,
			  size_t position, const struct annotate_options *options,
			  struct cycles *cycles, struct error *err);
void annotate_subject_release(struct annotate_subject *subject); /* also right for a zeroed one */
