/*
 * estimates - the procedures of a profile with the estimated costs of their instructions
 * (analyze/cycles/cycles.h), for formats that write executions. Ordered by image, then by
 * address, so that equal profiles give equal files. A cold part comes with the procedure
 * that it was split off.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "analyze/cycles/cycles.h"
#include "export/dso.h"
#include "export/exporter.h"

struct error;

struct estimates {
	const struct export_input *input;
	struct annotate_index *index;
	struct cycles *cycles;
	uint32_t *order; /* positions in the index, without cold parts */
	size_t count;
	struct dso_names images;
};

/* 0, -ENOENT (no event says where time went or what ran) or -ENOMEM, with *err filled.
 * estimates_release() is called in any case. */
int estimates_init(struct estimates *estimates, const struct export_input *input,
		   struct error *err);
void estimates_release(struct estimates *estimates); /* for CLEANUP() */

/*
 * The estimates of the procedure order[i]. Returns 0 and stores them for the caller to free, or
 * NULL where the code is not known; or -ENOMEM with *err filled.
 */
int estimates_procedure(const struct estimates *estimates, size_t i, struct procedure_cycles **out,
			struct error *err);

/* Appends "12345", or "-" for NaN, which is unknown. 0, or -EOVERFLOW from 2^63 on. */
int estimates_append_count(struct buffer *out, double count);

/* Appends text as one line: bytes that would end it or steer a terminal are written \xNN. */
void estimates_append_text(struct buffer *out, struct span text);

/* Appends notes, each a line that begins with `before`: which event the estimates are from, which
 * processor's table they use, and what they cannot tell. */
void estimates_append_notes(const struct estimates *estimates, const char *before,
			    struct buffer *out);
/* The enum cycles_scale of a procedure in one word: "relative", "program", "by-clock", "absolute".
 */
const char *estimates_scale(const struct procedure_cycles *procedure);
