/*
 * culprit_accuracy - how near the culprits of stalls (src/analyze/culprits/culprits.h)
 * come to what a simulated machine (simulated_machine.h) really waited for: the figures
 * of docs/methods.md, "Culprits", under "Simulated".
 *
 * Functions end the program when memory runs out.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "analyze/culprits/culprits.h"
#include "support/simulated_machine.h"

struct pipeline;
struct random_state;

/* What is compared, cause by cause: those that the machine knows. */
enum compared_cause {
	COMPARED_FETCH,
	COMPARED_MEMORY, /* loads and stores: what the machine calls data and store */
	COMPARED_TRANSLATION,
	COMPARED_BRANCH,
	COMPARED_DIVIDE,
	COMPARED_CAUSES
};
const char *compared_cause_name(enum compared_cause cause);

/* Of one procedure. */
struct compared_procedure {
	double truth[COMPARED_CAUSES], low[COMPARED_CAUSES], high[COMPARED_CAUSES];
};

/* The stall that costs most, of one program. */
struct worst_stall {
	double cycles;
	bool is_static; /* the larger part of it */
	enum static_cause static_cause;
	/* Dynamic: the first on the list, and what truly cost most; COMPARED_CAUSES: another. */
	enum compared_cause first, truth;
};

/* In cycles; several programs and draws may be added up in one. */
struct culprit_accuracy {
	double cycles;
	double stalls;	    /* dynamic, as they were found */
	double listed;	    /* of these: the cause that truly cost most is on the list */
	double without;	    /* of these: truly without any dynamic cause */
	double causes;	    /* sum of each stall times the number of causes on its list */
	double sole, right; /* of these: one cause on the list; and it is the true one */
	double unexplained; /* and cause "other" */
	double gain, noise; /* net */
	double truth;	    /* true dynamic stalls, found or not */
	struct compared_procedure whole;
	struct worst_stall worst; /* of the program added last */
	struct compared_procedure *procedures;
	size_t procedure_count;
};

enum counted_events { COUNT_NOTHING, COUNT_FETCH_MISSES, COUNT_ALL_EVENTS };

/*
 * Adds the culprits that are estimated from the samples of cycles last drawn, of that period.
 * Samples of `counted` events are drawn from what the program counted, about `event_samples` of
 * each. `machine` is the one that ran it.
 */
void culprit_accuracy_add(struct culprit_accuracy *accuracy,
			  const struct simulated_program *program, const struct pipeline *pipeline,
			  double period, enum counted_events counted, double event_samples,
			  const struct simulated_machine *machine, struct random_state *random);
/* Adds what another one holds. */
void culprit_accuracy_add_up(struct culprit_accuracy *accuracy,
			     const struct culprit_accuracy *other);
void culprit_accuracy_release(struct culprit_accuracy *accuracy);

/* Pearson's correlation, over procedures, of the true cycles of a cause with the middle of its
 * range. NaN: of fewer than 3. */
double culprit_accuracy_correlation(const struct culprit_accuracy *accuracy,
				    enum compared_cause cause);
