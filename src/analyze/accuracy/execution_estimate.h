/*
 * execution_estimate - how often one instruction was executed by the estimate of a profile, to
 * compare with a count of it.
 */
#pragma once

#include <stdint.h>

#include "analyze/cycles/cycles.h"
#include "base/span.h"

struct error;

struct execution_estimate {
	/* Executions in the recording, up to what `scale` leaves open. NaN: not known. */
	double value, low, high;
	enum frequency_confidence confidence;
	enum cycles_scale scale;
	uint32_t procedure; /* position in the index */
};

/*
 * Of the instruction at `vaddr` of the image with that build-id (or hash, for a file without
 * one). Returns 0; -ENOENT with *err (the profile knows nothing of it), or what
 * cycles_of_procedure() returns.
 */
int execution_estimate_at(struct cycles *cycles, struct span build_id, struct span hash,
			  uint64_t vaddr, struct execution_estimate *out, struct error *err);
