#include "analyze/flame/flame.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/figures/column_match.h"
#include "analyze/flame/flame_grow.h"
#include "base/cleanup.h"
#include "base/error.h"

static int out_of_memory(struct error *err)
{
	return error_set(err, -ENOMEM, "out of memory making the flame graph");
}

/* ---- the two sides */

static int prepare_side(struct flame *flame, enum flame_side side, const struct flame_input *input,
			const struct flame_options *options, struct error *err)
{
	struct report_options samples = options->samples;
	bool stacks = profile_table(input->profile, PROFILE_STACK)->count > 0;
	samples.view = stacks ? REPORT_TREE : REPORT_FLAT;
	samples.sort = NULL;
	if (input->event)
		samples.events = (struct report_patterns){ &input->event, 1 };
	int ret = report_prepare(input->profile, input->resolver, &samples, &flame->reports[side],
				 err);
	if (ret == 0 && flame->reports[side]->columns.count == 0)
		ret = error_set(err, -ENODATA, "the profile%s has no event to draw",
				side == FLAME_BASE ? " of the base" : "");
	return ret;
}

static int keep_scales(struct flame *flame, struct error *err)
{
	const struct event_columns *main = &flame->reports[FLAME_MAIN]->columns;
	flame->columns = main->count;
	flame->scales = calloc(main->count, sizeof(*flame->scales));
	if (!flame->scales)
		return out_of_memory(err);
	for (size_t c = 0; c < main->count; c++)
		flame->scales[c] = main->list[c].scale;
	return 0;
}

/* The same events as compare.h compares, if they are of one unit. */
static int match_columns(struct flame *flame, struct error *err)
{
	const struct event_columns *main = &flame->reports[FLAME_MAIN]->columns;
	const struct event_columns *base = &flame->reports[FLAME_BASE]->columns;
	bool any = false;
	CLEANUP(free_pointer)
	struct column_match *matches = calloc(base->count, sizeof(*matches));
	flame->base_column = calloc(main->count, sizeof(*flame->base_column));
	if (!matches || !flame->base_column)
		return out_of_memory(err);
	for (size_t c = 0; c < main->count; c++)
		flame->base_column[c] = EVENT_COLUMN_NONE;
	size_t count;
	if (column_match(base, main, matches, &count) < 0)
		return out_of_memory(err);
	for (size_t i = 0; i < count; i++) {
		size_t c = matches[i].after;
		const struct event_column *before = &base->list[matches[i].before];
		if (!span_equal(main->list[c].unit, before->unit))
			continue;
		flame->base_column[c] = (uint32_t)matches[i].before;
		flame->scales[c] = column_match_scale(before, &main->list[c]);
		any = true;
	}
	return any ? 0
		   : error_set(err, -ENODATA,
			       "the two profiles have no event in common: '%.*s' and '%.*s'",
			       (int)main->list[0].name.size, (const char *)main->list[0].name.data,
			       (int)base->list[0].name.size, (const char *)base->list[0].name.data);
}

static bool knows_images(const struct profile *profile)
{
	const struct table *images = profile_table(profile, PROFILE_IMAGE);
	for (size_t id = 1; id <= images->count; id++)
		if (profile_image(profile, id).kind != IMAGE_UNKNOWN)
			return true;
	return false;
}

static int grow_base(struct flame_growth *growth, const struct flame_input *base,
		     const struct flame_options *options, struct error *err)
{
	struct flame *flame = growth->flame;
	size_t count = flame->reports[FLAME_BASE]->columns.count;
	CLEANUP(free_pointer) uint32_t *column_of = calloc(count, sizeof(*column_of));
	if (!column_of)
		return out_of_memory(err);
	for (size_t b = 0; b < count; b++)
		column_of[b] = EVENT_COLUMN_NONE;
	for (size_t c = 0; c < flame->columns; c++)
		if (flame->base_column[c] != EVENT_COLUMN_NONE)
			column_of[flame->base_column[c]] = (uint32_t)c;
	return flame_grow(growth, FLAME_BASE, base->resolver, options, column_of, err);
}

/* ---- order: depth first, children by name */

static int compare_labels(const struct flame_label *a, const struct flame_label *b)
{
	int order = strcmp(a->name, b->name);
	if (!order)
		order = strcmp(a->image, b->image);
	return order ? order : (a->kind > b->kind) - (a->kind < b->kind);
}

static int compare_label_numbers(const void *left, const void *right, void *labels)
{
	const struct flame_label *list = labels;
	return compare_labels(&list[*(const uint32_t *)left], &list[*(const uint32_t *)right]);
}

/* Fills by_name with the twigs in the order of their labels. */
static int sort_twigs(const struct flame_growth *growth, uint32_t *by_name)
{
	const struct flame *flame = growth->flame;
	size_t labels = flame->label_count;
	CLEANUP(free_pointer) uint32_t *order = calloc(2 * labels + 1, sizeof(*order));
	if (!order)
		return -ENOMEM;
	uint32_t *place = order + labels; /* by label: where its next twig goes */
	for (size_t i = 0; i < labels; i++)
		order[i] = (uint32_t)i;
	if (labels)
		qsort_r(order, labels, sizeof(*order), compare_label_numbers, flame->labels);
	for (size_t i = 0; i < growth->twigs.count; i++)
		place[growth->twigs.nodes[i].label]++;
	uint32_t next = 0;
	for (size_t i = 0; i < labels; i++) {
		uint32_t twigs = place[order[i]];
		place[order[i]] = next;
		next += twigs;
	}
	for (size_t i = 0; i < growth->twigs.count; i++)
		by_name[place[growth->twigs.nodes[i].label]++] = (uint32_t)i;
	return 0;
}

struct links {
	uint32_t *first_child, *next_sibling; /* by twig; 0: none */
	uint32_t *frame_of;		      /* by twig */
};

/* Numbers the twigs depth first. Without recursion: a stranger's stacks may be deeper than ours. */
static void number_frames(struct flame *flame, const struct flame_growth *growth,
			  const struct links *links)
{
	uint32_t twig = 0, depth = 0;
	for (;;) {
		const struct label_node *from = &growth->twigs.nodes[twig];
		uint32_t frame = (uint32_t)flame->count++;
		links->frame_of[twig] = frame;
		flame->frames[frame] = (struct flame_frame){
			.parent = twig ? links->frame_of[from->parent] : 0,
			.label = from->label,
			.depth = depth,
		};
		if (depth >= flame->depth)
			flame->depth = depth + 1;
		if (links->first_child[twig]) {
			twig = links->first_child[twig];
			depth++;
			continue;
		}
		while (twig && !links->next_sibling[twig]) {
			flame->frames[links->frame_of[twig]].end = (uint32_t)flame->count;
			twig = growth->twigs.nodes[twig].parent;
			depth--;
		}
		flame->frames[links->frame_of[twig]].end = (uint32_t)flame->count;
		if (!twig)
			return;
		twig = links->next_sibling[twig];
	}
}

static int place_cells(struct flame *flame, const struct flame_growth *growth,
		       const struct links *links, enum flame_side side)
{
	size_t columns = flame->columns;
	struct cell *self = flame->self[side] = calloc(flame->count * columns, sizeof(*self));
	struct cell *total = flame->total[side] = calloc(flame->count * columns, sizeof(*total));
	if (!self || !total)
		return -ENOMEM;
	for (size_t twig = 0; twig < growth->twigs.count; twig++)
		memcpy(self + links->frame_of[twig] * columns,
		       node_cells_of(&growth->self[side], twig), columns * sizeof(*self));
	memcpy(total, self, flame->count * columns * sizeof(*total));
	for (size_t frame = flame->count; frame-- > 1;) {
		struct cell *above = total + flame->frames[frame].parent * columns;
		for (size_t c = 0; c < columns; c++)
			cell_add(&above[c], &total[frame * columns + c]);
	}
	return 0;
}

static void links_release(struct links *links)
{
	free(links->first_child);
	free(links->next_sibling);
	free(links->frame_of);
}

static int settle(struct flame *flame, const struct flame_growth *growth)
{
	CLEANUP(links_release)
	struct links links = { calloc(growth->twigs.count, sizeof(uint32_t)),
			       calloc(growth->twigs.count, sizeof(uint32_t)),
			       calloc(growth->twigs.count, sizeof(uint32_t)) };
	CLEANUP(free_pointer) uint32_t *by_name = calloc(growth->twigs.count, sizeof(*by_name));
	flame->frames = calloc(growth->twigs.count, sizeof(*flame->frames));
	if (!links.first_child || !links.next_sibling || !links.frame_of || !by_name ||
	    !flame->frames || sort_twigs(growth, by_name) < 0)
		return -ENOMEM;
	for (size_t i = growth->twigs.count; i-- > 0;) {
		uint32_t twig = by_name[i];
		if (!twig)
			continue;
		uint32_t parent = growth->twigs.nodes[twig].parent;
		links.next_sibling[twig] = links.first_child[parent];
		links.first_child[parent] = twig;
	}
	number_frames(flame, growth, &links);
	int ret = place_cells(flame, growth, &links, FLAME_MAIN);
	if (ret == 0 && flame->reports[FLAME_BASE])
		ret = place_cells(flame, growth, &links, FLAME_BASE);
	return ret;
}

/* ---- the whole */

static int check_wholes(const struct flame *flame, enum flame_side side, struct error *err)
{
	const struct event_column *columns = flame->reports[FLAME_MAIN]->columns.list;
	int ret = 0;
	for (size_t c = 0; ret == 0 && c < flame->columns; c++)
		ret = column_match_check(&flame->total[side][c], columns[c].name, err);
	return ret;
}

static int grow_all(struct flame *flame, const struct flame_input *input,
		    const struct flame_input *base, const struct flame_options *options,
		    struct error *err)
{
	CLEANUP(flame_growth_release) struct flame_growth growth;
	if (flame_growth_init(&growth, flame) < 0)
		return out_of_memory(err);
	int ret = flame_grow(&growth, FLAME_MAIN, input->resolver, options, NULL, err);
	if (ret == 0 && base)
		ret = grow_base(&growth, base, options, err);
	if (ret < 0)
		return ret;
	if (settle(flame, &growth) < 0)
		return out_of_memory(err);
	ret = check_wholes(flame, FLAME_MAIN, err);
	return ret < 0 || !base ? ret : check_wholes(flame, FLAME_BASE, err);
}

int flame_new(const struct flame_input *input, const struct flame_input *base,
	      const struct flame_options *options, struct flame **out, struct error *err)
{
	CLEANUP(flame_freep) struct flame *flame = calloc(1, sizeof(*flame));
	if (!flame)
		return out_of_memory(err);
	int ret = prepare_side(flame, FLAME_MAIN, input, options, err);
	if (ret == 0)
		ret = keep_scales(flame, err);
	if (ret == 0 && base) {
		ret = prepare_side(flame, FLAME_BASE, base, options, err);
		if (ret == 0)
			ret = match_columns(flame, err);
		flame->by_name_alone = knows_images(input->profile) != knows_images(base->profile);
	}
	if (ret == 0)
		ret = grow_all(flame, input, base, options, err);
	if (ret < 0)
		return ret;
	*out = flame;
	flame = NULL; /* the caller's from here on */
	return 0;
}

void flame_free(struct flame *flame)
{
	if (!flame)
		return;
	for (size_t side = 0; side < FLAME_SIDES; side++) {
		report_free(flame->reports[side]);
		free(flame->self[side]);
		free(flame->total[side]);
	}
	free(flame->frames);
	free(flame->labels);
	free(flame->base_column);
	free(flame->scales);
	arena_release(&flame->arena);
	free(flame);
}

void flame_freep(struct flame **flame)
{
	flame_free(*flame);
}
