/*
 * export/folded - the stacks of one event as folded text (import/folded.h), one
 * line each, root first. Lines are sorted by their bytes and stacks that read
 * the same are one line, so equal profiles give equal text.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/event_column.h"
#include "analyze/interval.h"
#include "base/buffer.h"
#include "profile/profile.h"

struct error;
struct resolver;

enum folded_count { FOLDED_ESTIMATES, FOLDED_SAMPLES };

/* What the first frame is; left out where the profile does not know the command. */
enum folded_root {
	FOLDED_ROOT_COMM,
	FOLDED_ROOT_PID, /* comm-PID; "?" where it was not kept */
	FOLDED_ROOT_TID, /* comm-PID/TID */
	FOLDED_ROOT_NONE,
};

enum folded_marks {
	FOLDED_MARK_KERNEL = 1, /* _[k] behind names of the kernel, its modules and BPF */
	FOLDED_MARK_JIT = 2,	/* _[j] behind names of code compiled at run time */
	FOLDED_INLINED = 4,	/* inlined functions as frames of their own, with _[i] */
};

struct folded_export_options {
	enum folded_count count;
	enum folded_root root;
	unsigned marks; /* set of enum folded_marks */
};

struct folded_export_sums {
	size_t lines;
	bool has_stacks;     /* else lines are command, image, procedure */
	struct cell written; /* what the lines stand for */
	struct cell missing; /* samples of the event that no stack is known of: in no line */
};

/*
 * Appends the lines of columns->list[column]. Returns 0; -ENODATA when samples
 * are asked for and the event has none of its own; -ENOMEM.
 */
int folded_export(const struct profile *profile, struct resolver *resolver,
		  const struct event_columns *columns, size_t column,
		  const struct folded_export_options *options, struct buffer *out,
		  struct folded_export_sums *sums, struct error *err);
