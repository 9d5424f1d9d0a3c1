/*
 * stack_tree - the distinct stacks of a profile as export/stacks.h makes them: frames, nodes and
 * the cells of each stack.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "analyze/figures/interval.h"
#include "base/arena.h"
#include "base/hash_index.h"
#include "base/number_map.h"
#include "base/span.h"
#include "export/exporter.h"

struct place;

/* What makes two frames one. */

enum stacks_grain {
	STACKS_BY_TEXT,	   /* they read the same; commands by their text too */
	STACKS_BY_SOURCE,  /* and stand in one source file */
	STACKS_BY_ADDRESS, /* they are one address; commands by their whole context */
};

enum stack_frame_kind {
	STACK_CODE,
	STACK_INLINED, /* never in STACKS_BY_ADDRESS: resolver_source() of the place has them */
	STACK_COMMAND, /* the first frame, if there is one */
	STACK_IMAGE,   /* above a leaf without a stack; not in STACKS_BY_ADDRESS */
};

struct stack_frame {
	enum stack_frame_kind kind;
	struct span text;	      /* as folded text has it, escapes and marks included */
	const char *name;	      /* as it is */
	const char *file;	      /* NULL: unknown, or not asked for */
	uint32_t line;		      /* where the procedure begins; 0: likewise */
	uint32_t context;	      /* of STACK_COMMAND by address, else 0 */
	const struct place *place;    /* of STACK_CODE; of several that are one, the first */
	struct profile_frame address; /* by address, else zero */
};

#define STACK_NONE UINT32_MAX

struct stack_node {
	uint32_t parent; /* 0 is the root, which has no frame */
	uint32_t frame;
	uint32_t line;	/* number of its cells, or STACK_NONE */
	uint32_t child; /* while it is made: a list of nodes; 0 ends it */
	uint32_t next;
};

struct stacks {
	struct stack_frame *frames;
	size_t frame_count, frame_capacity;
	struct stack_node *nodes;
	size_t node_count, node_capacity;
	uint32_t *lines; /* nodes of the stacks, sorted */
	size_t line_count;
	struct cell *cells; /* by the node's `line` * columns + position among the chosen */
	size_t cell_count, cell_capacity; /* in such rows */
	size_t columns;
	uint32_t *path; /* room for the longest */
	struct arena arena;
	struct hash_index frame_index;
};
