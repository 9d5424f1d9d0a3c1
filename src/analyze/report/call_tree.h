/*
 * call_tree - the rows of a report that follow call stacks: what a procedure
 * took with all it called, the tree from the outermost frame down, the callers
 * and callees of one procedure. Each sample counts once in each procedure of its
 * stack, however often that one recurs; totals of siblings add up to no more
 * than their parent's.
 */
#pragma once

struct error;
struct report;
struct chosen_samples;

/* Fills report->rows, in order. Returns 0, -ENOENT (no such procedure), -EINVAL (the name is
 * ambiguous) or -ENOMEM. */
int call_tree_fill(struct report *report, const struct chosen_samples *selection,
		   struct error *err);
