#include "image/address_space.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/growth.h"

struct address_space *address_space_new(void)
{
	struct address_space *space = calloc(1, sizeof(*space));
	if (space)
		space->references = 1;
	return space;
}

struct address_space *address_space_share(struct address_space *space)
{
	space->references++;
	return space;
}

void address_space_drop(struct address_space *space)
{
	if (!space || --space->references)
		return;
	free(space->list);
	free(space);
}

/* Position of the first mapping that ends after `address`. Without branches that depend on it: one
 * address of a call chain says little about the next one's. */
static size_t first_ending_after(const struct address_space *space, uint64_t address)
{
	const struct mapping *at = space->list;
	size_t left = space->count;
	while (left > 1) {
		size_t half = left / 2;
		at += at[half - 1].end <= address ? half : 0;
		left -= half;
	}
	if (left && at->end <= address)
		at++;
	return (size_t)(at - space->list);
}

/* Room for `count` mappings in a space that nobody else has. */
static int own(struct address_space **space, size_t count)
{
	struct address_space *old = *space;
	if (old->references > 1) {
		struct address_space *copy = address_space_new();
		if (!copy)
			return -ENOMEM;
		copy->capacity = count + count / 2 + 8;
		copy->list = calloc(copy->capacity, sizeof(*copy->list));
		if (!copy->list) {
			address_space_drop(copy);
			return -ENOMEM;
		}
		if (old->count)
			memcpy(copy->list, old->list, old->count * sizeof(*copy->list));
		copy->count = old->count;
		old->references--;
		*space = copy;
		return 0;
	}
	if (count <= old->capacity)
		return 0;
	size_t capacity = growth_capacity(old->capacity, count, 8, sizeof(*old->list));
	if (!capacity)
		return -ENOMEM;
	struct mapping *grown = reallocarray(old->list, capacity, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	old->list = grown;
	old->capacity = capacity;
	return 0;
}

/* One mapping says of an address what the other would say of it. */
static bool are_one(const struct mapping *left, const struct mapping *right)
{
	return left->file == right->file &&
	       left->offset - left->start == right->offset - right->start;
}

static bool is_there(const struct address_space *space, const struct mapping *mapping)
{
	size_t at = first_ending_after(space, mapping->start);
	return at < space->count && space->list[at].start <= mapping->start &&
	       space->list[at].end >= mapping->end && are_one(&space->list[at], mapping);
}

/* Makes *mapping longer by what goes on before and behind it in the same way. [*first, *last) are
 * the mappings that it takes the place of. */
static void join_neighbours(const struct address_space *space, struct mapping *mapping,
			    size_t *first, size_t *last)
{
	const struct mapping *list = space->list;
	if (*first > 0 && list[*first - 1].end == mapping->start)
		*first -= are_one(&list[*first - 1], mapping);
	if (*last < space->count && list[*last].start == mapping->end)
		*last += are_one(&list[*last], mapping);
	if (*first == *last)
		return;
	const struct mapping *before = &list[*first], *behind = &list[*last - 1];
	if (before->start < mapping->start && are_one(before, mapping)) {
		mapping->start = before->start;
		mapping->offset = before->offset;
	}
	if (behind->end > mapping->end && are_one(behind, mapping))
		mapping->end = behind->end;
}

int address_space_add(struct address_space **space, const struct mapping *mapping)
{
	if (mapping->end <= mapping->start || is_there(*space, mapping))
		return 0;
	if ((*space)->count >= ADDRESS_SPACE_LIMIT)
		return -E2BIG;
	int ret = own(space, (*space)->count + 2); /* itself, and one that it splits */
	if (ret < 0)
		return ret;

	struct address_space *own_space = *space;
	struct mapping added = *mapping;
	size_t first = first_ending_after(own_space, added.start);
	size_t last = first; /* the first one that is not touched */
	while (last < own_space->count && own_space->list[last].start < added.end)
		last++;
	join_neighbours(own_space, &added, &first, &last);

	struct mapping pieces[3];
	size_t made = 0;
	if (first < last && own_space->list[first].start < added.start) {
		pieces[made] = own_space->list[first];
		pieces[made++].end = added.start;
	}
	pieces[made++] = added;
	if (first < last && own_space->list[last - 1].end > added.end) {
		struct mapping rest = own_space->list[last - 1];
		rest.offset += added.end - rest.start;
		rest.start = added.end;
		pieces[made++] = rest;
	}
	memmove(own_space->list + first + made, own_space->list + last,
		(own_space->count - last) * sizeof(*own_space->list));
	memcpy(own_space->list + first, pieces, made * sizeof(*pieces));
	own_space->count = own_space->count - (last - first) + made;
	return 0;
}

const struct mapping *address_space_find(const struct address_space *space, uint64_t address)
{
	size_t at = first_ending_after(space, address);
	if (at == space->count || space->list[at].start > address)
		return NULL;
	return &space->list[at];
}
