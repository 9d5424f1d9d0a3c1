/*
 * frequency_private - what the parts of frequency hand each other: frequency_fit.c asks the
 * estimates, frequency_confidence.c says how sure each value is, out of order with
 * frequency_relative.c.
 */
#pragma once

#include "analyze/flow/flow_classes.h"
#include "analyze/flow/flow_likelihood.h"
#include "analyze/flow/flow_posterior.h"
#include "analyze/flow/flow_search.h"
#include "analyze/flow/frequency.h"

/* What a sum is off by stalls, in parts of it. */
#define STALLED_RATIO 0.3

/* What the samples of a class say, and what the others make of it. */
struct frequency_say {
	double value, error;  /* by its own samples; NaN when not known */
	double samples, cost; /* over all of its blocks */
	double events;	      /* of the fit, over all of its blocks */
	enum frequency_source source;
	uint32_t points; /* that agree on the value */
	uint32_t block;	 /* the first of it; FLOW_OUTSIDE: it has edges only */
};

struct frequency_work {
	const struct frequency_input *input;
	const struct flow_graph *graph;
	struct flow_search search;
	struct flow_classes classes;
	struct frequency_say *say; /* by class */
	/* By block: all samples; cycles (or instructions) expected of an execution. */
	double *samples, *costs;
	double *fit_events, *fit_costs; /* by block: what the likelihood is asked */
	bool *unstalled;		/* by instruction */
	struct flow_likelihood likelihood;
	struct flow_likelihood_result fit; /* executions may be the posterior's */
	struct flow_posterior posterior;
	struct flow_likelihood doubting;
	struct flow_likelihood_result doubt; /* in order: its errors are all that is read */
	enum frequency_source source;	     /* of the fit, unless classes tell */
	double *distances;		     /* by block; out of order only */
	bool too_few;			     /* samples and branches, to be sure of anything */
	double differ;			     /* variance, relative, of blocks beyond chance */
	double stalled_ratio;		     /* of instructions; 0 in other models */
};

static inline struct frequency_say *frequency_said_of(const struct frequency_work *work,
						      uint32_t block)
{
	return &work->say[work->classes.of_block[block]];
}

static inline bool frequency_is_relative(const struct frequency_work *work)
{
	return work->input->model == FREQUENCY_CYCLES_OUT_OF_ORDER;
}

/* work->fit and `source`, by the input's model. 0 or -ENOMEM; without an answer the fit is
 * not converged. */
int frequency_fit(struct frequency_work *work);
/* Of a likelihood of samples. */
struct flow_likelihood_options frequency_by_samples(const struct frequency_work *work);

/* What the next two need, after the fit. 0 or -ENOMEM. */
int frequency_find_errors(struct frequency_work *work);
struct frequency frequency_of_block(const struct frequency_work *work, uint32_t block);
/* An edge, by number, of the graph whose blocks are known. */
struct frequency frequency_of_edge(const struct frequency_work *work,
				   const struct frequency *blocks, size_t i);

/* work->distances. 0 or -ENOMEM. */
int frequency_find_distances(struct frequency_work *work);
/* Interval and confidence of a value. */
void frequency_set_relative_block(const struct frequency_work *work, struct frequency *out,
				  uint32_t block);
void frequency_set_relative_edge(const struct frequency_work *work, struct frequency *out,
				 size_t i);
