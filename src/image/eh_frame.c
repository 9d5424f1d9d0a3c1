#include "image/eh_frame.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "image/frame_entries.h"

struct reading {
	struct extents *extents;
	size_t capacity;
};

static int compare_extents(const void *a, const void *b)
{
	const struct extent *left = a;
	const struct extent *right = b;
	if (left->start != right->start)
		return left->start < right->start ? -1 : 1;
	if (left->size_bytes != right->size_bytes)
		return left->size_bytes < right->size_bytes ? -1 : 1;
	return (left->lsda > right->lsda) - (left->lsda < right->lsda);
}

static void sort_unique(struct extents *extents)
{
	if (extents->count == 0)
		return;
	qsort(extents->list, extents->count, sizeof(*extents->list), compare_extents);
	size_t kept = 1;
	for (size_t i = 1; i < extents->count; i++)
		if (extents->list[i].start != extents->list[kept - 1].start ||
		    extents->list[i].size_bytes != extents->list[kept - 1].size_bytes)
			extents->list[kept++] = extents->list[i];
		else if (extents->list[i].lsda)
			extents->list[kept - 1].lsda = extents->list[i].lsda;
	extents->count = kept;
}

static int add_extent(void *context, const struct frame_entry *entry)
{
	struct reading *reading = context;
	struct extents *extents = reading->extents;
	if (array_reserve(&extents->list, &reading->capacity, extents->count,
			  sizeof(*extents->list)) < 0)
		return -ENOMEM;
	extents->list[extents->count++] =
		(struct extent){ entry->start, entry->size_bytes, entry->lsda };
	return 0;
}

int extents_read(const struct elf_file *file, struct extents *extents)
{
	struct reading reading = { .extents = extents };
	*extents = (struct extents){ 0 };
	int ret = frame_entries_read(file, FRAMES_EH, add_extent, &reading, &extents->bad);
	sort_unique(extents);
	if (ret < 0)
		extents_release(extents);
	return ret;
}

void extents_release(struct extents *extents)
{
	free(extents->list);
	*extents = (struct extents){ 0 };
}
