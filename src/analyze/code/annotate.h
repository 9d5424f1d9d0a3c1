/*
 * annotate - one procedure instruction by instruction: its code decoded, each
 * instruction with its samples, its source lines and the functions that were
 * inlined there. No sample is lost: those at addresses that are no decoded
 * instruction's start have rows of their own, so the rows' sum is the
 * procedure's.
 *
 * An annotation borrows from the index, the resolver and the profile; texts
 * live as long as they do, or as the annotation. Nothing changes it once made.
 */
#pragma once

#include <stddef.h>

#include "analyze/code/annotation.h"

struct error;

struct annotate_options {
	enum isa isa; /* ISA_UNKNOWN: that of the file, or of the machine that the profile comes
			 from */
	enum isa_syntax syntax;
};

/*
 * Annotates index->procedures[position]. Code that can't be had is no failure:
 * rows then are addresses, and no_code says why. Returns 0 or -ENOMEM with *err filled.
 */
int annotate(const struct annotate_index *index, size_t position,
	     const struct annotate_options *options, struct annotation **out, struct error *err);
