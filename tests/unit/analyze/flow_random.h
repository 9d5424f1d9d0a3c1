/*
 * flow_random - flow graphs of all shapes for tests, equal for equal seeds: chains,
 * forward and backward branches, self-loops, tables of many targets, several entries,
 * loops that nothing enters or leaves, and blocks that nothing leads to.
 */
#pragma once

#include <stdint.h>

struct flow_graph;
struct random_state;

/* A settled graph of that many blocks, for flow_graph_release(). Fails the test on no memory. */
void flow_random(struct flow_graph *graph, uint32_t blocks, struct random_state *random);
