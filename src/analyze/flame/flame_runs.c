#include "analyze/flame/flame_runs.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/compare/compare_runs.h"
#include "analyze/runs/run_noise.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/hash_index.h"

static int out_of_memory(struct error *err)
{
	return error_set(err, -ENOMEM, "out of memory telling runs apart");
}

/* ---- the same frame, the same column */

/* As flame_grow() has it, but that images do not count where they were not compared. */
static bool same_label(const struct flame *tree, const struct flame_label *a,
		       const struct flame_label *b)
{
	return (a->kind == FLAME_INLINED) == (b->kind == FLAME_INLINED) &&
	       (a->kind == FLAME_GROUP) == (b->kind == FLAME_GROUP) &&
	       (a->source != FLAME_FROM_TEXT || b->source != FLAME_FROM_TEXT ||
		(a->kind == FLAME_KERNEL) == (b->kind == FLAME_KERNEL)) &&
	       strcmp(a->name, b->name) == 0 &&
	       (tree->by_name_alone || strcmp(a->image, b->image) == 0);
}

/* Finds the tree's frames by what one reads from the root on. */
struct frames {
	const struct flame *tree;
	uint32_t *first;	    /* by label: the first that is the same */
	struct hash_index labels;   /* positions in tree->labels of those firsts */
	struct hash_index children; /* positions in tree->frames */
};

/* A frame that is looked for. */
struct child {
	uint32_t parent, label; /* the first one of its like */
};

static void frames_release(struct frames *frames)
{
	free(frames->first);
	hash_index_release(&frames->labels);
	hash_index_release(&frames->children);
}

static bool equal_label(const void *rows, uint32_t position, const void *wanted)
{
	const struct flame *tree = ((const struct frames *)rows)->tree;
	return same_label(tree, &tree->labels[position], wanted);
}

static bool equal_child(const void *rows, uint32_t position, const void *wanted)
{
	const struct frames *frames = rows;
	const struct child *child = wanted;
	const struct flame_frame *frame = &frames->tree->frames[position];
	return frame->parent == child->parent && frames->first[frame->label] == child->label;
}

static uint64_t hash_label(const struct flame *tree, const struct flame_label *label)
{
	uint64_t image = tree->by_name_alone ? 0 : hash_bytes(label->image, strlen(label->image));
	return hash_u64(hash_bytes(label->name, strlen(label->name)) ^
			hash_u64(image + (label->kind == FLAME_INLINED ? 1 : 0) +
				 (label->kind == FLAME_GROUP ? 2 : 0)));
}

static uint64_t hash_child(const struct child *child)
{
	return hash_u64((uint64_t)child->parent << 32 | child->label);
}

/* The tree's first label that is the same; HASH_INDEX_NONE: it has none. */
static uint32_t find_label(const struct frames *frames, const struct flame_label *label)
{
	return hash_index_find(&frames->labels, hash_label(frames->tree, label), equal_label,
			       frames, label);
}

static uint32_t find_child(const struct frames *frames, struct child child)
{
	return hash_index_find(&frames->children, hash_child(&child), equal_child, frames, &child);
}

/* 0 or -ENOMEM; to be released in both cases. */
static int frames_init(struct frames *frames, const struct flame *tree)
{
	*frames = (struct frames){ .tree = tree,
				   .first = calloc(tree->label_count + 1, sizeof(uint32_t)) };
	if (!frames->first)
		return -ENOMEM;
	for (uint32_t i = 0; i < tree->label_count; i++) {
		const struct flame_label *label = &tree->labels[i];
		uint32_t first = find_label(frames, label);
		frames->first[i] = first == HASH_INDEX_NONE ? i : first;
		if (first == HASH_INDEX_NONE &&
		    hash_index_add(&frames->labels, hash_label(tree, label), i) < 0)
			return -ENOMEM;
	}
	for (uint32_t i = 1; i < tree->count; i++) {
		const struct flame_frame *frame = &tree->frames[i];
		const struct child child = { frame->parent, frames->first[frame->label] };
		if (find_child(frames, child) == HASH_INDEX_NONE &&
		    hash_index_add(&frames->children, hash_child(&child), i) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* Stores which frame of the tree each frame of one run is; parents come first. */
static int map_frames(const struct frames *frames, const struct flame *one, uint32_t *frame_of,
		      struct error *err)
{
	CLEANUP(free_pointer) uint32_t *labels = calloc(one->label_count + 1, sizeof(*labels));
	if (!labels)
		return out_of_memory(err);
	for (size_t i = 0; i < one->label_count; i++)
		labels[i] = find_label(frames, &one->labels[i]);
	frame_of[0] = 0;
	for (size_t i = 1; i < one->count; i++) {
		const struct flame_frame *frame = &one->frames[i];
		frame_of[i] = find_child(
			frames, (struct child){ frame_of[frame->parent], labels[frame->label] });
		if (frame_of[i] == HASH_INDEX_NONE)
			return error_set(err, -EBADMSG, "a run has a stack that all runs lack");
	}
	return 0;
}

/* The tree's column of a column of one run's; EVENT_COLUMN_NONE: it has none. */
static uint32_t column_in(const struct flame *tree, enum flame_side side, const struct flame *one,
			  size_t column)
{
	const struct event_columns *of_run = &one->reports[FLAME_MAIN]->columns;
	uint32_t found = EVENT_COLUMN_NONE;
	for (size_t id = 1; id <= of_run->event_count && found == EVENT_COLUMN_NONE; id++)
		if (of_run->of_event[id] == column)
			found = tree->reports[side]->columns.of_event[id];
	if (side == FLAME_MAIN || found == EVENT_COLUMN_NONE)
		return found;
	for (uint32_t c = 0; c < tree->columns; c++)
		if (tree->base_column[c] == found)
			return c;
	return EVENT_COLUMN_NONE;
}

/* ---- one run */

static int add_run(struct flame_runs *runs, const struct frames *frames, enum flame_side side,
		   size_t run, const struct flame *one, struct error *err)
{
	const struct flame *tree = runs->flame;
	CLEANUP(free_pointer) uint32_t *frame_of = calloc(one->count + 1, sizeof(*frame_of));
	if (!frame_of)
		return out_of_memory(err);
	int ret = map_frames(frames, one, frame_of, err);
	if (ret < 0)
		return ret;
	for (size_t c = 0; c < one->columns; c++) {
		uint32_t column = column_in(tree, side, one, c);
		if (column == EVENT_COLUMN_NONE)
			continue;
		for (size_t i = 0; i < one->count; i++) {
			size_t at = (size_t)frame_of[i] * tree->columns + column;
			cell_add(&runs->cells[side][at * runs->runs[side] + run],
				 &flame_total(one, FLAME_MAIN, i)[c]);
		}
	}
	return 0;
}

static int add_side(struct flame_runs *runs, const struct frames *frames, enum flame_side side,
		    const struct flame_input *input, const struct flame_options *options,
		    struct error *err)
{
	size_t count = runs->runs[side], columns = runs->flame->columns;
	runs->cells[side] =
		calloc(runs->flame->count * columns + 1, count * sizeof(*runs->cells[side]));
	if (!runs->cells[side])
		return out_of_memory(err);
	for (size_t run = 0; run < count; run++) {
		CLEANUP(flame_freep) struct flame *one = NULL;
		struct flame_options of_run = *options;
		of_run.samples.runs = run + 1;
		int ret = flame_new(input, NULL, &of_run, &one, err);
		if (ret == 0)
			ret = add_run(runs, frames, side, run, one, err);
		if (ret < 0)
			return ret;
	}
	return 0;
}

int flame_runs_init(struct flame_runs *runs, const struct flame *flame,
		    const struct flame_input inputs[FLAME_SIDES],
		    const struct flame_options *options, const struct comparison *comparison,
		    struct error *err)
{
	*runs = (struct flame_runs){ .flame = flame,
				     .comparison = comparison,
				     .runs = { [FLAME_MAIN] = comparison->side_runs[1],
					       [FLAME_BASE] = comparison->side_runs[0] } };
	CLEANUP(frames_release) struct frames frames;
	int ret = frames_init(&frames, flame) < 0 ? out_of_memory(err) : 0;
	for (size_t side = 0; ret == 0 && side < FLAME_SIDES; side++)
		ret = add_side(runs, &frames, (enum flame_side)side, &inputs[side], options, err);
	if (ret < 0)
		flame_runs_release(runs);
	return ret;
}

void flame_runs_release(struct flame_runs *runs)
{
	for (size_t side = 0; side < FLAME_SIDES; side++)
		free(runs->cells[side]);
	*runs = (struct flame_runs){ 0 };
}

/* ---- noise */

static size_t compared_column_of(const struct comparison *comparison, size_t column)
{
	size_t at = 0;
	while (at < comparison->column_count && comparison->columns[at].after != column)
		at++;
	return at;
}

int flame_runs_noise(const struct flame_runs *runs, size_t column, const uint32_t *frames,
		     size_t count, struct difference_noise *noises)
{
	size_t compared = compared_column_of(runs->comparison, column);
	CLEANUP(free_pointer) struct run_scatter *scatters = calloc(count + 1, sizeof(*scatters));
	CLEANUP(free_pointer) double *scratch = calloc(2 * count + 1, sizeof(*scratch));
	if (!scatters || !scratch)
		return -ENOMEM;
	for (size_t i = 0; i < count && compared < runs->comparison->column_count; i++) {
		size_t at = (size_t)frames[i] * runs->flame->columns + column;
		const struct cell *sides[2] = {
			&runs->cells[FLAME_BASE][at * runs->runs[FLAME_BASE]],
			&runs->cells[FLAME_MAIN][at * runs->runs[FLAME_MAIN]]
		};
		int ret = compare_runs_scatter(runs->comparison, compared, sides, &scatters[i]);
		if (ret < 0)
			return ret;
	}
	double usual = run_noise_usual(scatters, count, scratch);
	for (size_t i = 0; i < count; i++)
		noises[i] = run_noise_of(&scatters[i], usual);
	return 0;
}
