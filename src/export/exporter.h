/*
 * exporter - one format that other tools read, written from a profile. Each
 * format has a row in export/exporters.c; nothing outside src/export knows them
 * one by one.
 *
 * An exporter writes the estimates of events as they are in the profile, in
 * whole units of the event's scale, so that the figures add up to those of the
 * profile. Unknown figures (samples of an event that has none of its own) are
 * absent, never 0. Equal profiles give equal bytes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/figures/event_column.h"
#include "profile/profile.h"

struct error;
struct resolver;
struct sink;

enum export_count { EXPORT_ESTIMATES, EXPORT_SAMPLES };

/* The first frame of a stack. It is left out where the profile does not know the command. */
enum export_root {
	EXPORT_ROOT_COMM,
	EXPORT_ROOT_PID, /* comm-PID; "?" where it was not kept */
	EXPORT_ROOT_TID, /* comm-PID/TID */
	EXPORT_ROOT_NONE,
};

enum export_marks {
	EXPORT_MARK_KERNEL = 1, /* _[k] behind names of the kernel, its modules and BPF */
	EXPORT_MARK_JIT = 2,	/* _[j] behind names of code compiled at run time */
	EXPORT_INLINED = 4,	/* inlined functions as frames of their own, with _[i] */
	EXPORT_ADDRESSES = 8,	/* code without a name shows its address: "[libc.so <1234>]" */
};

struct export_options {
	enum export_count count;
	enum export_root root;
	unsigned marks; /* set of enum export_marks */
};

struct export_input {
	const struct profile *profile;
	struct resolver *resolver;
	const struct event_columns *columns;
	const size_t *chosen; /* columns to write, in this order */
	size_t chosen_count;
	struct export_options options;
};

/* What was written of one chosen column. */
struct export_sums {
	bool has_stacks;     /* else its leaves were written in place of stacks */
	struct cell written; /* the sum of what was written */
	struct cell missing; /* the sum of samples without a known stack, which were not written */
};

/* Options that a format can use; the command refuses the others. */
enum export_use {
	EXPORT_USES_COUNT = 1, /* --samples */
	EXPORT_USES_ROOT = 2,  /* --pid, --tid, --no-comm */
	EXPORT_USES_MARKS = 4, /* --kernel, --jit, --addrs */
	EXPORT_USES_INLINED = 8,
};

struct exporter {
	const char *name;
	const char *what;   /* "stacks as text, one a line", for the list of formats */
	size_t most_events; /* in one file */
	bool binary;	    /* not for a terminal */
	/* Its figures are of instructions: it needs their bytes, writes all events, and no stacks.
	 */
	bool of_code;
	unsigned uses; /* set of enum export_use */
	/*
	 * Writes all chosen columns to the sink and fills sums[0..chosen_count-1].
	 * Returns 0; -ENODATA (samples are asked for and an event has none of its own);
	 * -EOVERFLOW (a figure is too large for the format); -ENOMEM; or what the sink
	 * failed with. *err is filled, unless the sink failed.
	 */
	int (*write)(const struct export_input *input, struct sink *sink, struct export_sums *sums,
		     struct error *err);
};

#define EXPORT_ANY_EVENTS SIZE_MAX

extern const struct exporter *const exporters[];	 /* ends with a NULL */
const struct exporter *exporter_named(const char *name); /* or NULL */
