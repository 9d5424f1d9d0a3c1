/*
 * accuracy - how near estimates of frequencies come to what is exactly known of a
 * simulated program (simulated_machine.h): the figures of docs/methods.md,
 * "Frequencies", under "Real programs, simulated".
 */
#pragma once

#include <stdint.h>

#include "analyze/flow/frequency.h"
#include "support/simulated_machine.h"

struct pipeline;

#define ACCURACY_GRADES 3 /* of enum frequency_confidence */

/* Sums; several programs or draws may be added up in one. */
struct accuracy {
	/* Blocks by samples of cycles (of executions: by the cycles that they took). */
	double samples, within[3];	      /* of 5, 10, 15 % */
	double graded[ACCURACY_GRADES];	      /* by confidence */
	double graded_right[ACCURACY_GRADES]; /* of these within 10 % */
	double wrong, wrong_low;	      /* more than 15 % off; and marked low */
	/* Edges that were taken, by executions. */
	double edges, edges_within; /* 10 % */
	/* Classes with samples and an interval, each counting one, by confidence. */
	double classes[ACCURACY_GRADES], held[ACCURACY_GRADES];
	double widths[ACCURACY_GRADES]; /* sum of half the interval by the value, at most 1 */
};

/* Estimates from the samples that were last drawn, with that period. */
void accuracy_add(struct accuracy *accuracy, const struct simulated_program *program,
		  enum frequency_model model, const struct pipeline *pipeline, double period);
