/*
 * flame_tree - what flame.h makes of profiles: merged frames, parents first, with their figures.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/report/report.h"
#include "base/arena.h"
#include "profile/profile.h"

struct error;
struct resolver;

enum flame_kind {
	FLAME_GROUP, /* no code: the root, a command, an image, "[no stack]" */
	FLAME_USER,
	FLAME_TEXT,    /* a name without an image, from text */
	FLAME_KERNEL,  /* kernel, modules, BPF */
	FLAME_INLINED, /* its code is part of its caller's */
	FLAME_JIT,
	FLAME_UNKNOWN, /* no symbol */
};

/* Where a frame's name comes from. */
enum flame_source {
	FLAME_FROM_NOTHING, /* it has none */
	FLAME_FROM_PROFILE, /* a command or image: as recorded */
	FLAME_FROM_SYMBOLS, /* a symbol table */
	FLAME_FROM_EXPORTS, /* dynamic symbols only: other functions of the image have no name */
	FLAME_FROM_KERNEL,
	FLAME_FROM_DEBUG, /* inlined functions */
	FLAME_FROM_JIT,	  /* a perf map or jitdump */
	FLAME_FROM_TEXT,  /* the input had names only */
	FLAME_SOURCES
};

/* What frames of one look share. */
struct flame_label {
	const char *name;
	const char *image; /* short; "" without one */
	enum flame_kind kind;
	enum flame_source source;
};

/* Frames are in depth-first order, children by name. Frame 0 is the root, its own parent. */
struct flame_frame {
	uint32_t parent, label, depth;
	uint32_t end; /* one past the last frame below it */
};

enum flame_side { FLAME_MAIN, FLAME_BASE, FLAME_SIDES };
enum flame_commands { FLAME_WITH_COMMANDS, FLAME_WITHOUT_COMMANDS };
enum flame_direction { FLAME_FROM_ROOT, FLAME_FROM_LEAF };

struct flame_options {
	struct report_options samples; /* filters, inlined, idle; the rest is not looked at */
	enum flame_commands commands;
	enum flame_direction direction;
};

/* A profile and the names of its code. */
struct flame_input {
	const struct profile *profile; /* NULL: none */
	struct resolver *resolver;
	const char *event; /* this one alone; NULL: all of them */
};

struct flame {
	struct flame_frame *frames;
	size_t count;
	struct flame_label *labels;
	size_t label_count;
	uint32_t depth; /* of the deepest frame, plus one */

	/* Figures: [frame * columns + column], by columns of reports[FLAME_MAIN]. NULL without a
	 * base. */
	size_t columns;
	struct cell *self[FLAME_SIDES], *total[FLAME_SIDES];
	/* By column: the decimals that both sides are counted in, the finer ones of the two. */
	uint64_t *scales;
	/* Columns, scope, sums and notes of each side; NULL without a base. */
	struct report *reports[FLAME_SIDES];
	uint32_t *base_column; /* by column: the base's, or EVENT_COLUMN_NONE; NULL without one */
	bool by_name_alone;    /* one side knows no images, so they were not compared */

	struct arena arena;
};

static inline const struct flame_label *flame_label_of(const struct flame *flame, size_t frame)
{
	return &flame->labels[flame->frames[frame].label];
}
static inline const struct cell *flame_total(const struct flame *flame, enum flame_side side,
					     size_t frame)
{
	return flame->total[side] + frame * flame->columns;
}
static inline const struct cell *flame_self(const struct flame *flame, enum flame_side side,
					    size_t frame)
{
	return flame->self[side] + frame * flame->columns;
}
