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

/* When two frames are one. */
enum stacks_grain {
	STACKS_BY_TEXT,	   /* when their texts are equal; commands too */
	STACKS_BY_SOURCE,  /* when their texts and source files are */
	STACKS_BY_ADDRESS, /* when their addresses are; of commands, the whole contexts */
};

enum stack_frame_kind {
	STACK_CODE,
	STACK_INLINED, /* never in STACKS_BY_ADDRESS: resolver_source() of the place has them */
	STACK_COMMAND, /* the first frame, if there is one */
	STACK_IMAGE,   /* above a leaf without a stack; not in STACKS_BY_ADDRESS */
};

struct stack_frame {
	enum stack_frame_kind kind;
	struct span text;	   /* as in folded text, escapes and marks included */
	const char *file;	   /* NULL: unknown, or not asked for */
	uint32_t line;		   /* where the procedure begins; 0: likewise */
	uint32_t context;	   /* of STACK_COMMAND in STACKS_BY_ADDRESS, else 0 */
	const struct place *place; /* of STACK_CODE: the first of the places that are this frame */
	struct profile_frame address; /* in STACKS_BY_ADDRESS, else zero */
};

#define STACK_NONE UINT32_MAX

struct stack_node {
	uint32_t parent; /* 0 is the root, which has no frame */
	uint32_t frame;
	uint32_t line;	/* number of its row of cells, or STACK_NONE */
	uint32_t child; /* until the stacks are sorted: the list of its children; 0: none */
	uint32_t next;	/* in the list of its parent's children; 0 ends it */
};

struct stacks {
	struct stack_frame *frames;
	size_t frame_count, frame_capacity;
	struct stack_node *nodes;
	size_t node_count, node_capacity;
	uint32_t *lines; /* nodes of the stacks, sorted */
	size_t line_count;
	struct cell *cells; /* at the node's `line` * columns + position among the chosen columns */
	size_t cell_count, cell_capacity; /* in rows of `columns` cells */
	size_t columns;			  /* chosen ones */
	uint32_t *path;			  /* room for the longest stack */
	struct arena arena;
	struct hash_index frame_index;
};
