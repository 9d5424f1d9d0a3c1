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
 * Executions are in units of the samples' mean period in cycles: times the period they are a number
 * of executions. Pure, in time instructions * log(points of a class), memory 76 bytes an
 * instruction and 36 a class while it runs.
 */
#pragma once

#include <stdint.h>

#define FLOW_WAITS_FOR_NOTHING UINT32_MAX

/* Instructions of one basic block. */
struct flow_range {
	uint32_t first, end;
};

/* Borrowed. That positions are in range is the caller's promise, checked by assert(). */
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
	FLOW_CLUSTERS_UNKNOWN, /* issue_cycles are 0 in all of its blocks */
	FLOW_CLUSTERS_SUM,     /* all samples over all issue cycles, with stalls: rather too high */
	FLOW_CLUSTERS_LOWEST,  /* the lowest cluster of points */
};

/* Of one class. */
struct flow_clusters {
	enum flow_clusters_kind kind;
	double executions;     /* samples per cycle; NaN when not known */
	double standard_error; /* NaN when not known; of a sum that of chance alone, not of stalls
				*/
	double samples, issue_cycles; /* sums over the class */
	uint32_t points, in_cluster;
};

/*
 * The first instruction of the window of i, over which the point of i (M > 0) sums samples and M up
 * to i itself. `first` is where the block begins. docs/methods.md, "Executions from cycles":
 * - Where i waits for j with M > 1, a stall between them hides part of that wait, and i alone has
 *   fewer samples than M says; all behind j up to i together do not. So the window is all of them.
 * - Where instructions just before i have M = 0 but samples, they stalled, and i may have issued
 *   with one of them. So the window has these too, but none up to a j that i waits for.
 */
uint32_t flow_clusters_window(const double *issue_cycles, const uint32_t *waits_for,
			      const double *samples, uint32_t first, uint32_t i);

/*
 * One result for each class in out[]. `samples` by instruction: counts (>= 0; fractions are
 * right where samples were shared out). 0 or -ENOMEM.
 */
int flow_clusters_estimate(const struct flow_clusters_code *code, const double *samples,
			   struct flow_clusters *out);
