#include "image/address_space.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

/* Mappings of a block. A change copies one block, and the list of blocks, of which there are 512
 * and more at ADDRESS_SPACE_LIMIT. */
#define BLOCK_MAPPINGS 256u
#define BLOCK_SPARSE   (BLOCK_MAPPINGS / 2) /* two neighbours that have no more become one */

struct shared_mappings {
	size_t references;
	struct mapping list[];
};

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

/* ---- blocks */

static struct shared_mappings *shared_of(const struct mapping_block *block)
{
	return (struct shared_mappings *)((char *)block->list -
					  offsetof(struct shared_mappings, list));
}

static void drop_blocks(const struct mapping_block *blocks, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct shared_mappings *shared = shared_of(&blocks[i]);
		if (--shared->references == 0)
			free(shared);
	}
}

void address_space_drop(struct address_space *space)
{
	if (!space || --space->references)
		return;
	drop_blocks(space->blocks, space->block_count);
	free(space->blocks);
	free(space);
}

/* ---- look-up */

/* All bits or none: gcc makes a branch of "condition ? half : 0". */
static size_t mask_of(bool condition)
{
	return -(size_t)condition;
}

/* The first of the mappings that ends after `address`, or the last one. Without branches that
 * depend on it: one address of a call chain says little about the next one's. */
static const struct mapping *search_block(const struct mapping_block *block, uint64_t address)
{
	const struct mapping *at = block->list;
	for (size_t left = block->count; left > 1;) {
		size_t half = left / 2;
		at += half & mask_of(at[half - 1].end <= address);
		left -= half;
	}
	return at;
}

/* The block that holds the first mapping that ends after `address`, or the last one; there is one.
 * Likewise. */
static const struct mapping_block *search_blocks(const struct address_space *space,
						 uint64_t address)
{
	const struct mapping_block *at = space->blocks;
	for (size_t left = space->block_count; left > 1;) {
		size_t half = left / 2;
		at += half & mask_of(at[half - 1].end <= address);
		left -= half;
	}
	return at;
}

const struct mapping *address_space_find(const struct address_space *space, uint64_t address)
{
	if (!space->block_count)
		return NULL;
	const struct mapping *found = search_block(search_blocks(space, address), address);
	return found->start <= address && found->end > address ? found : NULL;
}

uint64_t address_space_end(const struct address_space *space)
{
	return space->block_count ? space->blocks[space->block_count - 1].end : 0;
}

/* ---- changes */

/* Before the first mapping that ends after `address`. */
static struct mapping_place first_ending_after(const struct address_space *space, uint64_t address)
{
	if (address_space_end(space) <= address)
		return (struct mapping_place){ space->block_count, 0 };
	const struct mapping_block *block = search_blocks(space, address);
	return (struct mapping_place){ (size_t)(block - space->blocks),
				       (size_t)(search_block(block, address) - block->list) };
}

/* NULL at the end. */
static const struct mapping *behind(const struct address_space *space, struct mapping_place place)
{
	return place.block < space->block_count ? &space->blocks[place.block].list[place.at] : NULL;
}

/* Behind a mapping that is there. */
static struct mapping_place next_place(const struct address_space *space,
				       struct mapping_place place)
{
	if (place.at + 1 < space->blocks[place.block].count)
		return (struct mapping_place){ place.block, place.at + 1 };
	return (struct mapping_place){ place.block + 1, 0 };
}

const struct mapping *address_space_next(const struct address_space *space,
					 struct mapping_place *place)
{
	const struct mapping *mapping = behind(space, *place);
	if (mapping)
		*place = next_place(space, *place);
	return mapping;
}

/* Before a mapping that is there. */
static struct mapping_place place_before(const struct address_space *space,
					 struct mapping_place place)
{
	if (place.at)
		return (struct mapping_place){ place.block, place.at - 1 };
	return (struct mapping_place){ place.block - 1, space->blocks[place.block - 1].count - 1 };
}

/* NULL at the start. */
static const struct mapping *before(const struct address_space *space, struct mapping_place place)
{
	return place.block || place.at ? behind(space, place_before(space, place)) : NULL;
}

static bool same_place(struct mapping_place a, struct mapping_place b)
{
	return a.block == b.block && a.at == b.at;
}

/* Whether both map their file so that each continues the other. */
static bool are_one(const struct mapping *left, const struct mapping *right)
{
	return left->file == right->file &&
	       left->offset - left->start == right->offset - right->start;
}

static bool is_there(const struct address_space *space, const struct mapping *mapping)
{
	const struct mapping *found = address_space_find(space, mapping->start);
	return found && found->end >= mapping->end && are_one(found, mapping);
}

/* Makes *mapping longer by the neighbours that it continues. [*first, *last) are the mappings that
 * it takes the place of. */
static void join_neighbours(const struct address_space *space, struct mapping *mapping,
			    struct mapping_place *first, struct mapping_place *last)
{
	const struct mapping *left = before(space, *first);
	if (left && left->end == mapping->start && are_one(left, mapping))
		*first = place_before(space, *first);
	const struct mapping *right = behind(space, *last);
	if (right && right->start == mapping->end && are_one(right, mapping))
		*last = next_place(space, *last);
	if (same_place(*first, *last))
		return;
	left = behind(space, *first);
	right = before(space, *last);
	if (left->start < mapping->start && are_one(left, mapping)) {
		mapping->start = left->start;
		mapping->offset = left->offset;
	}
	if (right->end > mapping->end && are_one(right, mapping))
		mapping->end = right->end;
}

/* What a new mapping makes of those it touches: itself, and what is left of the first and the last
 * of them. Returns how many pieces. */
static size_t cut_pieces(const struct address_space *space, const struct mapping *added,
			 struct mapping_place first, struct mapping_place last,
			 struct mapping pieces[3])
{
	const bool touches = !same_place(first, last);
	const struct mapping *left = touches ? behind(space, first) : NULL;
	const struct mapping *right = touches ? before(space, last) : NULL;
	size_t made = 0;
	if (left && left->start < added->start) {
		pieces[made] = *left;
		pieces[made++].end = added->start;
	}
	pieces[made++] = *added;
	if (right && right->end > added->end) {
		pieces[made] = *right;
		pieces[made].offset += added->end - right->start;
		pieces[made++].start = added->end;
	}
	return made;
}

/* ---- blocks made anew */

#define NEW_BLOCKS 3u /* of two full ones that keep all but a mapping each, and three pieces */

struct part {
	const struct mapping *list;
	size_t count;
};

enum part_name { PART_BEFORE, PART_LEFT, PART_PIECES, PART_RIGHT, PART_BEHIND, PART_COUNT };

struct change {
	size_t from, to; /* blocks that are replaced */
	/* what comes in their place: a sparse neighbour, what they keep, pieces, and so on */
	struct part parts[PART_COUNT];
	size_t count; /* of all these mappings */
	struct mapping_block made[NEW_BLOCKS];
	size_t made_count;
};

static struct part part_of(const struct mapping_block *block, size_t from, size_t to)
{
	return (struct part){ block->list + from, to - from };
}

static struct part whole(const struct mapping_block *block)
{
	return part_of(block, 0, block->count);
}

/* Takes sparse neighbouring blocks into the change, so that there are never many small ones. */
static void join_sparse(const struct address_space *space, struct change *change)
{
	const struct mapping_block *blocks = space->blocks;
	if (change->from > 0 && blocks[change->from - 1].count + change->count <= BLOCK_SPARSE) {
		change->from--;
		change->parts[PART_BEFORE] = whole(&blocks[change->from]);
		change->count += blocks[change->from].count;
	}
	if (change->to < space->block_count &&
	    blocks[change->to].count + change->count <= BLOCK_SPARSE) {
		change->parts[PART_BEHIND] = whole(&blocks[change->to]);
		change->count += blocks[change->to].count;
		change->to++;
	}
}

/* The pieces take the place of the mappings in [first, last). */
static void plan(const struct address_space *space, struct mapping_place first,
		 struct mapping_place last, struct part pieces, struct change *change)
{
	const struct mapping_block *blocks = space->blocks;
	*change = (struct change){ .from = first.block,
				   .to = last.block + (last.at > 0),
				   .parts[PART_PIECES] = pieces };
	if (first.at)
		change->parts[PART_LEFT] = part_of(&blocks[first.block], 0, first.at);
	if (last.at)
		change->parts[PART_RIGHT] =
			part_of(&blocks[last.block], last.at, blocks[last.block].count);
	if (change->from == change->to && change->from > 0) /* behind a block */
		change->parts[PART_LEFT] = whole(&blocks[--change->from]);
	else if (change->from == change->to && space->block_count) /* before the first one */
		change->parts[PART_RIGHT] = whole(&blocks[change->to++]);
	for (size_t i = 0; i < PART_COUNT; i++)
		change->count += change->parts[i].count;
	join_sparse(space, change);
}

/* How many of the mappings that are left go to the next block. Where they come in the order of
 * their addresses, or against it, one block after the other gets full. */
static size_t next_share(const struct address_space *space, const struct change *change,
			 size_t left, size_t blocks_left)
{
	if (!change->parts[PART_LEFT].count && change->from == 0)
		return left - (blocks_left - 1) * BLOCK_MAPPINGS;
	if (!change->parts[PART_RIGHT].count && change->to == space->block_count)
		return left < BLOCK_MAPPINGS ? left : BLOCK_MAPPINGS;
	return left / blocks_left;
}

/* Takes its mappings off the parts. */
static int make_block(struct part *part, size_t count, struct mapping_block *block)
{
	struct shared_mappings *made = malloc(sizeof(*made) + count * sizeof(made->list[0]));
	if (!made)
		return -ENOMEM;
	made->references = 1;
	for (size_t filled = 0; filled < count;) {
		if (!part->count) {
			part++;
			continue;
		}
		size_t taken = part->count < count - filled ? part->count : count - filled;
		memcpy(made->list + filled, part->list, taken * sizeof(made->list[0]));
		filled += taken;
		part->list += taken;
		part->count -= taken;
	}
	*block = (struct mapping_block){ made->list, count, made->list[count - 1].end };
	return 0;
}

static int make_blocks(const struct address_space *space, struct change *change)
{
	size_t left = change->count;
	for (size_t blocks = (left + BLOCK_MAPPINGS - 1) / BLOCK_MAPPINGS; blocks > 0; blocks--) {
		size_t count = next_share(space, change, left, blocks);
		if (make_block(change->parts, count, &change->made[change->made_count]) < 0) {
			drop_blocks(change->made, change->made_count);
			return -ENOMEM;
		}
		change->made_count++;
		left -= count;
	}
	return 0;
}

/* Room for `count` blocks in a space that nobody else has. */
static int own(struct address_space **space, size_t count)
{
	struct address_space *old = *space;
	if (old->references == 1)
		return count ? array_reserve(&old->blocks, &old->block_capacity, count - 1,
					     sizeof(*old->blocks))
			     : 0;
	struct address_space *copy = address_space_new();
	if (!copy)
		return -ENOMEM;
	copy->block_capacity = count > old->block_count ? count : old->block_count;
	copy->blocks = calloc(copy->block_capacity, sizeof(*copy->blocks));
	if (!copy->blocks) {
		free(copy);
		return -ENOMEM;
	}
	for (size_t i = 0; i < old->block_count; i++) {
		copy->blocks[i] = old->blocks[i];
		shared_of(&copy->blocks[i])->references++;
	}
	copy->block_count = old->block_count;
	copy->count = old->count;
	old->references--;
	*space = copy;
	return 0;
}

static void put_blocks(struct address_space *space, const struct change *change)
{
	size_t behind_count = space->block_count - change->to;
	space->count += change->count;
	for (size_t i = change->from; i < change->to; i++)
		space->count -= space->blocks[i].count;
	drop_blocks(space->blocks + change->from, change->to - change->from);
	memmove(space->blocks + change->from + change->made_count, space->blocks + change->to,
		behind_count * sizeof(*space->blocks));
	memcpy(space->blocks + change->from, change->made,
	       change->made_count * sizeof(*space->blocks));
	space->block_count = change->from + change->made_count + behind_count;
}

int address_space_add(struct address_space **space, const struct mapping *mapping)
{
	if (mapping->end <= mapping->start || is_there(*space, mapping))
		return 0;
	if ((*space)->count >= ADDRESS_SPACE_LIMIT)
		return -E2BIG;
	struct mapping added = *mapping, pieces[3];
	struct change change;
	struct mapping_place first = first_ending_after(*space, added.start);
	struct mapping_place last = first_ending_after(*space, added.end);
	if (behind(*space, last) && behind(*space, last)->start < added.end)
		last = next_place(*space, last);
	join_neighbours(*space, &added, &first, &last);
	size_t count = cut_pieces(*space, &added, first, last, pieces);
	plan(*space, first, last, (struct part){ pieces, count }, &change);
	int ret = make_blocks(*space, &change);
	if (ret < 0)
		return ret;
	ret = own(space, (*space)->block_count - (change.to - change.from) + change.made_count);
	if (ret < 0) {
		drop_blocks(change.made, change.made_count);
		return ret;
	}
	put_blocks(*space, &change);
	return 0;
}
