/*
 * perf_script_chains - the call chains in the text of `perf script`, line by line,
 * as nodes of a profile. The part of a chain that an earlier chain had costs a hash of
 * its lines and a few look-ups in a table. Memory grows with distinct chains and lines.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/span.h"
#include "import/text/known_text.h"
#include "import/code/path_nodes.h"

struct perf_script_frame;
struct profile;
struct profile_frame;

struct perf_script_chains {
	struct profile *profile; /* borrowed; the rest begins as zero */
	bool trailing;		 /* some chain had lines that are no frames */
	/* private */
	struct known_text dsos, line_texts;
	uint32_t *images;	  /* by number of the DSO */
	struct chain_line *lines; /* by number of the line's text */
	size_t image_capacity, line_capacity;
	struct profile_frame *frames;
	size_t frame_count, frame_capacity;
	struct path_nodes paths; /* of lines */
	/* of the chain that is read */
	struct buffer text;
	struct chain_step *steps;
	size_t step_count, step_capacity;
};

void perf_script_chains_release(struct perf_script_chains *chains);
/* The next line of the chain that is read. 0; -E2BIG when the chain is longer than any; -ENOMEM. */
int perf_script_chains_add(struct perf_script_chains *chains, struct span line);
/* The end of the chain: stores its leaf's node, 0 without any frame. The next line begins another.
 * 0 or -ENOMEM. */
int perf_script_chains_node(struct perf_script_chains *chains, uint32_t *node);
/* Forgets the lines of the chain that is read. */
void perf_script_chains_drop(struct perf_script_chains *chains);
/* The place of a sample without chain: one frame, whatever its name holds. 0 or -ENOMEM. */
int perf_script_chains_frame(struct perf_script_chains *chains,
			     const struct perf_script_frame *parsed, struct profile_frame *frame);
