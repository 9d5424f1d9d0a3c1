/*
 * edge_window - which part of an interpreted path counts. A path starts where time is spent, so
 * paths in a loop start in slow rounds more often than in others, and the rounds after a slow one
 * would be counted too often (docs/methods.md, "Where paths start"). Of a path that goes round a
 * loop for long, a part of the same length but at a random distance from its start counts.
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
	unsigned at;	   /* how many instructions of the path come before it */
	enum interpret_edge kind;
};

/* Whether the path goes round a loop: it takes a conditional branch back, or passes one branch
 * twice. Quadratic. */
bool edge_window_is_loop(const struct edge_outcome *outcomes, size_t count);

/*
 * The first of the EDGE_INSTRUCTIONS that count on a path of `instructions`: 0; but where the path
 * has EDGE_LOOP_INSTRUCTIONS and passes a branch of its start again near its end, each possible
 * position equally often. *turn counts these paths. Quadratic.
 */
unsigned edge_window_first(const struct edge_outcome *outcomes, size_t count, unsigned instructions,
			   uint64_t *turn);
