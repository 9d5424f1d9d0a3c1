/*
 * listing - annotations as text: a procedure's instructions with their samples,
 * source lines between them; or its source lines with their sums.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/code/annotate.h"
#include "base/span.h"
#include "render/text_table.h"

struct buffer;
struct culprits;
struct cycles;
struct cycles_cost;
struct procedure_cycles;

/* Text of a line of a source file, without its newline; data NULL when it can't be had. */
typedef struct span (*listing_source)(void *context, const char *file, uint32_t line);

struct listing_options {
	bool bytes;	    /* the instructions' bytes too */
	double min_percent; /* stretches of rows below are summed up in one line; 0: none */
	enum text_colour colour;
	listing_source source; /* NULL: no source text */
	void *source_context;
	const char *profile; /* what a command for more has to name; NULL: nothing */
};

/* What is shown of a procedure. All but the annotation may be NULL: it is not known, and left out.
 */
struct listing_subject {
	const struct annotation *annotation;
	const struct procedure_cycles *cycles;
	const char *no_cycles; /* why there are none though there is code */
	const struct culprits *culprits;
	const struct cycles_cost *lines; /* of the annotation's lines: for listing_print_lines() */
};

/* Failure to allocate shows in the buffer, as usual there. */
void listing_print(const struct listing_subject *subject, const struct annotate_index *index,
		   const struct listing_options *options, struct buffer *out);
/* By source line instead of by instruction. */
void listing_print_lines(const struct listing_subject *subject, const struct annotate_index *index,
			 const struct listing_options *options, struct buffer *out);
/* No more than about a screen: the code of its dearest blocks, hottest loops first. Without
 * cycles the same as listing_print(). */
void listing_print_screen(const struct listing_subject *subject, const struct annotate_index *index,
			  const struct listing_options *options, struct buffer *out);
/* Its loops and blocks without their code, the dearest first. */
void listing_print_blocks(const struct listing_subject *subject, const struct annotate_index *index,
			  const struct listing_options *options, struct buffer *out);
/* "culprit annotate 'program+0x1200' 'old.prof'": the command that shows what is there. */
void listing_put_command(const struct listing_options *options, const char *image_name,
			 uint64_t vaddr, struct buffer *out);
/* What the columns of executions and cycles mean, where they come from and what they cannot tell:
 * once, below all listings. `scales` has bit 1 << scale of each enum cycles_scale that a procedure
 * above has, which need not be that of the events. */
void listing_print_foot(const struct cycles *cycles, unsigned scales, struct buffer *out);
/* A row's instruction as a listing has it, with what a branch goes to, cut to a line's length. */
void listing_put_code(const struct annotated_row *row, struct buffer *out);
