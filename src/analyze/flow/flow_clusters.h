/*
 * flow_clusters - how often the blocks of a class were executed, from samples of cycles
 * alone: Anderson et al., "Continuous profiling: where have all the cycles gone?",
 * SOSP 1997, section 6.1.3, with the rules of docs/methods.md, "Executions from cycles".
 *
 * An instruction's samples S are its executions times the cycles it waited at the head
 * of the issue queue; M are the cycles it waits there when nothing goes wrong. Blocks of
 * a class are executed equally often, so the points S/M of instructions that did not
 * stall lie together, and all others lie above: the estimate is the lowest cluster.
 *
 * Executions are in units of the samples' mean period: times the period, in cycles, they are
 * a number. Pure, in time instructions * log(points of a class), memory 68 bytes an
 * instruction and 36 a class while it runs.
 */
#pragma once

#include <stdint.h>

#define FLOW_WAITS_FOR_NOTHING UINT32_MAX

/* Instructions of one basic block. */
struct flow_range {
	uint32_t first, end;
};

/* Borrowed; the numbers are the caller's promise. */
struct flow_clusters_code {
	uint32_t instruction_count, block_count, class_count;
	const struct flow_range *blocks;
	const uint32_t *class_of_block;
	const double *issue_cycles; /* M, by instruction: >= 0, finite */
	/*
	 * By instruction: the one earlier in its block whose result or unit it waits for
	 * (the last one that is ready), or FLOW_WAITS_FOR_NOTHING.
	 */
	const uint32_t *waits_for;
};

enum flow_clusters_kind {
	FLOW_POINTS_NONE, /* not known: no cycles are expected in any of its blocks */
	FLOW_POINTS_SUM,  /* all samples by all expected cycles, stalls and all: rather too high */
	FLOW_POINTS_CLUSTER, /* the lowest cluster of points */
};

/* Of one class. */
struct flow_clusters {
	enum flow_clusters_kind kind;
	double executions;     /* in samples per cycle; NaN when not known */
	double standard_error; /* of it; NaN when not known. In a sum of chance alone, not of stalls
				*/
	double samples, issue_cycles; /* sums over the class */
	uint32_t points, in_cluster;
};

/*
 * The first of the instructions that the point of i (M > 0) in a block from `first` on sums over.
 * Where i waits for j, a stall in between hides in that wait, which then falls short of M; what it
 * takes from j to i does not: all after j. And where the one before i was to issue with what is
 * ahead of it, but was seen to wait, i may have issued with it instead: both.
 */
uint32_t flow_clusters_window(const double *issue_cycles, const uint32_t *waits_for,
			      const double *samples, uint32_t first, uint32_t i);

/*
 * One result for each class in out[]. `samples` by instruction: counts (>= 0; fractions are
 * right where samples were shared out). 0 or -ENOMEM.
 */
int flow_clusters_estimate(const struct flow_clusters_code *code, const double *samples,
			   struct flow_clusters *out);
