/*
 * seen_branches - what a profile knows of where control went, by the edges of one procedure's
 * graph: branches that were seen to be taken or not, apart from samples. Three kinds that
 * do not mix:
 *
 * - interpreted and stepped: how often each edge out of a block was seen to be taken. Only the
 *   shares of these edges mean anything, their sum does not tell how often the block ran;
 * - counted: branch stacks, each a straight run from where one branch led to where the next one
 *   left. As often as the block or edge ran, in units of the stacks' mean period.
 *
 * Made once for a profile: its edges and runs by image and address, over all events and
 * contexts. Borrows nothing. Nothing changes it once made, and threads may share it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct cfg;
struct flow_graph;
struct profile;
struct resolver;
struct seen_branches;

enum seen_branches_kind {
	SEEN_BRANCHES_INTERPRETED, /* ORIGIN_INTERPRETED */
	SEEN_BRANCHES_STEPPED,	   /* ORIGIN_STEPPED */
	SEEN_BRANCHES_COUNTED,	   /* ORIGIN_MEASURED and ORIGIN_IMPORTED, with their runs */
	SEEN_BRANCHES_KINDS,
};

struct seen_counts {
	double *edges; /* by edge of the graph; NULL: nothing was seen of this procedure */
	/* By block: runs over it, the mean over its instructions. NULL: there are no runs. */
	double *blocks;
	/* Instructions of runs that lie in the procedure, and the cycles that they took; 0: not
	 * known. */
	double run_instructions, run_cycles;
	/* Branches seen at its jumps and returns: those along an edge of the graph, and those along
	 * none. Calls that come back are in neither. */
	uint64_t matched, unmatched;
};

/* The resolver, of the same profile, turns its addresses into those of the file. 0 or -ENOMEM. */
int seen_branches_new(const struct profile *profile, struct resolver *resolver,
		      struct seen_branches **out);
void seen_branches_free(struct seen_branches *evidence);   /* NULL does nothing */
void seen_branches_freep(struct seen_branches **evidence); /* for CLEANUP() */

/* Whether the profile has any of that kind, of whatever procedure. */
bool seen_branches_has(const struct seen_branches *evidence, enum seen_branches_kind kind);

/*
 * Counts those of one kind in the procedure of that graph, in the image of that id in the profile.
 * Edges without runs tell only of branches that were taken, so SEEN_BRANCHES_COUNTED has nothing
 * then. For seen_counts_release(). 0, or -ENOMEM with nothing to release. Logarithmic in the
 * evidence, linear in what lies in the procedure.
 */
int seen_branches_count(const struct seen_branches *evidence, uint32_t image, const struct cfg *cfg,
			enum seen_branches_kind kind, struct seen_counts *out);

/*
 * What the outcomes of one block weigh at most, however many there are, as they are off by more
 * than chance: docs/methods.md, "Executions from samples and branches". Interpreted ones start
 * where time is spent, and weigh less than stepped ones, and less again where the profile has
 * stepped ones too. INFINITY for counted ones.
 */
double seen_branches_most(const struct seen_branches *evidence, enum seen_branches_kind kind);
/*
 * Adds to `weights`, by edge of the graph, what such counts weigh in an estimate: n / (1 + N /
 * most) for n of the N that were seen to leave the block. Edges from outside weigh nothing. 0 or
 * -ENOMEM.
 */
int seen_branches_weigh(const struct flow_graph *graph, double most,
			const struct seen_counts *counts, double *weights);
void seen_counts_release(struct seen_counts *counts); /* also right for a zeroed one */
