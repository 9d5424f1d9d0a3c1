/*
 * accuracy - how near estimates of frequencies come to the exact frequencies of a
 * simulated program (simulated_machine.h): the figures of docs/methods.md,
 * "Frequencies", under "Real programs, simulated".
 */
#pragma once

#include <stdint.h>

#include "analyze/flow/frequency.h"
#include "support/simulated_machine.h"

struct pipeline;

#define ACCURACY_GRADES 3 /* of enum frequency_confidence */

/* All are sums; several programs or draws may be added up in one. */
struct accuracy {
	/* Blocks, weighted by samples of cycles (where executions are sampled: by cycles). */
	double samples, within[3];	      /* all; those within 5, 10, 15 % of the truth */
	double graded[ACCURACY_GRADES];	      /* all, by confidence */
	double graded_right[ACCURACY_GRADES]; /* of these within 10 % */
	double wrong, wrong_low;	      /* more than 15 % off; of these of low confidence */
	/* Edges that were taken, weighted by executions. */
	double edges, edges_within; /* all; those within 10 % */
	/* Number of classes with samples and an interval, and of those whose interval holds the
	 * truth, by confidence. */
	double classes[ACCURACY_GRADES], held[ACCURACY_GRADES];
	double widths[ACCURACY_GRADES]; /* of half the interval by the value, at most 1 */
};

/* Adds estimates from the samples that were last drawn, of that period. */
void accuracy_add(struct accuracy *accuracy, const struct simulated_program *program,
		  enum frequency_model model, const struct pipeline *pipeline, double period);
