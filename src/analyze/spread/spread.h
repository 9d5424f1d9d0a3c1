/*
 * spread - how what procedures (or images, processes, lines) cost varies over several runs, as
 * DCPI's dcpistats (Anderson et al., SOSP 1997, section 3.3): and whether that is more than
 * counting alone makes it. Formulas and sources are in docs/methods.md, "Spread over runs".
 *
 * The runs are one profile that was marked while it was merged (profile/runs.h). A spread borrows
 * from it and from the resolver, which must outlive it, unchanged. One thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "analyze/figures/difference.h"
#include "analyze/report/report.h"
#include "analyze/report/run_cells.h"
#include "analyze/runs/dispersion.h"

struct error;
struct resolver;

/* What all runs would have alike, if nothing differed. */
enum spread_base {
	SPREAD_RAW,    /* the cost: runs did the same work */
	SPREAD_TOTAL,  /* the share of the run's total: loads differ */
	SPREAD_SECOND, /* the cost a second */
	SPREAD_BASES,
};
extern const char *const spread_base_names[SPREAD_BASES];

enum spread_sort {
	SPREAD_BY_RANGE, /* what is significant first, by range; then the others, by sum */
	SPREAD_BY_SUM,
	SPREAD_BY_MEAN,
	SPREAD_BY_DEVIATION,
	SPREAD_BY_NAME,
	SPREAD_SORTS,
};
extern const char *const spread_sort_names[SPREAD_SORTS];

struct spread_options {
	struct report_options report; /* flat or inclusive; sort, min_percent, limit, runs unused */
	bool base_given;	      /* else spread chooses */
	enum spread_base base;
	enum difference_counts counts; /* what counts without squares are */
	enum spread_sort sort;
	double min_percent; /* rows of a smaller share in every run are summed up in `rest` */
	size_t limit;	    /* of rows; 0: all */
};

struct spread_run {
	bool counted; /* it has the event */
	bool used;    /* in every figure: it counted, and has samples where shares are compared */
	uint64_t duration_ns; /* 0: not known */
	bool time_chosen;     /* it watched for a time that its user chose */
	struct cell whole;    /* of the event; what shares are of */
	/* what a row's cost is in proportion to, around 1: values are costs divided by it; NAN of
	 * runs that are not used */
	double exposure;
};

struct spread_row {
	const struct report_row *row; /* the first of its name; NULL: of the total and the rest */
	size_t builds;		      /* of an image, whose rows were added up; 1 mostly */
	struct cell sum;	      /* of all runs, as counted */
	double share;		      /* of all runs' totals; NAN: these are 0 */
	struct cell *cells;	      /* by run, as counted */
	double *values;		      /* of their estimates over exposures; NAN: not used */
	size_t runs;		      /* that are used; what follows is of these */
	size_t seen;		      /* in how many it has anything */
	double total; /* of the values: the sum, but for rounding, where nothing is scaled */
	double mean, deviation; /* by n - 1; NAN below 2 runs */
	double chance;		/* deviation that counting alone would make; NAN: not known */
	double least, most;
	size_t least_run, most_run;
	double range_ratio; /* (most - least) / total; NAN: no total */
	double p, q;	    /* of no difference but chance; q among all rows; NAN: not tested */
	bool tested;	    /* false: it can't vary, as it is what was taken as equal; p is NAN */
	enum difference_verdict verdict;
};

struct spread {
	struct spread_options options;
	struct report *report;	/* all runs together, all its rows */
	struct run_cells cells; /* by run */
	size_t column;		/* of the report: what rows are of */
	double step;		/* of estimates in one event */
	enum spread_base base;
	enum difference_counts counts;

	struct spread_run *runs;
	size_t run_count, used_runs;

	struct spread_row whole; /* of all rows; not tested with SPREAD_TOTAL */
	struct spread_row *rows;
	size_t row_count;
	size_t rest_count;
	struct spread_row rest; /* of rows by themselves: without figures in inclusive views */
	size_t significant, noise, unknown; /* of all rows, by their verdict */

	const char **notes; /* one sentence each */
	size_t note_count;

	/* what the above lives in */
	struct spread_row *all;
	size_t all_count;
	struct arena arena;
};

/*
 * Of a profile of runs 1 to `runs`, 2 or more. Returns 0 and a spread that the caller frees; or
 * what report_new() returns, -ENODATA when no two runs counted the event (and have samples, where
 * shares are compared), or a duration is not known that the base needs, and fills *err.
 */
int spread_new(const struct profile *profile, struct resolver *resolver, size_t runs,
	       const struct spread_options *options, struct spread **out, struct error *err);
void spread_free(struct spread *spread);
void spread_freep(struct spread **spread); /* for CLEANUP() */
