/*
 * annotate_diff - one procedure before and after: its two versions found in two
 * profiles, their instructions put side by side, with what changed at each and
 * how sure that is (analyze/figures/difference.h).
 *
 * An annotation_diff borrows from both indexes, as annotations do. Nothing changes it
 * once made.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "analyze/code/annotate.h"
#include "analyze/figures/difference.h"

struct error;

/* How the base's version was found. */
enum annotate_match {
	ANNOTATE_MATCH_NONE,	   /* not at all: it has no samples there */
	ANNOTATE_MATCH_BUILD,	   /* the same build-id and address */
	ANNOTATE_MATCH_CODE,	   /* the same code but for where it lies, and the same name */
	ANNOTATE_MATCH_NAME,	   /* the same name, other code or code that is not known */
	ANNOTATE_MATCH_CODE_ALONE, /* the same code under another name */
	ANNOTATE_MATCHES,
};
extern const char *const annotate_match_names[ANNOTATE_MATCHES]; /* "none", "build", ... */

/* An event of both sides, and what its counts are compared by. */
struct annotate_diff_column {
	size_t before, after;	       /* columns of the two indexes */
	struct difference_event event; /* shares are of the procedure, as it is on each side */
	enum difference_overlap overlap;
};

struct annotate_diff_options {
	enum difference_base base; /* raw, total or second */
	double before_s, after_s;  /* of second */
	enum difference_counts counts;
	struct annotate_options annotate;
};

struct annotate_diff_row {
	const struct annotated_row *before, *after; /* NULL: not in that version */
	struct difference *changes;		    /* by column */
};

struct annotation_diff {
	struct annotation *before; /* NULL when the match is none */
	struct annotation *after;
	enum annotate_match match;
	bool alignment_cut; /* too long: only the beginnings and ends are side by side */
	struct annotate_diff_column *columns;
	size_t column_count;
	struct difference *whole;	/* by column: of the procedure */
	struct annotate_diff_row *rows; /* in the order of both versions */
	size_t row_count;

	/* what the above lives in */
	struct arena arena;
};

/* Compares after->procedures[position] with its version in `before`. Returns 0, -ENOENT when the
 * sides have no event in common, or -ENOMEM, and fills *err. */
int annotate_diff(const struct annotate_index *before, const struct annotate_index *after,
		  size_t position, const struct annotate_diff_options *options,
		  struct annotation_diff **out, struct error *err);
void annotation_diff_free(struct annotation_diff *diff);
void annotation_diff_freep(struct annotation_diff **diff); /* for CLEANUP() */
