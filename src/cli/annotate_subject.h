/*
 * annotate_subject - all that annotate shows of one procedure: code, samples, executions,
 * cycles, stalls.
 */
#pragma once

#include <stddef.h>

#include "analyze/code/annotate.h"
#include "base/error.h"
#include "render/listing.h"

struct cycles;

struct annotate_subject {
	struct listing_subject shown; /* points to what follows */
	struct annotation *annotation;
	struct procedure_cycles *cycles;
	struct culprits *culprits;
	struct cycles_cost *lines;
	struct error no_cycles; /* why `cycles` is NULL */
};

/*
 * Of index->procedures[position]; `cycles` NULL: without executions, cycles and stalls. The caller
 * releases *subject and does not move it. Returns 0, or -ENOMEM with *err: a procedure whose
 * executions are not known is no failure.
 */
int annotate_subject_init(struct annotate_subject *subject, const struct annotate_index *index,
			  size_t position, const struct annotate_options *options,
			  struct cycles *cycles, struct error *err);
void annotate_subject_release(struct annotate_subject *subject); /* also right for a zeroed one */
