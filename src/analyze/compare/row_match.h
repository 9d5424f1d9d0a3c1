/*
 * row_match - which rows of two reports are about the same thing. Reports are made
 * with the same parts and the same view, flat or inclusive.
 *
 * Code of the same build is matched by address. Other code is matched by name,
 * since a change of the code is what one compares for.
 *
 * Where a side is of several runs, an image may have been built anew between them: what runs have
 * of a procedure is in one row each build then. Rows of such an image are matched by name whatever
 * their builds, and those of one name are one group though the other side has none.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "analyze/report/report.h"

struct error;

enum match_kind {
	MATCH_NONE,	   /* on one side only */
	MATCH_SAME_BUILD,  /* by build-id and address */
	MATCH_NAMES,	   /* by name; there are no builds to compare: processes, bare names */
	MATCH_OTHER_BUILD, /* by name; the builds of its image differ */
	MATCH_OTHER_IMAGE, /* by procedure name; its image has another name */
	MATCH_KINDS,
};
extern const char *const match_kind_names[MATCH_KINDS]; /* "none", "same_build", ... */

/* Rows by position, in the order of their report. A name that several rows of a side have is one
 * group. */
struct match_group {
	enum match_kind kind;
	uint32_t *before, *after;
	size_t before_count, after_count;
};

struct matching {
	struct match_group *groups;
	size_t count;
	uint32_t *rows; /* that the groups point into */
};

enum matching_runs { MATCHING_ONE_RUN, MATCHING_RUNS };

/* Every row of both is in exactly one group. Returns 0 or -ENOMEM with *err. */
int matching_init(struct matching *matching, const struct report *before,
		  const struct report *after, enum matching_runs runs, struct error *err);
void matching_release(struct matching *matching);
