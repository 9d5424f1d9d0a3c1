#include "import/code/code_lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/hash.h"
#include "profile/profile.h"
#include "profile/stash.h"
#include "symbol/record.h"

struct coded_place {
	uint64_t vaddr;
	uint32_t image;
	uint32_t count; /* of its frames */
	size_t first;	/* among all frames */
};

void code_lines_release(struct code_lines *lines)
{
	free(lines->list);
	free(lines->frames);
	hash_index_release(&lines->index);
	*lines = (struct code_lines){ 0 };
}

static uint64_t hash_place(uint32_t image, uint64_t vaddr)
{
	return hash_u64(hash_u64(vaddr) + image);
}

static bool place_equal(const void *rows, uint32_t position, const void *wanted)
{
	const struct coded_place *place = (const struct coded_place *)rows + position;
	const struct coded_place *other = wanted;
	return place->vaddr == other->vaddr && place->image == other->image;
}

static bool equal_frames(const struct code_frame *a, const struct code_frame *b, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (a[i].function != b[i].function || a[i].file != b[i].file ||
		    a[i].line != b[i].line)
			return false;
	return true;
}

int code_lines_add(struct code_lines *lines, uint32_t image, uint64_t vaddr,
		   const struct code_frame *frames, size_t count, bool *same)
{
	/* deeper ones are cut at the innermost end, as records do */
	if (count > RECORD_MAX_DEPTH) {
		frames += count - RECORD_MAX_DEPTH;
		count = RECORD_MAX_DEPTH;
	}
	struct coded_place place = { vaddr, image, (uint32_t)count, lines->frame_count };
	uint64_t hash = hash_place(image, vaddr);
	uint32_t position = hash_index_find(&lines->index, hash, place_equal, lines->list, &place);
	if (position != HASH_INDEX_NONE) {
		const struct coded_place *known = &lines->list[position];
		if (same)
			*same = known->count == count &&
				equal_frames(lines->frames + known->first, frames, count);
		return 0;
	}
	if (same)
		*same = true;
	if (array_reserve(&lines->list, &lines->capacity, lines->count, sizeof(*lines->list)) < 0 ||
	    array_reserve(&lines->frames, &lines->frame_capacity, lines->frame_count + count - 1,
			  sizeof(*lines->frames)) < 0)
		return -ENOMEM;
	lines->list[lines->count] = place;
	if (hash_index_add(&lines->index, hash, (uint32_t)lines->count) < 0)
		return -ENOMEM;
	memcpy(lines->frames + lines->frame_count, frames, count * sizeof(*frames));
	lines->frame_count += count;
	lines->count++;
	return 0;
}

int code_lines_complete(struct code_lines *lines, const struct code_lines *others)
{
	for (size_t i = 0; i < others->count; i++) {
		const struct coded_place *place = &others->list[i];
		int ret = code_lines_add(lines, place->image, place->vaddr,
					 others->frames + place->first, place->count, NULL);
		if (ret < 0)
			return ret;
	}
	return 0;
}

static int compare_places(const void *a, const void *b)
{
	const struct coded_place *left = a;
	const struct coded_place *right = b;
	if (left->image != right->image)
		return left->image < right->image ? -1 : 1;
	return (left->vaddr > right->vaddr) - (left->vaddr < right->vaddr);
}

static const struct code_frame *frames_of(const struct code_lines *lines, size_t place)
{
	return lines->frames + lines->list[place].first;
}

static int add_record(struct profile *profile, const struct coded_place *from,
		      const struct coded_place *to, const struct buffer *content, struct error *err)
{
	if (buffer_failed(content))
		return error_set(err, -ENOMEM, "out of memory");
	const struct record record = {
		RECORD_LINES, from->vaddr, to->vaddr, { content->data, content->size }
	};
	return stash_add(profile, from->image, &record, err);
}

/* Places [from, to) have the same frames. */
static int add_lines(const struct code_lines *lines, size_t from, size_t to,
		     struct profile *profile, struct error *err)
{
	const struct code_frame *frames = frames_of(lines, from);
	size_t count = lines->list[from].count;
	if (count == 1 && !frames->file && !frames->line)
		return 0;
	CLEANUP(buffer_release) struct buffer content = { 0 };
	CLEANUP(lines_writer_release) struct lines_writer writer;
	lines_writer_init(&writer, lines->list[from].vaddr);
	uint32_t node = 0;
	for (size_t i = count - 1; i > 0; i--)
		node = lines_writer_inline(&writer, node,
					   profile_bytes(profile, frames[i - 1].function),
					   profile_bytes(profile, frames[i].file), frames[i].line);
	lines_writer_row(&writer, lines->list[from].vaddr, node,
			 profile_bytes(profile, frames->file), frames->line);
	if (lines_writer_finish(&writer, &content) < 0)
		return error_set(err, -ENOMEM, "out of memory");
	return add_record(profile, &lines->list[from], &lines->list[to - 1], &content, err);
}

static bool same_frames(const struct code_lines *lines, size_t a, size_t b)
{
	return lines->list[a].image == lines->list[b].image &&
	       lines->list[a].count == lines->list[b].count &&
	       equal_frames(frames_of(lines, a), frames_of(lines, b), lines->list[a].count);
}

int code_lines_finish(struct code_lines *lines, struct profile *profile, struct error *err)
{
	hash_index_release(&lines->index); /* positions change */
	if (lines->count)
		qsort(lines->list, lines->count, sizeof(*lines->list), compare_places);
	for (size_t from = 0, to; from < lines->count; from = to) {
		for (to = from + 1; to < lines->count; to++)
			if (!same_frames(lines, from, to))
				break;
		int ret = add_lines(lines, from, to, profile, err);
		if (ret < 0)
			return ret;
	}
	return 0;
}
