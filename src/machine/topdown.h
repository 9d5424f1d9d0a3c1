/*
 * topdown - where the issue slots of a core went (A. Yasin, "A Top-Down Method for Performance
 * Analysis and Counters Architecture", ISPASS 2014): level 1 divides all slots among four
 * categories, level 2 each of these in two. What every way of measuring hands out.
 *
 * topdown_method.h knows the ways (which events, which formulas), topdown_registers.h decodes
 * Intel's metrics register. Nothing here looks at the machine, allocates or prints.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Retiring to backend bound and heavy operations to memory bound stand in the order of the fields
 * of Intel's metrics register. */
enum topdown_category {
	TOPDOWN_RETIRING,
	TOPDOWN_BAD_SPECULATION,
	TOPDOWN_FRONTEND_BOUND,
	TOPDOWN_BACKEND_BOUND,
	/* level 2, what is counted */
	TOPDOWN_HEAVY_OPERATIONS,
	TOPDOWN_BRANCH_MISPREDICTS,
	TOPDOWN_FETCH_LATENCY,
	TOPDOWN_MEMORY_BOUND,
	/* level 2, the rest of each */
	TOPDOWN_LIGHT_OPERATIONS,
	TOPDOWN_MACHINE_CLEARS,
	TOPDOWN_FETCH_BANDWIDTH,
	TOPDOWN_CORE_BOUND,
	/* Level 1 on AMD alone: slots that the other thread of the core took. */
	TOPDOWN_SMT_CONTENTION,
	TOPDOWN_CATEGORIES
};
#define TOPDOWN_LEVEL_1 4 /* categories that level 1 has everywhere */

/* "frontend_bound". NULL for a number that is no category. */
const char *topdown_category_name(unsigned category);
/* 1 or 2. */
unsigned topdown_category_level(enum topdown_category category);
/* The category of level 1 that one of level 2 is part of; one of level 1 itself. */
enum topdown_category topdown_category_parent(enum topdown_category category);

/* Bits of topdown_figure.doubts. */
enum topdown_doubt {
	TOPDOWN_BELOW_ZERO = 1,	  /* and by more than its resolution */
	TOPDOWN_ABOVE_ONE = 2,	  /* likewise */
	TOPDOWN_EXTRAPOLATED = 4, /* from counts that were not taken all the time */
	TOPDOWN_ABOVE_PARENT = 8, /* a part that is larger than its whole, beyond resolution */
};

struct topdown_figure {
	bool known;
	unsigned doubts; /* of enum topdown_doubt */
	double value; /* share of the slots (or of the cycles: topdown.unit), 0 to 1 unless in doubt
		       */
	double resolution; /* the truth is within value +- resolution as far as the register's steps
			      are concerned; 0 for whole counts */
	const char *why;   /* why it is not known; NULL when it is. Lives as long as the method */
};

enum topdown_unit {
	TOPDOWN_SLOTS,
	TOPDOWN_CYCLES, /* shares of stalled cycles, where slots are not counted: no division of all
			 */
};

/* Whether what should be all slots is: only counts that do not depend on each other can tell. */
enum topdown_sum {
	TOPDOWN_SUM_UNKNOWN,	     /* a count is missing, or the method divides no slots */
	TOPDOWN_SUM_BY_CONSTRUCTION, /* a category is the rest of the others */
	TOPDOWN_SUM_HOLDS,
	TOPDOWN_SUM_OFF, /* further from 1 than TOPDOWN_SUM_TOLERANCE and the resolutions */
};

/*
 * Counters start and stop one after the other, and some count ops of another stage of the pipeline:
 * sums of published counts are up to 1.8 % off (tests/data/topdown). Ours to choose.
 */
#define TOPDOWN_SUM_TOLERANCE 0.02

struct topdown {
	struct topdown_figure figures[TOPDOWN_CATEGORIES];
	enum topdown_unit unit;
	struct topdown_figure
		slots; /* how many slots (cycles) were counted; a count, not a share */
	enum topdown_sum sum_state;
	double sum, sum_resolution; /* when it holds or is off */
	bool corrected;		    /* by further events, as the maker of the CPU advises */
	/* The least share of the time that an event which was used was counted; 1: all the time. */
	double running_share;
	const char *method; /* its name, "golden-cove"; lives as long as the method */
};

/* Sets all figures to not known, for the reason `why`, and nothing else. */
void topdown_clear(struct topdown *topdown, const char *why);
/*
 * Judges figures that are there: a value that is out of 0 to 1 within its resolution becomes 0 or
 * 1, one that is further out stays and is in doubt. Called by what fills a struct topdown.
 */
void topdown_judge(struct topdown *topdown);
/* Judges `sum` with its resolution. */
void topdown_judge_sum(struct topdown *topdown, double sum, double resolution);
