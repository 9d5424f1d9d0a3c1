#include "profile/image_addresses.h"

#include <errno.h>
#include <stdlib.h>

#include "base/count_of.h"
#include "profile/profile.h"

/* Columns of a table that are an image and a vaddr in it. */
struct address_columns {
	enum profile_table table;
	size_t image, vaddr;
};

static int compare(const void *a, const void *b)
{
	const struct image_address *left = a;
	const struct image_address *right = b;
	if (left->image != right->image)
		return left->image < right->image ? -1 : 1;
	return (left->vaddr > right->vaddr) - (left->vaddr < right->vaddr);
}

/*
 * Sorting by digits, the lowest first, each pass stable: a profile with stacks has
 * millions of addresses, most of them several times, in few images.
 */
#define DIGIT_BITS 11
#define DIGITS	   (1u << DIGIT_BITS)

static size_t digit_of(const struct image_address *address, bool image, unsigned shift)
{
	return (size_t)((image ? address->image : address->vaddr) >> shift) & (DIGITS - 1);
}

static void sort_by_digit(const struct image_address *from, struct image_address *to, size_t count,
			  bool image, unsigned shift)
{
	size_t next[DIGITS] = { 0 };
	size_t at = 0;
	for (size_t i = 0; i < count; i++)
		next[digit_of(&from[i], image, shift)]++;
	for (size_t digit = 0; digit < DIGITS; digit++) {
		size_t of_digit = next[digit];
		next[digit] = at;
		at += of_digit;
	}
	for (size_t i = 0; i < count; i++)
		to[next[digit_of(&from[i], image, shift)]++] = from[i];
}

static void swap(struct image_address **a, struct image_address **b)
{
	struct image_address *kept = *a;
	*a = *b;
	*b = kept;
}

/* By image and vaddr. 0 or -ENOMEM. */
static int sort(struct image_addresses *addresses)
{
	uint64_t vaddrs = 0; /* bits that differ from 0 somewhere */
	uint32_t images = 0;
	struct image_address *spare = calloc(addresses->count + 1, sizeof(*spare));
	if (!spare)
		return -ENOMEM;
	for (size_t i = 0; i < addresses->count; i++) {
		vaddrs |= addresses->list[i].vaddr;
		images |= addresses->list[i].image;
	}
	for (unsigned shift = 0; shift < 64 && vaddrs >> shift; shift += DIGIT_BITS) {
		sort_by_digit(addresses->list, spare, addresses->count, false, shift);
		swap(&addresses->list, &spare);
	}
	for (unsigned shift = 0; shift < 32 && images >> shift; shift += DIGIT_BITS) {
		sort_by_digit(addresses->list, spare, addresses->count, true, shift);
		swap(&addresses->list, &spare);
	}
	free(spare);
	return 0;
}

static void add_table(struct image_addresses *out, const struct profile *profile,
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
		out->list[out->count++] =
			(struct image_address){ (uint32_t)keys[columns->image], vaddr };
	}
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
	size_t rows = 0;
	for (size_t i = 0; i < COUNT_OF(columns); i++)
		rows += profile_table(profile, columns[i].table)->count;
	out->list = calloc(rows + 1, sizeof(*out->list));
	if (!out->list)
		return -ENOMEM;
	for (size_t i = 0; i < COUNT_OF(columns); i++)
		add_table(out, profile, &columns[i], wanted);
	if (sort(out) < 0)
		return -ENOMEM;
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

/* By bisection: callers ask for one image many times, and its addresses are not walked. */
size_t image_addresses_run(const struct image_addresses *addresses, size_t from)
{
	if (from >= addresses->count)
		return 0;
	const struct image_address *rest = addresses->list + from;
	const struct image_address last = { rest->image, UINT64_MAX };
	size_t count = lower_bound(rest, addresses->count - from, &last);
	bool is_last = from + count < addresses->count && compare(&rest[count], &last) == 0;
	return count + is_last;
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
