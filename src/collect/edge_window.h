/*
 * edge_window - which part of an interpreted path counts. A path starts where time is spent, so of
 * those in a loop more than their share start in a slow round, and the rounds that follow it within
 * a path are seen more often than others (docs/methods.md, "Where paths start"). Of a path that
 * goes round a loop for long a part counts that lies at random in it: as many instructions, but
 * near no start more than near others.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "isa/interpret.h"

#define EDGE_INSTRUCTIONS      INTERPRET_LIMIT_USUAL /* of a path, that count at most */
#define EDGE_LOOP_INSTRUCTIONS 120u		     /* followed where a path goes round a loop */

struct edge_outcome {
	uint64_t from, to; /* addresses of the process */
	unsigned at;	   /* instructions of the path before it */
	enum interpret_edge kind;
};

/* Whether the path goes round: back by a condition, or by one branch twice. Quadratic. */
bool edge_window_is_loop(const struct edge_outcome *outcomes, size_t count);

/*
 * The first instruction that counts, of EDGE_INSTRUCTIONS, on a path of so many: 0; but where it
 * went on to EDGE_LOOP_INSTRUCTIONS and at its end still comes by a branch of its start, each place
 * equally often. *turn counts these paths. Quadratic.
 */
unsigned edge_window_first(const struct edge_outcome *outcomes, size_t count, unsigned instructions,
			   uint64_t *turn);
