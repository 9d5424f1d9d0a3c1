#include "analyze/names/procedure_variants.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "base/hash_index.h"
#include "profile/profile.h"

/* Name and short name of the image are equal; in the second also the image itself. */
enum looks { LOOKS_ALIKE, LOOKS_ALIKE_IN_ONE_IMAGE };

struct look_rows {
	const struct place_procedure *procedures;
	enum looks looks;
};

/* Of everything that look_equal() compares but PLACE_INLINED: many images may have procedures of
 * one name. */
static uint64_t look_hash(const struct look_rows *all, uint32_t position)
{
	const struct place_procedure *procedure = &all->procedures[position];
	uint64_t image = all->looks == LOOKS_ALIKE_IN_ONE_IMAGE ? procedure->image : 0;
	return hash_u64(((uint64_t)procedure->name_number << 32 | procedure->image_number) ^
			hash_u64(image));
}

static bool look_equal(const void *rows, uint32_t position, const void *wanted)
{
	const struct look_rows *all = rows;
	const struct place_procedure *a = &all->procedures[position], *b = wanted;
	if (all->looks == LOOKS_ALIKE_IN_ONE_IMAGE && a->image != b->image)
		return false;
	return a->name_number == b->name_number && a->image_number == b->image_number &&
	       (a->marks & PLACE_INLINED) == (b->marks & PLACE_INLINED);
}

/* Sets first_of[procedure] to the first one that looks like it, and adds to count_of[that] how many
 * do. */
static int group_looks(const struct place_procedure *procedures, size_t count, enum looks looks,
		       uint32_t *first_of, uint32_t *count_of)
{
	struct look_rows rows = { procedures, looks };
	struct hash_index index = { 0 };
	int ret = 0;
	for (uint32_t i = 0; ret == 0 && i < count; i++) {
		uint64_t hash = look_hash(&rows, i);
		first_of[i] = hash_index_find(&index, hash, look_equal, &rows, &procedures[i]);
		if (first_of[i] == HASH_INDEX_NONE) {
			ret = hash_index_add(&index, hash, i);
			first_of[i] = i;
		}
		count_of[first_of[i]]++;
	}
	hash_index_release(&index);
	return ret;
}

/*
 * What a reader of the report can look up: the build of the image (its number where it has no
 * build-id) if procedures of several images look alike, and the start of the procedure if several
 * of its own image do. NULL: out of memory.
 */
static const char *variant_of(const struct profile *profile, struct arena *texts,
			      const struct place_procedure *procedure, bool other_image,
			      bool same_image)
{
	struct buffer text = { 0 };
	struct span id = { NULL, 0 };
	if (other_image && procedure->image)
		id = profile_image(profile, procedure->image).build_id;
	if (id.size) {
		buffer_append_text(&text, "build ");
		buffer_append_hex(&text, id.data, id.size < 4 ? id.size : 4);
	}
	if (other_image && !id.size)
		buffer_printf(&text, "image %u", (unsigned)procedure->image);
	if (same_image)
		buffer_printf(&text, "%s@0x%llx", text.size ? " " : "",
			      (unsigned long long)procedure->first);
	const char *variant = buffer_failed(&text)
				      ? NULL
				      : arena_copy_text(texts, (const char *)text.data, text.size);
	buffer_release(&text);
	return variant;
}

int procedure_variants_fill(const struct profile *profile, struct place_procedure *procedures,
			    size_t count, struct arena *texts)
{
	CLEANUP(free_pointer) uint32_t *numbers = calloc(4 * count + 1, sizeof(*numbers));
	if (!numbers)
		return -ENOMEM;
	uint32_t *first = numbers, *alike = numbers + count;
	uint32_t *first_here = numbers + 2 * count, *alike_here = numbers + 3 * count;
	int ret = group_looks(procedures, count, LOOKS_ALIKE, first, alike);
	if (ret == 0)
		ret = group_looks(procedures, count, LOOKS_ALIKE_IN_ONE_IMAGE, first_here,
				  alike_here);
	for (size_t i = 0; ret == 0 && i < count; i++) {
		uint32_t all = alike[first[i]], here = alike_here[first_here[i]];
		if (all == 1)
			continue;
		procedures[i].variant =
			variant_of(profile, texts, &procedures[i], all > here, here > 1);
		if (!procedures[i].variant)
			ret = -ENOMEM;
	}
	return ret;
}
