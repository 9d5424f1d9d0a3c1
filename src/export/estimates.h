/*
 * estimates - the procedures of a profile with what their instructions cost
 * (analyze/cycles/cycles.h), for formats that write executions: image by image and
 * within one by address, so that equal profiles give equal files. A cold part comes with
 * the procedure that it was split off.
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
	uint32_t *order; /* positions in the index */
	size_t count;
	struct dso_names images;
};

/* For estimates_release(), also after a failure. 0, -ENOENT (no event says where time went or what
 * ran) or -ENOMEM, with *err filled. */
int estimates_init(struct estimates *estimates, const struct export_input *input,
		   struct error *err);
void estimates_release(struct estimates *estimates); /* for CLEANUP() */

/*
 * Of order[i]. Returns 0 and stores what the caller frees: NULL where the code is not known. Or
 * -ENOMEM with *err filled.
 */
int estimates_procedure(const struct estimates *estimates, size_t i, struct procedure_cycles **out,
			struct error *err);

/* "12345", or "-" for what is not known; -EOVERFLOW above 2^63, where figures end. */
int estimates_append_count(struct buffer *out, double count);

/* Text that stays one line: what would end it or steer a terminal is written \xNN. */
void estimates_append_text(struct buffer *out, struct span text);

/* What these figures are, a line each that begins with `before`: of which event, by which
 * processor's table, and what they cannot tell. */
void estimates_append_notes(const struct estimates *estimates, const char *before,
			    struct buffer *out);
/* "relative", "program", "by-clock", "absolute": enum cycles_scale in one word. */
const char *estimates_scale(const struct procedure_cycles *procedure);
