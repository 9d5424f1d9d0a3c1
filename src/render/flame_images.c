#include "render/flame_images.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/flame/flame_view.h"
#include "analyze/report/report.h"
#include "base/cleanup.h"
#include "base/sum.h"
#include "render/flame_palette.h"

static const char *const kinds[] = {
	[FLAME_USER] = "user code",	  [FLAME_KERNEL] = "[kernel]",
	[FLAME_INLINED] = "inlined code", [FLAME_JIT] = "JIT code",
	[FLAME_UNKNOWN] = "unknown code", [FLAME_TEXT] = "names alone"
};

/* The name that a label is coloured by, NULL for none; a tower's groups are named as their image.
 */
static const char *name_of(const struct flame *flame, const struct flame_label *label)
{
	if (*label->image)
		return label->image;
	if (label->kind != FLAME_GROUP)
		return kinds[label->kind];
	return flame->reports[FLAME_MAIN]->has_stacks ? NULL : label->name;
}

struct use {
	const char *name;
	uint64_t self;
	uint32_t label;
	bool code; /* not a group */
};

static int compare_uses(const void *left, const void *right)
{
	const struct use *a = left, *b = right;
	return strcmp(a->name, b->name);
}

static int compare_sizes(const void *left, const void *right)
{
	const struct flame_image *a = left, *b = right;
	if (a->self != b->self)
		return a->self < b->self ? 1 : -1;
	return strcmp(a->name, b->name);
}

static int compare_names(const void *name, const void *image)
{
	return strcmp(name, ((const struct flame_image *)image)->name);
}

static int compare_images(const void *left, const void *right)
{
	const struct flame_image *a = left, *b = right;
	return strcmp(a->name, b->name);
}

/* Fills `uses` with the labels that have a name to be coloured by, sorted by it. */
static size_t collect_uses(const struct flame_view *view, struct use *uses)
{
	const struct flame *flame = view->flame;
	size_t count = 0;
	for (size_t i = 0; i < flame->label_count; i++) {
		const struct flame_label *label = &flame->labels[i];
		uses[i] = (struct use){ name_of(flame, label), 0, (uint32_t)i,
					label->kind != FLAME_GROUP };
	}
	for (size_t i = 0; i < view->count; i++) {
		uint32_t frame = view->shown[i].frame;
		sum_add(&uses[flame->frames[frame].label].self,
			flame_self(flame, FLAME_MAIN, frame)[view->options.width].estimate);
	}
	for (size_t i = 0; i < flame->label_count; i++)
		if (uses[i].name)
			uses[count++] = uses[i];
	if (count)
		qsort(uses, count, sizeof(*uses), compare_uses);
	return count;
}

/* One image for each name that some code has. */
static void merge_uses(struct flame_images *images, const struct use *uses, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct flame_image *last = images->count ? &images->list[images->count - 1] : NULL;
		if (!uses[i].code)
			continue;
		if (last && strcmp(last->name, uses[i].name) == 0)
			sum_add(&last->self, uses[i].self);
		else
			images->list[images->count++] =
				(struct flame_image){ uses[i].name, NULL, uses[i].self, false };
	}
}

static unsigned number_of(const char *name)
{
	if (strcmp(name, kinds[FLAME_UNKNOWN]) == 0)
		return FLAME_PACKAGE_UNKNOWN;
	return flame_package_number(span_of_text(name));
}

static void choose_colours(struct flame_images *images)
{
	size_t users[FLAME_PACKAGES] = { 0 };
	for (size_t i = 0; i < images->count; i++)
		users[number_of(images->list[i].name)]++;
	for (size_t i = 0; i < images->count; i++) {
		unsigned number = number_of(images->list[i].name);
		images->list[i].class = flame_package_css(number);
		images->list[i].shared = users[number] > 1;
	}
}

int flame_images_init(struct flame_images *images, const struct flame_view *view)
{
	size_t labels = view->flame->label_count;
	*images =
		(struct flame_images){ .list = calloc(labels + 1, sizeof(*images->list)),
				       .of_label = calloc(labels + 1, sizeof(*images->of_label)) };
	CLEANUP(free_pointer) struct use *uses = calloc(labels + 1, sizeof(*uses));
	if (!images->list || !images->of_label || !uses)
		return -ENOMEM;
	size_t count = collect_uses(view, uses);
	merge_uses(images, uses, count);
	if (images->count)
		qsort(images->list, images->count, sizeof(*images->list), compare_sizes);
	choose_colours(images);
	for (size_t i = 0; i < labels; i++)
		images->of_label[i] = FLAME_PLAIN_CSS;
	if (images->count == 0)
		return 0;
	qsort(images->list, images->count, sizeof(*images->list), compare_images);
	for (size_t i = 0; i < count; i++) {
		const struct flame_image *image = bsearch(uses[i].name, images->list, images->count,
							  sizeof(*images->list), compare_names);
		if (image)
			images->of_label[uses[i].label] = image->class;
	}
	qsort(images->list, images->count, sizeof(*images->list), compare_sizes);
	return 0;
}

void flame_images_release(struct flame_images *images)
{
	free(images->list);
	free(images->of_label);
	*images = (struct flame_images){ 0 };
}
