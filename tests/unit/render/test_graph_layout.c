#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "base/count_of.h"
#include "base/random.h"
#include "render/graph_layout.h"

static const struct layout_gaps gaps = { .across = 20, .down = 40, .line = 10 };

struct graph {
	struct layout_box *boxes;
	struct layout_edge *edges;
	size_t box_count, edge_count;
	struct graph_layout layout;
};

static void graph_release(struct graph *graph)
{
	free(graph->boxes);
	free(graph->edges);
	graph_layout_release(&graph->layout);
}

static void add_edge(struct graph *graph, uint32_t from, uint32_t to)
{
	graph->edges[graph->edge_count++] = (struct layout_edge){ .from = from, .to = to };
}

static struct graph graph_of(size_t boxes, size_t most_edges)
{
	struct graph graph = { .boxes = calloc(boxes + 1, sizeof(struct layout_box)),
			       .edges = calloc(most_edges + 1, sizeof(struct layout_edge)),
			       .box_count = boxes };
	assert_true(graph.boxes && graph.edges);
	for (size_t b = 0; b < boxes; b++)
		graph.boxes[b] =
			(struct layout_box){ .width = 100, .height = 20 + 10 * (double)(b % 4) };
	return graph;
}

static void lay_out(struct graph *graph)
{
	assert_int_equal(graph_layout_run(graph->boxes, graph->box_count, graph->edges,
					  graph->edge_count, &gaps, &graph->layout),
			 0);
}

/* ---- what every layout has to hold */

static void expect_no_overlaps(const struct graph *graph)
{
	for (size_t a = 0; a < graph->box_count; a++) {
		const struct layout_box *box = &graph->boxes[a];
		assert_true(box->x > -1e-6 && box->x + box->width < graph->layout.width + 1e-6);
		assert_true(box->y > -1e-6 && box->y + box->height < graph->layout.height + 1e-6);
		for (size_t b = 0; b < a; b++) {
			const struct layout_box *other = &graph->boxes[b];
			bool apart = box->x + box->width + gaps.across <= other->x + 1e-6 ||
				     other->x + other->width + gaps.across <= box->x + 1e-6 ||
				     box->y + box->height <= other->y ||
				     other->y + other->height <= box->y;
			if (!apart)
				fail_msg("boxes %zu and %zu overlap", a, b);
		}
	}
}

/* Verticals run beside boxes; curves run between ranks, where no box is. */
static void expect_no_box_crossed(const struct graph *graph, const struct layout_edge *edge)
{
	for (size_t i = 0; i + 1 < edge->point_count; i++) {
		const struct layout_point *a = &edge->points[i], *b = a + 1;
		double top = fmin(a->y, b->y), bottom = fmax(a->y, b->y);
		double left = fmin(a->x, b->x), right = fmax(a->x, b->x);
		if (i % 2 == 0)
			assert_true(left == right);
		for (size_t n = 0; n < graph->box_count; n++) {
			const struct layout_box *box = &graph->boxes[n];
			if (right > box->x + 1e-6 && left < box->x + box->width - 1e-6 &&
			    bottom > box->y + 1e-6 && top < box->y + box->height - 1e-6)
				fail_msg("the edge %u to %u crosses box %zu", edge->from, edge->to,
					 n);
		}
	}
}

static bool on_box(const struct layout_box *box, double x)
{
	return x > box->x && x < box->x + box->width;
}

static void expect_edges(const struct graph *graph)
{
	for (size_t e = 0; e < graph->edge_count; e++) {
		const struct layout_edge *edge = &graph->edges[e];
		const struct layout_box *from = &graph->boxes[edge->from];
		const struct layout_box *to = &graph->boxes[edge->to];
		assert_false(edge->is_straight);
		assert_true(edge->point_count >= 3 && edge->point_count % 2 == 1);
		const struct layout_point *last = &edge->points[edge->point_count - 1];
		assert_true(on_box(from, edge->points[0].x));
		assert_true(edge->points[0].y == from->y + from->height);
		assert_true(on_box(to, last->x) && last->y == to->y);
		if (!edge->is_back)
			assert_true(from->rank < to->rank);
		else
			assert_true(from->rank >= to->rank);
		expect_no_box_crossed(graph, edge);
	}
}

static void expect_sound(const struct graph *graph)
{
	expect_no_overlaps(graph);
	expect_edges(graph);
}

/* ---- graphs */

static void a_condition_in_a_loop_is_drawn_as_one_reads_it(void **state)
{
	(void)state;
	CLEANUP(graph_release) struct graph graph = graph_of(5, 6);
	add_edge(&graph, 0, 1);
	add_edge(&graph, 0, 2);
	add_edge(&graph, 1, 3);
	add_edge(&graph, 2, 3);
	add_edge(&graph, 3, 0);
	add_edge(&graph, 3, 4);
	lay_out(&graph);
	expect_sound(&graph);
	assert_int_equal(graph.boxes[0].rank, 0);
	assert_int_equal(graph.boxes[1].rank, 1);
	assert_int_equal(graph.boxes[2].rank, 1);
	assert_int_equal(graph.boxes[3].rank, 2);
	assert_int_equal(graph.boxes[4].rank, 3);
	for (size_t e = 0; e < graph.edge_count; e++)
		assert_int_equal(graph.edges[e].is_back, e == 4);
	assert_int_equal(graph.layout.crossings, 0);
}

static void a_loop_of_one_box_goes_around_it(void **state)
{
	(void)state;
	CLEANUP(graph_release) struct graph graph = graph_of(1, 1);
	add_edge(&graph, 0, 0);
	lay_out(&graph);
	expect_sound(&graph);
	assert_true(graph.edges[0].is_back);
	assert_int_equal(graph.edges[0].point_count, 5);
}

/* Of five loops side by side each has its line at its own last box, not at another's. */
static void a_line_that_leads_back_begins_beside_its_box(void **state)
{
	(void)state;
	CLEANUP(graph_release) struct graph graph = graph_of(11, 15);
	for (uint32_t loop = 0; loop < 5; loop++) {
		add_edge(&graph, 0, 1 + 2 * loop);
		add_edge(&graph, 1 + 2 * loop, 2 + 2 * loop);
		add_edge(&graph, 2 + 2 * loop, 1 + 2 * loop);
	}
	lay_out(&graph);
	expect_sound(&graph);
	for (size_t e = 0; e < graph.edge_count; e++) {
		const struct layout_edge *edge = &graph.edges[e];
		const struct layout_box *box = &graph.boxes[edge->from];
		double middle = box->x + box->width / 2;
		if (edge->is_back &&
		    fabs(edge->points[2].x - middle) > box->width / 2 + gaps.across + gaps.line)
			fail_msg("the line from box %u is %g px away", edge->from,
				 fabs(edge->points[2].x - middle));
	}
	assert_int_equal(graph.layout.crossings, 0);
}

static void what_need_not_cross_does_not(void **state)
{
	(void)state;
	/* a tree of two: its leaves come in the order that would cross most */
	CLEANUP(graph_release) struct graph graph = graph_of(7, 6);
	add_edge(&graph, 0, 1);
	add_edge(&graph, 0, 2);
	add_edge(&graph, 1, 5);
	add_edge(&graph, 1, 6);
	add_edge(&graph, 2, 3);
	add_edge(&graph, 2, 4);
	lay_out(&graph);
	expect_sound(&graph);
	assert_int_equal(graph.layout.crossings, 0);
	double middle = graph.boxes[0].x;
	assert_true(fabs((graph.boxes[1].x + graph.boxes[2].x) / 2 - middle) < 1);
}

static void a_long_edge_runs_straight_past_a_chain(void **state)
{
	(void)state;
	CLEANUP(graph_release) struct graph graph = graph_of(8, 8);
	for (uint32_t b = 0; b + 1 < 8; b++)
		add_edge(&graph, b, b + 1);
	add_edge(&graph, 0, 7);
	lay_out(&graph);
	expect_sound(&graph);
	const struct layout_edge *edge = &graph.edges[7];
	assert_int_equal(edge->point_count, 3 + 2 * 6);
	for (size_t i = 3; i + 1 < edge->point_count; i++)
		assert_true(fabs(edge->points[i].x - edge->points[2].x) < 1);
}

/* Sparse graphs as code has them: most edges to the next boxes, some far, some back, switches. */
static void random_graphs_are_sound(void **state)
{
	(void)state;
	struct random_state random = random_seed(42);
	for (int round = 0; round < 60; round++) {
		size_t boxes = 1 + random_below(&random, 60);
		CLEANUP(graph_release) struct graph graph = graph_of(boxes, 4 * boxes);
		for (uint32_t b = 0; b < boxes; b++) {
			if (b + 1 < boxes && random_below(&random, 8))
				add_edge(&graph, b, b + 1);
			size_t more = random_below(&random, 10) ? random_below(&random, 2) : 3;
			for (size_t i = 0; i < more; i++)
				add_edge(&graph, b, (uint32_t)random_below(&random, boxes));
		}
		lay_out(&graph);
		expect_sound(&graph);
	}
}

static void none_and_unconnected_boxes_are_graphs_too(void **state)
{
	(void)state;
	CLEANUP(graph_release) struct graph none = graph_of(0, 0);
	CLEANUP(graph_release) struct graph apart = graph_of(5, 0);
	lay_out(&none);
	lay_out(&apart);
	expect_sound(&apart);
	for (size_t b = 0; b < apart.box_count; b++)
		assert_int_equal(apart.boxes[b].rank, 0);
}

/* 30,000 boxes in a chain, each with an edge that passes 20 ranks: more places than are kept. */
static void too_many_places_are_not_made(void **state)
{
	(void)state;
	const size_t boxes = 30000;
	CLEANUP(graph_release) struct graph graph = graph_of(boxes, 2 * boxes);
	size_t straight = 0;
	for (uint32_t b = 0; b + 1 < boxes; b++)
		add_edge(&graph, b, b + 1);
	for (uint32_t b = 0; b + 20 < boxes; b++)
		add_edge(&graph, b, b + 20);
	lay_out(&graph);
	for (size_t e = 0; e < graph.edge_count; e++) {
		straight += graph.edges[e].is_straight;
		assert_true(graph.edges[e].point_count >= 3);
	}
	assert_int_equal(straight, boxes - 20 - LAYOUT_PLACES / 19);
	assert_int_equal(graph.boxes[boxes - 1].rank, boxes - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_condition_in_a_loop_is_drawn_as_one_reads_it),
		cmocka_unit_test(a_loop_of_one_box_goes_around_it),
		cmocka_unit_test(a_line_that_leads_back_begins_beside_its_box),
		cmocka_unit_test(what_need_not_cross_does_not),
		cmocka_unit_test(a_long_edge_runs_straight_past_a_chain),
		cmocka_unit_test(random_graphs_are_sound),
		cmocka_unit_test(none_and_unconnected_boxes_are_graphs_too),
		cmocka_unit_test(too_many_places_are_not_made),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
