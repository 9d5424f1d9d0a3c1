#include "render/shown_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/names/fold_name.h"
#include "base/arena.h"
#include "base/buffer.h"
#include "base/cleanup.h"

struct folded_name {
	const char *full, *folded;
	size_t row;
};

static int compare_folded(const void *left, const void *right)
{
	const struct folded_name *a = left, *b = right;
	int order = strcmp(a->folded, b->folded);
	return order ? order : strcmp(a->full, b->full);
}

/* Names that read the same when folded and are not the same stay in full. */
static void choose(const char **names, struct folded_name *list, size_t count)
{
	if (count)
		qsort(list, count, sizeof(*list), compare_folded);
	for (size_t i = 0, next; i < count; i = next) {
		for (next = i + 1; next < count;)
			if (strcmp(list[next].folded, list[i].folded) == 0)
				next++;
			else
				break;
		bool same = strcmp(list[i].full, list[next - 1].full) == 0;
		for (size_t k = i; k < next; k++)
			names[list[k].row] = same ? list[k].folded : list[k].full;
	}
}

int shown_names_fold(const char **names, size_t count, struct arena *arena)
{
	CLEANUP(free_pointer) struct folded_name *list = calloc(count + 1, sizeof(*list));
	CLEANUP(buffer_release) struct buffer text = { 0 };
	if (!list)
		return -ENOMEM;
	size_t known = 0;
	for (size_t i = 0; i < count; i++) {
		if (!names[i])
			continue;
		text.size = 0;
		fold_name(names[i], FOLD_NAME_WIDTH, &text);
		list[known] = (struct folded_name){
			names[i], arena_copy_text(arena, (const char *)text.data, text.size), i
		};
		if (buffer_failed(&text) || !list[known].folded)
			return -ENOMEM;
		known++;
	}
	choose(names, list, known);
	return 0;
}
