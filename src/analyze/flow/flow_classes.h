/*
 * flow_classes - which blocks and edges of a procedure run equally often, whatever
 * the branches do: the equivalence classes of frequency of DCPI (Anderson et al.,
 * "Continuous Profiling: Where Have All the Cycles Gone?", SOSP 1997, 6.1.2).
 *
 * Two of them are in one class when every cycle holds both or neither, where a block
 * is an edge from its start to its end and the graph is closed by outside, which is
 * one node, and by the made-up edges of flow_closure.h. In a graph that is so closed
 * (strongly connected) it comes to the same to disregard directions, and then two
 * edges are in one class exactly when removing both cuts the graph in two
 * (Johnson, Pearson, Pingali, "The Program Structure Tree", PLDI 1994).
 *
 * Which edges those are is read off labels: every edge outside of a spanning tree gets
 * 64 random bits, every edge of the tree the exclusive or of those that span it, and
 * equal labels make a class (the cycle space sampling of Pritchard and Thurimella,
 * "Fast Computation of Small Cuts via Cycle Space Sampling", ACM TALG 2011). Edges of
 * one class always have equal labels; two classes get one label by chance, in one of
 * 10^8 graphs of 100,000 blocks and 200,000 edges. The bits are drawn from the graph's own
 * hash: equal graphs have equal classes, and code cannot be laid out for labels that are known
 * beforehand.
 *
 * In a graph with missing edges nothing is known to run as often as anything else:
 * every block and every edge is a class of its own (DCPI's rule).
 *
 * Linear; 4 bytes a block and edge for the result, up to 60 while it is made.
 */
#pragma once

#include <stdint.h>

struct flow_graph;
struct flow_search;

/* Classes are numbered from 0 as they first appear: in the blocks' order, then in the edges'. */
struct flow_classes {
	uint32_t count;
	uint32_t *of_block;
	uint32_t *of_edge; /* by position in flow_graph.edges */
};

/* `search` is the graph's. For flow_classes_release(). 0, or -ENOMEM with nothing to release. */
int flow_classes_find(const struct flow_graph *graph, const struct flow_search *search,
		      struct flow_classes *classes);
void flow_classes_release(struct flow_classes *classes); /* also right for a zeroed one */
