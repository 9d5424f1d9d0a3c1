/*
 * flow_distance - how surely the executions of each block are known relative to those of one of
 * them, by the branches that were seen between: the variance of the logarithm of their ratio, over
 * the path, along edges or against them, for which it is least. An edge from a to b, of executions
 * x, adds
 *
 *     (1 - x/f_a) / (x/f_a (1 + m_a))  +  0.3 (1 - x/f_b)^2
 *
 * where m_a outcomes of a's branch were seen: what chance leaves of the share of a that goes that
 * way, and what the other ways into b may be off by. docs/methods.md, "Frequencies", has what
 * such distances foretell.
 */
#pragma once

#include <stdint.h>

struct flow_graph;

/*
 * `block_executions` and `edge_executions` are an estimate, finite and >= 0; `evidence` by edge as
 * flow_posterior_solve() has it, or NULL: none. Fills `distances`, by block: 0 at `from`; INFINITY
 * where no way with executions leads. O(edges log edges). 0, or -ENOMEM with nothing filled.
 */
int flow_distance_find(const struct flow_graph *graph, const double *block_executions,
		       const double *edge_executions, const double *evidence, uint32_t from,
		       double *distances);
/* What that edge adds; `seen` is m_a, INFINITY where a has one way out. INFINITY: no executions. */
double flow_distance_of_edge(double edge, double from_executions, double to_executions,
			     double seen);
