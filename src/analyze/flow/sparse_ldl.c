#include "analyze/flow/sparse_ldl.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void sparse_ldl_release(struct sparse_ldl *ldl)
{
	sparse_columns_release(&ldl->columns);
	free(ldl->factor);
	free(ldl->of_entries);
	free(ldl->pivot);
	free(ldl->to_ground);
	free(ldl->ground_resistance);
	free(ldl->scratch);
	free(ldl->near);
	free(ldl->solution);
	free(ldl->loose);
	free(ldl->place_of_edge);
	free(ldl->edges);
	*ldl = (struct sparse_ldl){ 0 };
}

static int reserve_nodes(struct sparse_ldl *ldl, size_t count)
{
	if (count <= ldl->node_capacity)
		return 0;
	if (sparse_grow(&ldl->pivot, count, sizeof(*ldl->pivot)) < 0 ||
	    sparse_grow(&ldl->to_ground, count, sizeof(*ldl->to_ground)) < 0 ||
	    sparse_grow(&ldl->ground_resistance, count, sizeof(*ldl->ground_resistance)) < 0 ||
	    sparse_grow(&ldl->scratch, count, sizeof(*ldl->scratch)) < 0 ||
	    sparse_grow(&ldl->near, count, sizeof(*ldl->near)) < 0 ||
	    sparse_grow(&ldl->solution, count, sizeof(*ldl->solution)) < 0 ||
	    sparse_grow(&ldl->loose, count, sizeof(*ldl->loose)) < 0)
		return -ENOMEM;
	ldl->node_capacity = count;
	return 0;
}

static int reserve_entries(struct sparse_ldl *ldl, size_t count)
{
	if (count <= ldl->entry_capacity)
		return 0;
	if (sparse_grow(&ldl->factor, count, sizeof(*ldl->factor)) < 0 ||
	    sparse_grow(&ldl->of_entries, count, sizeof(*ldl->of_entries)) < 0)
		return -ENOMEM;
	ldl->entry_capacity = count;
	return 0;
}

static int reserve_edges(struct sparse_ldl *ldl, size_t count)
{
	if (count <= ldl->edge_capacity)
		return 0;
	if (sparse_grow(&ldl->place_of_edge, count, sizeof(*ldl->place_of_edge)) < 0 ||
	    sparse_grow(&ldl->edges, count, sizeof(*ldl->edges)) < 0)
		return -ENOMEM;
	ldl->edge_capacity = count;
	return 0;
}

int sparse_ldl_analyse(struct sparse_ldl *ldl, uint32_t node_count, const struct sparse_edge *edges,
		       size_t edge_count)
{
	ldl->node_count = 0;
	ldl->edge_count = 0;
	int ret = sparse_columns_make(&ldl->columns, node_count, edges, edge_count);
	if (ret < 0)
		return ret;
	ldl->entry_count = ldl->columns.entry_count;
	if (reserve_nodes(ldl, node_count + (size_t)1) < 0 ||
	    reserve_entries(ldl, ldl->entry_count + 1) < 0 ||
	    reserve_edges(ldl, edge_count + 1) < 0)
		return -ENOMEM;
	ldl->node_count = node_count;
	for (size_t i = 0; i < edge_count; i++) {
		ldl->edges[i] = edges[i];
		uint32_t a = edges[i].a, b = edges[i].b;
		assert(a != b);
		if (a == SPARSE_GROUND || b == SPARSE_GROUND) {
			ldl->place_of_edge[i] =
				ldl->columns.position_of[a == SPARSE_GROUND ? b : a];
			continue;
		}
		ldl->place_of_edge[i] = sparse_columns_entry(
			&ldl->columns, ldl->columns.position_of[a], ldl->columns.position_of[b]);
	}
	ldl->edge_count = edge_count;
	return 0;
}

static bool to_ground(const struct sparse_edge *edge)
{
	return edge->a == SPARSE_GROUND || edge->b == SPARSE_GROUND;
}

/*
 * Eliminating node k adds w_ik w_jk / d_k to the conductance between i and j, and
 * w_ik g_k / d_k to that between i and the ground; L_ik = w_ik / d_k. Each column
 * collects that from the columns before it (left-looking).
 */
static int factor_column(struct sparse_ldl *ldl, uint32_t column)
{
	const size_t *start = ldl->columns.start;
	const uint32_t *rows = ldl->columns.rows;
	double *sum = ldl->scratch;
	for (size_t e = start[column]; e < start[column + 1]; e++)
		sum[rows[e]] = ldl->factor[e];
	for (uint32_t k = ldl->columns.first[column], after; k != SPARSE_NO_COLUMN; k = after) {
		after = ldl->columns.next[k];
		size_t at = ldl->columns.cursor[k]++;
		double share = ldl->factor[at];
		double passed = share * ldl->pivot[k];
		ldl->to_ground[column] += share * ldl->to_ground[k];
		for (size_t e = at + 1; e < start[k + 1]; e++)
			sum[rows[e]] += ldl->factor[e] * passed;
		sparse_columns_wait(&ldl->columns, k);
	}
	double pivot = ldl->to_ground[column];
	for (size_t e = start[column]; e < start[column + 1]; e++)
		pivot += sum[rows[e]];
	if (!(pivot >= 0 && isfinite(pivot)))
		return -EDOM;
	ldl->loose_count += pivot == 0;
	ldl->pivot[column] = pivot;
	for (size_t e = start[column]; e < start[column + 1]; e++)
		ldl->factor[e] = pivot > 0 ? sum[rows[e]] / pivot : 0;
	ldl->columns.cursor[column] = start[column];
	sparse_columns_wait(&ldl->columns, column);
	return 0;
}

int sparse_ldl_factor(struct sparse_ldl *ldl, const double *weights)
{
	ldl->loose_count = 0;
	for (size_t e = 0; e < ldl->entry_count; e++)
		ldl->factor[e] = 0;
	for (uint32_t at = 0; at < ldl->node_count; at++) {
		ldl->to_ground[at] = 0;
		ldl->columns.first[at] = SPARSE_NO_COLUMN;
	}
	for (size_t i = 0; i < ldl->edge_count; i++) {
		double *to = to_ground(&ldl->edges[i]) ? ldl->to_ground : ldl->factor;
		to[ldl->place_of_edge[i]] += weights[i];
	}
	int ret = 0;
	for (uint32_t column = 0; column < ldl->node_count && ret == 0; column++)
		ret = factor_column(ldl, column);
	return ret;
}

/* By position: D^-1 (1 - L)^-1 values. */
static void solve_forward(const struct sparse_ldl *ldl, const double *values)
{
	const size_t *start = ldl->columns.start;
	double *x = ldl->solution;
	for (uint32_t at = 0; at < ldl->node_count; at++)
		x[at] = values[ldl->columns.nodes[at]];
	for (uint32_t column = 0; column < ldl->node_count; column++) {
		for (size_t e = start[column]; e < start[column + 1]; e++)
			x[ldl->columns.rows[e]] += ldl->factor[e] * x[column];
		x[column] = ldl->pivot[column] > 0 ? x[column] / ldl->pivot[column] : 0;
	}
}

void sparse_ldl_solve(struct sparse_ldl *ldl, double *values)
{
	const size_t *start = ldl->columns.start;
	double *x = ldl->solution;
	solve_forward(ldl, values);
	for (uint32_t column = ldl->node_count; column-- > 0;)
		for (size_t e = start[column]; e < start[column + 1]; e++)
			x[column] += ldl->factor[e] * x[ldl->columns.rows[e]];
	for (uint32_t at = 0; at < ldl->node_count; at++)
		values[ldl->columns.nodes[at]] = x[at];
}

/*
 * With x_j = z_j + sum_m L_jm x_m over its later neighbours, the difference to one of them is
 *
 *     x_j - x_k = z_j + sum_m L_jm (x_m - x_k) - (1 - sum_m L_jm) x_k
 *
 * where the last factor is the share of the ground. `solution` holds z at this column
 * and x after it; `near`, by position, the sum.
 */
static void differ_column(struct sparse_ldl *ldl, uint32_t column, double *difference)
{
	const size_t *start = ldl->columns.start;
	const uint32_t *rows = ldl->columns.rows;
	size_t begin = start[column], end = start[column + 1];
	double *share = ldl->scratch, *near = ldl->near, *x = ldl->solution;
	double own = x[column], pivot = ldl->pivot[column];
	double ground_share = pivot > 0 ? ldl->to_ground[column] / pivot : 0;

	for (size_t e = begin; e < end; e++) {
		share[rows[e]] = ldl->factor[e];
		near[rows[e]] = 0;
		x[column] += ldl->factor[e] * x[rows[e]];
	}
	for (size_t e = begin; e + 1 < end; e++) {
		uint32_t row = rows[e];
		for (size_t f = start[row]; f < start[row + 1]; f++) {
			near[row] -= share[rows[f]] * difference[f];
			near[rows[f]] += ldl->factor[e] * difference[f];
		}
	}
	for (size_t e = begin; e < end; e++) {
		difference[e] = own + near[rows[e]] - ground_share * x[rows[e]];
		share[rows[e]] = 0;
	}
}

void sparse_ldl_differences(struct sparse_ldl *ldl, const double *values, double *by_edge)
{
	double *difference = ldl->of_entries;
	solve_forward(ldl, values);
	for (uint32_t at = 0; at < ldl->node_count; at++)
		ldl->scratch[at] = 0;
	for (uint32_t column = ldl->node_count; column-- > 0;)
		differ_column(ldl, column, difference);
	for (size_t i = 0; i < ldl->edge_count; i++) {
		size_t place = ldl->place_of_edge[i];
		uint32_t a = ldl->edges[i].a, b = ldl->edges[i].b;
		if (a == SPARSE_GROUND)
			by_edge[i] = -ldl->solution[place];
		else if (b == SPARSE_GROUND)
			by_edge[i] = ldl->solution[place];
		else if (ldl->columns.position_of[a] < ldl->columns.position_of[b])
			by_edge[i] = difference[place];
		else
			by_edge[i] = -difference[place];
	}
}

/*
 * A node's potential is the mean of its later neighbours', weighted by L (ground
 * with what L lacks of 1), plus 1/d of a current into it. With resistances as squared distances
 * (of points p with |p_a - p_b|^2 = R_ab) the node k is 1/d beside the mean of
 * its neighbours, so
 *
 *     R_ik = 1/d + sum_j L_jk R_ij - sum_{j<m} L_jk L_mk R_jm
 *
 * over its later neighbours j, m and the ground. All pairs of those are in the pattern.
 * `near`, by position, is sum_j L_jk R_ij for each later neighbour i of this column.
 */
static void resist_column(struct sparse_ldl *ldl, uint32_t column, double *near)
{
	const size_t *start = ldl->columns.start;
	const uint32_t *rows = ldl->columns.rows;
	size_t begin = start[column], end = start[column + 1];
	double *share = ldl->scratch, pivot = ldl->pivot[column];
	double ground_share = pivot > 0 ? ldl->to_ground[column] / pivot : 0;
	double own = pivot > 0 ? 1 / pivot : 0;
	double ground_near = 0;

	for (size_t e = begin; e < end; e++) {
		share[rows[e]] = ldl->factor[e];
		near[rows[e]] = ground_share * ldl->ground_resistance[rows[e]];
		ground_near += ldl->factor[e] * ldl->ground_resistance[rows[e]];
	}
	for (size_t e = begin; e + 1 < end; e++) {
		uint32_t row = rows[e];
		for (size_t f = start[row]; f < start[row + 1]; f++) {
			near[row] += share[rows[f]] * ldl->of_entries[f];
			near[rows[f]] += ldl->factor[e] * ldl->of_entries[f];
		}
	}
	double among = ground_share * ground_near;
	for (size_t e = begin; e < end; e++)
		among += ldl->factor[e] * near[rows[e]];
	for (size_t e = begin; e < end; e++) {
		ldl->of_entries[e] = own + near[rows[e]] - among / 2;
		share[rows[e]] = 0;
	}
	ldl->ground_resistance[column] = own + ground_near - among / 2;
}

/* A part is loose when its last node has no way to the ground; the others hang on later ones. */
static void mark_loose(struct sparse_ldl *ldl)
{
	const size_t *start = ldl->columns.start;
	for (uint32_t column = ldl->node_count; column-- > 0;) {
		bool loose = ldl->to_ground[column] == 0;
		for (size_t e = start[column]; loose && e < start[column + 1]; e++)
			if (ldl->factor[e] != 0 && !ldl->loose[ldl->columns.rows[e]])
				loose = false;
		ldl->loose[column] = loose;
	}
}

void sparse_ldl_resistances(struct sparse_ldl *ldl, double *by_edge, double *by_node)
{
	for (uint32_t at = 0; at < ldl->node_count; at++)
		ldl->scratch[at] = 0;
	for (uint32_t column = ldl->node_count; column-- > 0;)
		resist_column(ldl, column, ldl->near);
	if (by_node) {
		mark_loose(ldl);
		for (uint32_t at = 0; at < ldl->node_count; at++)
			by_node[ldl->columns.nodes[at]] =
				ldl->loose[at] ? INFINITY : ldl->ground_resistance[at];
	}
	for (size_t i = 0; by_edge && i < ldl->edge_count; i++)
		by_edge[i] = to_ground(&ldl->edges[i])
				     ? ldl->ground_resistance[ldl->place_of_edge[i]]
				     : ldl->of_entries[ldl->place_of_edge[i]];
}
