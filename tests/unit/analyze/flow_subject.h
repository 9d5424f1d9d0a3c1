/*
 * flow_subject - graphs to try the analyses of src/analyze/flow on: written down,
 * drawn at random, or large and of a shape that a careless algorithm is slow on.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "analyze/flow/flow_graph.h"
#include "analyze/flow/flow_search.h"
#include "base/random.h"

#define OUT FLOW_OUTSIDE

struct flow_pair {
	uint32_t from, to;
};

struct flow_subject {
	struct flow_graph graph;
	struct flow_search search;
};

/* Adds an edge of a kind that fits; the entry is block 0. Fails the test when it cannot. */
void flow_subject_add(struct flow_graph *graph, uint32_t from, uint32_t to);
/* Settles the graph, which becomes the subject's, and searches it. */
struct flow_subject flow_subject_of(struct flow_graph *graph);
/* Of edges that an array lists. */
struct flow_subject flow_subject_new(uint32_t blocks, const struct flow_pair *pairs, size_t count);
#define FLOW_SUBJECT(blocks, ...)                                                                  \
	flow_subject_new(blocks, (const struct flow_pair[]){ __VA_ARGS__ },                        \
			 sizeof((const struct flow_pair[]){ __VA_ARGS__ }) /                       \
				 sizeof(struct flow_pair))
/* Of 1 to `most` blocks, from nearly no edges to many, with and without ways in and out. */
struct flow_subject flow_subject_random(struct random_state *random, uint32_t most);
void flow_subject_release(struct flow_subject *subject);

/* Shapes that careless algorithms take quadratic time or a deep stack for; block 0 is the entry. */
enum flow_shape {
	FLOW_LADDER, /* if without else, over and over: 2i to 2i+1 and 2i+2, 2i+1 to 2i+2 */
	/*
	 * Half as many loops as blocks, each in the one before: block i is the header of level
	 * i, from 0 on; the ends of the levels follow from the innermost out, and each leads back
	 * to its header and on to the next end.
	 */
	FLOW_NEST,
	FLOW_ENTERED_NEST, /* where control also comes from outside to each end */
	FLOW_TANGLE, /* a path, with an edge from each block to the next but one and to the last but
			one: irreducible throughout */
	FLOW_COMB, /* two paths from block 0; every block of the second leads to the first's end */
	FLOW_FAN,  /* a path whose end leads back to every block */
	FLOW_SWITCH, /* block 0 to all others but the last, and they to the last */
	FLOW_SHAPES,
};

/* Of `blocks`, which are 3 at least; a nest has one less when that is odd, a ladder one more when
 * it is even. */
struct flow_subject flow_subject_shape(enum flow_shape shape, uint32_t blocks);

/* Far above what n log n takes for shapes of 100,000 blocks, also under a sanitizer, and below
 * what n^2 does. */
#define FLOW_SUBJECT_SECONDS 5.0

static inline double cpu_seconds(void)
{
	return (double)clock() / CLOCKS_PER_SEC;
}
