/*
 * comparison - what compare.h makes of two profiles: their rows matched, with what changed. The
 * parts of compare fill it one after the other.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "analyze/compare/row_match.h"
#include "analyze/figures/difference.h"
#include "analyze/report/report.h"
#include "analyze/report/run_cells.h"

struct error;
struct resolver;

struct compare_side {
	const struct profile *profile;
	struct resolver *resolver;
	const char *event; /* the one event of this side; NULL: as the options say */
	size_t runs;	   /* that the profile was marked of (profile/runs.h); 0: it is one, not
			      marked */
};

enum compare_sort {
	COMPARE_BY_CHANGE, /* significant ones first, then by the size of the change */
	COMPARE_BY_PERCENT,
	COMPARE_BY_BEFORE,
	COMPARE_BY_AFTER,
	COMPARE_BY_NAME,
	COMPARE_SORTS,
};
extern const char *const compare_sort_names[COMPARE_SORTS];

struct compare_options {
	struct report_options
		report; /* flat or inclusive; its sort, min_percent and limit are unused */
	const char
		*per; /* "raw", "total", "second", an event, a procedure; NULL: compare chooses */
	enum difference_counts counts; /* what counts without squares are */
	enum compare_sort sort;
	double min_percent;	   /* rows below that share on both sides are summed up in `rest` */
	size_t limit;		   /* of rows; 0: all */
	double fail_above_percent; /* negative: no row counts as grown */
};

/* An event that both sides have. */
struct compared_column {
	size_t before, after; /* columns of the two reports */
	size_t runs[2];	      /* of each side, that counted the event: all figures are of these */
	struct difference_event event;
	enum difference_overlap overlap;
	struct difference whole; /* of the totals that shares are of */
	struct difference_noise whole_noise;
	/* How runs of a row usually scatter beyond counting, as a variance over the squared mean;
	 * NAN: not known */
	double usual_noise;
};

struct compared_pair {
	size_t cycles, instructions; /* of comparison->columns */
	enum ratio_samples samples;
	struct difference_split whole;
};

struct compared_row {
	enum match_kind match;
	const struct report_row *before, *after; /* the first of each side; NULL: none there */
	size_t before_count, after_count;	 /* rows of that name */
	struct difference *changes;		 /* by column, of the cells that the row shows */
	struct difference_split *splits;	 /* by pair */
	struct difference_noise *noises;	 /* by column, between runs; NULL: one run a side */
	const struct match_group *group;
	double q;	       /* of the main column; NAN: no error known */
	double growth_percent; /* of the main column: change in percent of the total before */
	bool grown;	       /* by more than options.fail_above_percent */
};

struct comparison {
	struct compare_options options;
	struct report *before, *after;
	struct compared_column *columns;
	size_t column_count; /* at least 1 */
	size_t main;	     /* what rows are ordered by */
	struct compared_pair *pairs;
	size_t pair_count;

	enum difference_base base;
	const char *constant;	 /* the event or procedure of the base, else NULL */
	bool constant_inclusive; /* a procedure's cost with what it called */
	bool base_chosen;	 /* by the options, not by compare */

	struct compared_row *rows;
	size_t row_count;
	size_t rest_count;
	struct difference
		*rest; /* by column; of rows by themselves, so absent in inclusive views */
	size_t significant, noise, unknown; /* of all rows, by their verdict */
	bool total_grown;
	size_t grown_count;		   /* rows with `grown`, those of the rest too */
	const struct compared_row **grown; /* the most first */

	size_t side_runs[2];  /* before, after: 1 or more; figures are of their sums */
	double *exposures[2]; /* by run: what its costs are in proportion to, for `base`; of
				 DIFFERENCE_TOTAL NULL, as each column has its own total. NULL with
				 one run a side */
	struct cell *work[2]; /* by run: what DIFFERENCE_SECOND (nanoseconds), _EVENT and _FUNCTION
				 count; NULL of others */
	struct run_cells run_cells[2];

	const char **notes; /* what makes the two doubtful to compare, one sentence each */
	size_t note_count;

	/* what the above lives in */
	struct matching matching;
	struct arena arena;
	struct compared_row *all;
};

/* For the parts of compare. Adds a note; 0 or -ENOMEM. */
int compare_note(struct comparison *comparison, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
