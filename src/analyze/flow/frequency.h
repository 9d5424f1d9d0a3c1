/*
 * frequency - how often each block and edge of one procedure ran, from samples by instruction:
 * by which of the estimates of flow_clusters.h, flow_likelihood.h and flow_posterior.h, with what
 * interval and with what confidence.
 * Anderson et al., "Continuous profiling: where have all the cycles gone?", SOSP 1997, section 6.1;
 * the rules are in docs/methods.md, "Frequencies".
 *
 * An unknown value is NaN, never 0. Pure. Time and memory are those of flow_clusters_estimate()
 * (in order only), of one flow_likelihood_solve(), in order five, and with evidence of one
 * flow_posterior_solve().
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/flow/flow_clusters.h"

struct flow_graph;

/* What the samples are of. */
enum frequency_model {
	/* cycles, each at the instruction that waits to be issued: stalls are told apart */
	FREQUENCY_CYCLES_IN_ORDER,
	/* an event that is as likely at each instruction executed, as `instructions` is */
	FREQUENCY_EXECUTIONS,
	/* cycles, somewhere near: an instruction is taken to cost the same everywhere */
	FREQUENCY_CYCLES_OUT_OF_ORDER,
	/* no samples: executions of blocks and edges themselves, seen in branch stacks */
	FREQUENCY_COUNTS,
};

/* Where the value comes from. */
enum frequency_source {
	FREQUENCY_UNKNOWN,    /* nothing; value, low and high are NaN */
	FREQUENCY_CLUSTER,    /* points of its class that did not stall */
	FREQUENCY_SUM,	      /* all samples of its class, stalls and all */
	FREQUENCY_PROPAGATED, /* by conservation of flow, from the others */
	FREQUENCY_LIKELIHOOD, /* all samples of the procedure at once */
	FREQUENCY_POSTERIOR,  /* those, and the outcomes of branches */
	FREQUENCY_COUNTED,    /* counts of blocks and edges */
};

enum frequency_confidence {
	FREQUENCY_LOW,
	FREQUENCY_MEDIUM, /* its interval is narrow; out of order, beside the hottest blocks' */
	FREQUENCY_HIGH,	  /* its class and the others agree closely; never out of order */
};

struct frequency {
	/* Executions in units of the samples' mean period (in cycles or executions). */
	double value;
	double low, high; /* 95 %; NaN when the error is not known */
	enum frequency_source source;
	enum frequency_confidence confidence;
};

/* Borrowed; numbers are the caller's promise, as in flow_clusters.h. */
struct frequency_input {
	const struct flow_graph *graph; /* settled */
	enum frequency_model model;
	uint32_t instruction_count;
	const struct flow_range *blocks; /* its instructions, by block of the graph */
	const double *samples;		 /* by instruction: >= 0, finite */
	/*
	 * By edge of the graph: how often it was seen to be taken, weighted as
	 * seen_branches_weigh() does; >= 0, finite. NULL: none. Read for
	 * FREQUENCY_CYCLES_OUT_OF_ORDER only.
	 */
	const double *evidence;
	/* For FREQUENCY_COUNTS, which reads nothing else: by block, and by edge (those from
	 * outside are not read). */
	const double *counted_blocks, *counted_edges;
	/* By instruction; read for FREQUENCY_CYCLES_IN_ORDER only. */
	const double *issue_cycles;
	const uint32_t *waits_for;
};

struct frequencies {
	struct frequency *blocks; /* by block */
	struct frequency *edges;  /* by edge of the graph; in the same memory */
	/*
	 * Out of order, values are right up to a factor of the procedure's own, which is not known:
	 * they can be compared with each other and with nothing else. Intervals are relative to the
	 * block with the most samples.
	 */
	bool is_relative;
};

/*
 * For frequencies_release(). 0, or with nothing to release -ENOMEM. Where there is no
 * likelihood (sparse_order.h: too tangled) blocks have their classes' own estimates, and edges of
 * no block's class are unknown. Where no cycles are expected anywhere, everything is unknown.
 */
int frequencies_new(const struct frequency_input *input, struct frequencies *out);
void frequencies_release(struct frequencies *frequencies); /* also right for a zeroed one */
