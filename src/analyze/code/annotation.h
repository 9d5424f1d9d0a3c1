/*
 * annotation - what annotate.h makes of a procedure: its rows, instruction by instruction, and
 * its source lines.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/code/annotate_index.h"
#include "base/arena.h"
#include "isa/decode.h"

enum annotated_kind {
	ANNOTATED_INSTRUCTION,
	ANNOTATED_INSIDE,  /* an address in the middle of the instruction of the row above */
	ANNOTATED_ADDRESS, /* an address whose code is not known */
	ANNOTATED_NAME,	   /* the whole of a procedure that is known by name alone */
};

#define ANNOTATED_NO_SOURCE UINT32_MAX

struct annotated_row {
	enum annotated_kind kind;
	uint64_t vaddr;
	uint32_t length_bytes; /* 0 when no instruction */
	enum instruction_kind instruction;
	const uint8_t *bytes;
	const char *mnemonic, *operands; /* of an instruction */
	const char *target_name;	 /* where a branch goes: a procedure; NULL: not known */
	bool target_here;		 /* into this procedure */
	bool has_target, has_reference;
	uint64_t target, target_offset_bytes; /* offset from the start of what target_name names */
	uint64_t reference;
	struct cell *cells; /* by column */
	uint32_t source;    /* position in sources, or ANNOTATED_NO_SOURCE */
};

/* Where code comes from: innermost first; the last is the procedure itself. */
struct annotated_source {
	const struct source_frame *frames;
	size_t count; /* at least 1 */
};

/* All code of one source line of one function. */
struct annotated_line {
	const char *function; /* the inlined function; NULL: the procedure itself */
	const char *file;     /* NULL: unknown */
	uint32_t line;	      /* 0: unknown */
	size_t instructions;
	struct cell *cells; /* by column; see lines_charged */
};

struct annotation {
	const struct annotate_procedure *procedure;
	enum isa isa;		    /* of the code; ISA_UNKNOWN without code */
	struct annotated_row *rows; /* by address */
	size_t row_count;
	size_t instructions;
	struct annotated_source *sources;
	size_t source_count;
	struct annotated_line *lines; /* by file, line and function; unknown last */
	size_t line_count;
	bool has_source;     /* some row has */
	bool lines_charged;  /* lines have the samples charged to them, not those at their own
				addresses */
	const char *no_code; /* why there are no instructions, or NULL */
	const struct procedure *cold; /* its cold part, annotated by itself; or NULL */
	/* Samples that waited until interrupts were enabled, and all samples of events that can. */
	uint64_t late_samples, late_of;

	/* what the above lives in */
	struct arena arena;
	struct cell *cells;
	struct cell *line_cells;
};

void annotation_free(struct annotation *annotation);
void annotation_freep(struct annotation **annotation); /* for CLEANUP() */
