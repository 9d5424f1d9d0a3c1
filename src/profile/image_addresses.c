#include "profile/image_addresses.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/count_of.h"
#include "profile/profile.h"

/* Columns of a table that are an image and a vaddr in it. */
struct address_columns {
	enum profile_table table;
	size_t image, vaddr;
};

static int add(struct image_addresses *addresses, uint64_t image, uint64_t vaddr)
{
	if (array_reserve(&addresses->list, &addresses->capacity, addresses->count,
			  sizeof(*addresses->list)) < 0)
		return -ENOMEM;
	addresses->list[addresses->count++] = (struct image_address){ (uint32_t)image, vaddr };
	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct image_address *left = a;
	const struct image_address *right = b;
	if (left->image != right->image)
		return left->image < right->image ? -1 : 1;
	return (left->vaddr > right->vaddr) - (left->vaddr < right->vaddr);
}

static int add_table(struct image_addresses *out, const struct profile *profile,
		     const struct address_columns *columns, const bool *wanted)
{
	const struct table *table = profile_table(profile, columns->table);
	for (size_t row = 0; row < table->count; row++) {
		const uint64_t *keys = table_keys(table, row);
		if (!wanted[keys[columns->image]])
			continue;
		uint64_t vaddr = keys[columns->vaddr];
		if (columns->table == PROFILE_NODE && keys[NODE_KIND] == FRAME_RETURN && vaddr)
			vaddr--;
		if (add(out, keys[columns->image], vaddr) < 0)
			return -ENOMEM;
	}
	return 0;
}

int image_addresses_collect(const struct profile *profile, const bool *wanted,
			    struct image_addresses *out)
{
	static const struct address_columns columns[] = {
		{ PROFILE_FLAT, FLAT_IMAGE, FLAT_VADDR },
		{ PROFILE_NODE, NODE_IMAGE, NODE_VADDR },
		{ PROFILE_EDGE, EDGE_FROM_IMAGE, EDGE_FROM_VADDR },
		{ PROFILE_EDGE, EDGE_TO_IMAGE, EDGE_TO_VADDR },
		{ PROFILE_RANGE, RANGE_IMAGE, RANGE_FIRST },
		{ PROFILE_RANGE, RANGE_IMAGE, RANGE_LAST },
		{ PROFILE_VALUE, VALUE_IMAGE, VALUE_VADDR },
	};
	for (size_t i = 0; i < COUNT_OF(columns); i++)
		if (add_table(out, profile, &columns[i], wanted) < 0)
			return -ENOMEM;
	if (out->count)
		qsort(out->list, out->count, sizeof(*out->list), compare);
	size_t kept = 0;
	for (size_t i = 0; i < out->count; i++)
		if (kept == 0 || compare(&out->list[i], &out->list[kept - 1]) != 0)
			out->list[kept++] = out->list[i];
	out->count = kept;
	return 0;
}

void image_addresses_release(struct image_addresses *addresses)
{
	free(addresses->list);
	*addresses = (struct image_addresses){ 0 };
}

size_t image_addresses_run(const struct image_addresses *addresses, size_t from)
{
	size_t to = from;
	while (to < addresses->count && addresses->list[to].image == addresses->list[from].image)
		to++;
	return to - from;
}

/* The first at or after (image, vaddr). */
static size_t lower_bound(const struct image_address *list, size_t count,
			  const struct image_address *wanted)
{
	size_t low = 0, high = count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (compare(&list[middle], wanted) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct image_address *image_addresses_of(const struct image_addresses *addresses,
					       uint32_t image, size_t *count)
{
	const struct image_address wanted = { image, 0 };
	size_t from = lower_bound(addresses->list, addresses->count, &wanted);
	bool there = from < addresses->count && addresses->list[from].image == image;
	*count = there ? image_addresses_run(addresses, from) : 0;
	return there ? addresses->list + from : NULL;
}

bool image_addresses_hit(const struct image_address *list, size_t count, uint64_t first,
			 uint64_t last)
{
	if (count == 0)
		return false;
	const struct image_address wanted = { list[0].image, first };
	size_t at = lower_bound(list, count, &wanted);
	return at < count && list[at].vaddr <= last;
}
