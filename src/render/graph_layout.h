/*
 * graph_layout - where the boxes of a directed graph go, and the lines between them: in
 * ranks from top to bottom, so that control flows downwards but in loops. After Sugiyama, Tagawa
 * and Toda, "Methods for Visual Understanding of Hierarchical System Structures" (1981):
 *
 * A depth-first search from the first box finds the edges that lead back; a box's rank is the
 * longest path to it by the others. An edge that passes ranks takes a narrow place in each, and
 * one that leads back such a place beside both its ends too. Places of a rank are ordered by the
 * mean of their neighbours', down and up in turn, LAYOUT_SWEEPS times at most; the order with the
 * fewest crossings stays. Then each is moved as near to its neighbours as the order allows, by
 * least squares (pooled adjacent violators).
 *
 * No two boxes overlap, and no line crosses a box. Nothing recurses. Time is O((n + p) log (n + p))
 * for n boxes and p places; p is at most LAYOUT_PLACES, and edges beyond that are drawn straight,
 * over whatever is there (`is_straight`).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LAYOUT_SWEEPS 12
#define LAYOUT_PLACES 200000

struct layout_box {
	double width, height; /* given */
	double x, y;	      /* of the upper left corner */
	uint32_t rank;
};

/* A corner of a line. Lines and curves take turns: vertical from points[0] to [1], curved to [2],
 * vertical to [3], ..., curved to the last. */
struct layout_point {
	double x, y;
	double pull; /* of the curve here: where its control point is, below (> 0) or above */
};

struct layout_edge {
	uint32_t from, to; /* given */
	bool is_back;	   /* leads back; of a loop, or from a box to itself */
	bool is_straight;
	struct layout_point *points;
	size_t point_count; /* odd */
};

struct layout_gaps {
	double across; /* between neighbours of a rank */
	double down;   /* between ranks */
	double line;   /* the width of a line's place */
};

struct graph_layout {
	double width, height;
	size_t crossings;	     /* of lines between neighbouring ranks */
	struct layout_point *points; /* of all edges */
};

/* Fills what is not given. For graph_layout_release(). 0, or -ENOMEM with nothing to release. */
int graph_layout_run(struct layout_box *boxes, size_t box_count, struct layout_edge *edges,
		     size_t edge_count, const struct layout_gaps *gaps, struct graph_layout *out);
void graph_layout_release(struct graph_layout *layout); /* also right for a zeroed one */
