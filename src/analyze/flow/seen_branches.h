/*
 * seen_branches - what a profile knows of where control went, by the edges of one procedure's
 * graph: branches that were seen to be taken or not, apart from samples. Three kinds that
 * do not mix:
 *
 * - interpreted and stepped: how often each way out of a block was seen to be gone. Their number
 *   says nothing of how often the block ran, only their shares among the ways do;
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
	FLOW_EVIDENCE_INTERPRETED, /* ORIGIN_INTERPRETED */
	FLOW_EVIDENCE_STEPPED,	   /* ORIGIN_STEPPED */
	FLOW_EVIDENCE_COUNTED,	   /* ORIGIN_MEASURED and ORIGIN_IMPORTED, with their runs */
	FLOW_EVIDENCE_KINDS,
};

struct flow_counts {
	double *edges; /* by edge of the graph; NULL: nothing was seen of this procedure */
	/* By block: runs over it, the mean of its instructions. NULL: there are no runs. */
	double *blocks;
	/* Instructions of runs that lie in the procedure, and the cycles that they took where the
	 * processor says; 0: not known. */
	double run_instructions, run_cycles;
	/* Seen at jumps and returns of the procedure: that are an edge of its graph, and that are
	 * none. Calls that come back are neither. */
	uint64_t matched, unmatched;
};

/* Addresses become the file's by the resolver, which is the profile's. 0 or -ENOMEM. */
int seen_branches_new(const struct profile *profile, struct resolver *resolver,
		      struct seen_branches **out);
void seen_branches_free(struct seen_branches *evidence);   /* NULL does nothing */
void seen_branches_freep(struct seen_branches **evidence); /* for CLEANUP() */

/* Whether the profile has any of that kind, of whatever procedure. */
bool seen_branches_has(const struct seen_branches *evidence, enum seen_branches_kind kind);

/*
 * Of the procedure in the image (its id in the profile) whose graph that is. Edges without runs
 * tell only of branches that were taken, so of FLOW_EVIDENCE_COUNTED there is nothing then.
 * For flow_counts_release(). 0, or -ENOMEM with nothing to release. Logarithmic in the evidence,
 * linear in what lies in the procedure.
 */
int seen_branches_count(const struct seen_branches *evidence, uint32_t image, const struct cfg *cfg,
			enum seen_branches_kind kind, struct flow_counts *out);

/*
 * What the outcomes of one block weigh at most, however many there are: they are off by more than
 * chance. Interpreted ones start where time is spent, and weigh less than stepped ones, and less
 * again where the profile has stepped ones too. INFINITY of counted ones.
 */
double seen_branches_most(const struct seen_branches *evidence, enum seen_branches_kind kind);
/*
 * Adds to `weights`, by edge of the graph, what such counts weigh in an estimate: n / (1 + N /
 * most) where N were seen at the block. Ways in from outside weigh nothing. 0 or -ENOMEM.
 */
int seen_branches_weigh(const struct flow_graph *graph, double most,
			const struct flow_counts *counts, double *weights);
void flow_counts_release(struct flow_counts *counts); /* also right for a zeroed one */
