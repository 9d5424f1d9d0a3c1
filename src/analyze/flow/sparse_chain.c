#include "analyze/flow/sparse_chain.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* Where the probability of an edge is added. */
enum way {
	WAY_FROM_ROW, /* of the entry */
	WAY_TO_ROW,
	WAY_TO_GROUND, /* of the position */
	WAY_TO_ITSELF, /* nowhere: it is what the others leave */
};

void sparse_chain_release(struct sparse_chain *chain)
{
	sparse_columns_release(&chain->columns);
	free(chain->from_row);
	free(chain->share_to_row);
	free(chain->away);
	free(chain->share_to_ground);
	free(chain->sum_from);
	free(chain->sum_to);
	free(chain->solution);
	free(chain->place_of_edge);
	free(chain->way_of_edge);
	*chain = (struct sparse_chain){ 0 };
}

static int reserve(struct sparse_chain *chain, size_t nodes, size_t entries, size_t edges)
{
	if (nodes > chain->node_capacity) {
		if (sparse_grow(&chain->away, nodes, sizeof(*chain->away)) < 0 ||
		    sparse_grow(&chain->share_to_ground, nodes, sizeof(*chain->share_to_ground)) <
			    0 ||
		    sparse_grow(&chain->sum_from, nodes, sizeof(*chain->sum_from)) < 0 ||
		    sparse_grow(&chain->sum_to, nodes, sizeof(*chain->sum_to)) < 0 ||
		    sparse_grow(&chain->solution, nodes, sizeof(*chain->solution)) < 0)
			return -ENOMEM;
		chain->node_capacity = nodes;
	}
	if (entries > chain->entry_capacity) {
		if (sparse_grow(&chain->from_row, entries, sizeof(*chain->from_row)) < 0 ||
		    sparse_grow(&chain->share_to_row, entries, sizeof(*chain->share_to_row)) < 0)
			return -ENOMEM;
		chain->entry_capacity = entries;
	}
	if (edges > chain->edge_capacity) {
		if (sparse_grow(&chain->place_of_edge, edges, sizeof(*chain->place_of_edge)) < 0 ||
		    sparse_grow(&chain->way_of_edge, edges, sizeof(*chain->way_of_edge)) < 0)
			return -ENOMEM;
		chain->edge_capacity = edges;
	}
	return 0;
}

static void place_edge(struct sparse_chain *chain, const struct sparse_edge *edge, size_t i)
{
	const struct sparse_columns *columns = &chain->columns;
	uint32_t from = columns->position_of[edge->a], to = from;
	chain->way_of_edge[i] = edge->b == edge->a ? WAY_TO_ITSELF : WAY_TO_GROUND;
	chain->place_of_edge[i] = from;
	if (edge->b == SPARSE_GROUND || edge->b == edge->a)
		return;
	to = columns->position_of[edge->b];
	chain->way_of_edge[i] = from < to ? WAY_TO_ROW : WAY_FROM_ROW;
	chain->place_of_edge[i] = sparse_columns_entry(columns, from, to);
}

int sparse_chain_analyse(struct sparse_chain *chain, uint32_t node_count,
			 const struct sparse_edge *edges, size_t edge_count)
{
	chain->node_count = 0;
	chain->edge_count = 0;
	struct sparse_edge *others = malloc((edge_count + 1) * sizeof(*others));
	if (!others)
		return -ENOMEM;
	size_t count = 0;
	for (size_t i = 0; i < edge_count; i++) {
		assert(edges[i].a < node_count);
		if (edges[i].a != edges[i].b)
			others[count++] = edges[i];
	}
	int ret = sparse_columns_make(&chain->columns, node_count, others, count);
	free(others);
	if (ret == 0)
		ret = reserve(chain, node_count + (size_t)1, chain->columns.entry_count + 1,
			      edge_count + 1);
	if (ret < 0)
		return ret;
	chain->node_count = node_count;
	for (size_t i = 0; i < edge_count; i++)
		place_edge(chain, &edges[i], i);
	chain->edge_count = edge_count;
	return 0;
}

/*
 * Eliminating node k adds p_ik p_kj / (1 - p_kk) to p_ij, of whatever i and j. Each column collects
 * that from the columns before it (left-looking).
 */
static int factor_column(struct sparse_chain *chain, uint32_t column)
{
	const size_t *start = chain->columns.start;
	const uint32_t *rows = chain->columns.rows;
	double *sum_from = chain->sum_from, *sum_to = chain->sum_to;
	double ground = chain->share_to_ground[column];
	for (size_t e = start[column]; e < start[column + 1]; e++) {
		sum_from[rows[e]] = chain->from_row[e];
		sum_to[rows[e]] = chain->share_to_row[e];
	}
	for (uint32_t k = chain->columns.first[column], after; k != SPARSE_NO_COLUMN; k = after) {
		after = chain->columns.next[k];
		size_t at = chain->columns.cursor[k]++;
		double to_k = chain->from_row[at], from_k = chain->share_to_row[at];
		ground += to_k * chain->share_to_ground[k];
		for (size_t e = at + 1; e < start[k + 1]; e++) {
			sum_to[rows[e]] += to_k * chain->share_to_row[e];
			sum_from[rows[e]] += chain->from_row[e] * from_k;
		}
		sparse_columns_wait(&chain->columns, k);
	}
	double away = ground;
	for (size_t e = start[column]; e < start[column + 1]; e++)
		away += sum_to[rows[e]];
	if (!isfinite(1 / away))
		return -EDOM;
	chain->away[column] = away;
	chain->share_to_ground[column] = ground / away;
	for (size_t e = start[column]; e < start[column + 1]; e++) {
		chain->from_row[e] = sum_from[rows[e]];
		chain->share_to_row[e] = sum_to[rows[e]] / away;
	}
	chain->columns.cursor[column] = start[column];
	sparse_columns_wait(&chain->columns, column);
	return 0;
}

int sparse_chain_factor(struct sparse_chain *chain, const double *probabilities)
{
	for (size_t e = 0; e < chain->columns.entry_count; e++)
		chain->from_row[e] = chain->share_to_row[e] = 0;
	for (uint32_t at = 0; at < chain->node_count; at++) {
		chain->share_to_ground[at] = 0;
		chain->columns.first[at] = SPARSE_NO_COLUMN;
	}
	double *const of_way[] = { [WAY_FROM_ROW] = chain->from_row,
				   [WAY_TO_ROW] = chain->share_to_row,
				   [WAY_TO_GROUND] = chain->share_to_ground,
				   [WAY_TO_ITSELF] = NULL };
	for (size_t i = 0; i < chain->edge_count; i++)
		if (of_way[chain->way_of_edge[i]])
			of_way[chain->way_of_edge[i]][chain->place_of_edge[i]] += probabilities[i];
	int ret = 0;
	for (uint32_t column = 0; column < chain->node_count && ret == 0; column++)
		ret = factor_column(chain, column);
	return ret;
}

void sparse_chain_visits(struct sparse_chain *chain, double *values)
{
	const struct sparse_columns *columns = &chain->columns;
	const size_t *start = columns->start;
	double *x = chain->solution;
	for (uint32_t at = 0; at < chain->node_count; at++)
		x[at] = values[columns->nodes[at]];
	for (uint32_t column = 0; column < chain->node_count; column++)
		for (size_t e = start[column]; e < start[column + 1]; e++)
			x[columns->rows[e]] += chain->share_to_row[e] * x[column];
	for (uint32_t column = chain->node_count; column-- > 0;) {
		for (size_t e = start[column]; e < start[column + 1]; e++)
			x[column] += x[columns->rows[e]] * chain->from_row[e];
		x[column] /= chain->away[column];
	}
	for (uint32_t at = 0; at < chain->node_count; at++)
		values[columns->nodes[at]] = x[at];
}

void sparse_chain_values(struct sparse_chain *chain, double *values)
{
	const struct sparse_columns *columns = &chain->columns;
	const size_t *start = columns->start;
	double *x = chain->solution;
	for (uint32_t at = 0; at < chain->node_count; at++)
		x[at] = values[columns->nodes[at]];
	for (uint32_t column = 0; column < chain->node_count; column++) {
		x[column] /= chain->away[column];
		for (size_t e = start[column]; e < start[column + 1]; e++)
			x[columns->rows[e]] += chain->from_row[e] * x[column];
	}
	for (uint32_t column = chain->node_count; column-- > 0;)
		for (size_t e = start[column]; e < start[column + 1]; e++)
			x[column] += chain->share_to_row[e] * x[columns->rows[e]];
	for (uint32_t at = 0; at < chain->node_count; at++)
		values[columns->nodes[at]] = x[at];
}
