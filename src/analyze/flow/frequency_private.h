/*
 * frequency_private - shared by the files of frequency: frequency_fit.c makes the estimates,
 * frequency_confidence.c finds the interval and confidence of each value, out of order with
 * frequency_relative.c.
 */
#pragma once

#include "analyze/flow/flow_classes.h"
#include "analyze/flow/flow_likelihood.h"
#include "analyze/flow/flow_posterior.h"
#include "analyze/flow/flow_search.h"
#include "analyze/flow/frequency.h"

/* How far stalls make a sum too high, relative to it. */
#define STALLED_RATIO 0.3

/* A class of flow_classes.h, and the estimate of its executions from its own samples alone. */
struct frequency_own {
	double value, error;  /* standard error; NaN when not known */
	double samples, cost; /* sums over its blocks */
	double events;	      /* fit_events, likewise; in order only */
	enum frequency_source source;
	uint32_t points; /* in the cluster that the value is from */
	uint32_t block;	 /* its first; FLOW_OUTSIDE: it has edges only */
};

struct frequency_work {
	const struct frequency_input *input;
	const struct flow_graph *graph;
	struct flow_search search;
	struct flow_classes classes;
	struct frequency_own *own; /* by class */
	/* By block: all samples; cycles or instructions that an execution takes if nothing stalls.
	 */
	double *samples, *costs;
	double *fit_events, *fit_costs; /* by block: the likelihood's input */
	bool *unstalled;		/* by instruction */
	struct flow_likelihood likelihood;
	struct flow_likelihood_result fit; /* the estimate; executions may be the posterior's */
	struct flow_posterior posterior;
	struct flow_likelihood doubting;
	struct flow_likelihood_result doubt; /* in order; only its errors are read */
	enum frequency_source source;	     /* of the fit; not set in order */
	double *distances; /* by block, from the one with most samples; out of order only */
	bool too_few;	   /* samples and branches for more than FREQUENCY_LOW; out of order only */
	double differ;	   /* relative variance of blocks' events about the fit, beyond chance */
	double stalled_ratio; /* of instructions; 0 in other models */
};

static inline struct frequency_own *frequency_own_of(const struct frequency_work *work,
						     uint32_t block)
{
	return &work->own[work->classes.of_block[block]];
}

static inline bool frequency_is_relative(const struct frequency_work *work)
{
	return work->input->model == FREQUENCY_CYCLES_OUT_OF_ORDER;
}

/* Sets work->fit and work->source, by the input's model. 0 or -ENOMEM; where the estimate fails the
 * fit is not converged. */
int frequency_fit(struct frequency_work *work);
/* The options of a likelihood of samples. */
struct flow_likelihood_options frequency_by_samples(const struct frequency_work *work);

/* After the fit, finds what the next two need. 0 or -ENOMEM. */
int frequency_find_errors(struct frequency_work *work);
struct frequency frequency_of_block(const struct frequency_work *work, uint32_t block);
/* Edge number i of the graph; `blocks` are the results of frequency_of_block(). */
struct frequency frequency_of_edge(const struct frequency_work *work,
				   const struct frequency *blocks, size_t i);

/* Out of order: sets work->distances and work->too_few. 0 or -ENOMEM. */
int frequency_find_distances(struct frequency_work *work);
/* Set the interval and confidence of a value that is there. */
void frequency_set_relative_block(const struct frequency_work *work, struct frequency *out,
				  uint32_t block);
void frequency_set_relative_edge(const struct frequency_work *work, struct frequency *out,
				 size_t i);
