#include "import/folded_stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "import/folded_name.h"
#include "profile/profile.h"

/* A frame below a node, by its spelling: most frames are found here and nowhere else. */
struct folded_child {
	uint32_t parent, node;
	uint32_t spelling; /* in the profile's byte pool */
	uint64_t hash;	   /* of parent and spelling */
};

/* Where a frame of the new stack before ended, and its node: neighbours share their first frames.
 */
struct folded_step {
	size_t end; /* where its ';' is */
	uint32_t node;
};

/* What the indexes need to reach texts. */
struct place {
	const struct folded_child *children;
	const struct profile *profile;
};

void folded_stacks_release(struct folded_stacks *stacks)
{
	free(stacks->list);
	hash_index_release(&stacks->index);
	free(stacks->children);
	hash_index_release(&stacks->child_index);
	buffer_release(&stacks->previous);
	free(stacks->steps);
	buffer_release(&stacks->decoded);
}

struct wanted_child {
	uint32_t parent;
	struct span spelling;
};

static bool child_equal(const void *rows, uint32_t position, const void *wanted)
{
	const struct place *place = rows;
	const struct folded_child *child = &place->children[position];
	const struct wanted_child *key = wanted;
	return child->parent == key->parent &&
	       span_equal(profile_bytes(place->profile, child->spelling), key->spelling);
}

static uint64_t child_hash(uint32_t parent, struct span spelling)
{
	return hash_bytes(spelling.data, spelling.size) ^ hash_u64(parent + UINT64_C(1));
}

static uint64_t child_rehash(const void *rows, uint32_t position)
{
	return ((const struct place *)rows)->children[position].hash;
}

static int name_of(struct folded_stacks *stacks, struct profile *profile, struct span spelling,
		   uint32_t *name)
{
	if (!memchr(spelling.data, '%', spelling.size))
		return profile_add_bytes(profile, spelling, name);
	stacks->decoded.size = 0;
	folded_decode_name(&stacks->decoded, spelling);
	if (buffer_failed(&stacks->decoded))
		return -ENOMEM;
	return profile_add_bytes(profile,
				 (struct span){ stacks->decoded.data, stacks->decoded.size }, name);
}

static int new_child(struct folded_stacks *stacks, struct profile *profile,
		     const struct wanted_child *wanted, uint64_t hash, uint32_t *node)
{
	struct folded_child child = { .parent = wanted->parent, .hash = hash };
	struct profile_frame frame = { .kind = FRAME_IP };
	if (array_reserve(&stacks->children, &stacks->child_capacity, stacks->child_count,
			  sizeof(child)) < 0 ||
	    stacks->child_count >= HASH_INDEX_NONE - 1)
		return -ENOMEM;
	int ret = profile_add_bytes(profile, wanted->spelling, &child.spelling);
	if (ret == 0)
		ret = name_of(stacks, profile, wanted->spelling, &frame.name);
	if (ret == 0)
		ret = profile_add_node(profile, wanted->parent, &frame, &child.node);
	if (ret < 0)
		return ret;
	stacks->children[stacks->child_count] = child;
	const struct place place = { stacks->children, profile };
	ret = hash_index_add(&stacks->child_index, hash, (uint32_t)stacks->child_count,
			     child_rehash, &place);
	if (ret < 0)
		return ret;
	stacks->child_count++;
	*node = child.node;
	return 0;
}

static int child_of(struct folded_stacks *stacks, struct profile *profile,
		    const struct wanted_child *wanted, uint32_t *node)
{
	const struct place place = { stacks->children, profile };
	uint64_t hash = child_hash(wanted->parent, wanted->spelling);
	uint32_t position =
		hash_index_find(&stacks->child_index, hash, child_equal, &place, wanted);
	if (position == HASH_INDEX_NONE)
		return new_child(stacks, profile, wanted, hash, node);
	*node = stacks->children[position].node;
	return 0;
}

/* Frames that this stack has in common with the new one before; *at is where the next one starts.
 */
static size_t shared_steps(const struct folded_stacks *stacks, struct span text, size_t *at)
{
	const uint8_t *a = text.data;
	const uint8_t *b = stacks->previous.data;
	size_t limit = text.size < stacks->previous.size ? text.size : stacks->previous.size;
	size_t common = 0;
	while (limit - common >= 8 && memcmp(a + common, b + common, 8) == 0)
		common += 8;
	while (common < limit && a[common] == b[common])
		common++;
	size_t shared = 0;
	*at = 0;
	/* a frame is shared when its ';' is */
	while (shared < stacks->step_count && stacks->steps[shared].end < common)
		*at = stacks->steps[shared++].end + 1;
	return shared;
}

static int node_of(struct folded_stacks *stacks, struct profile *profile, struct span stack,
		   uint32_t *node)
{
	const char *text = stack.data;
	size_t at;
	size_t shared = shared_steps(stacks, stack, &at);
	uint32_t parent = shared ? stacks->steps[shared - 1].node : 0;
	stacks->step_count = shared;
	for (;;) {
		const char *end = memchr(text + at, ';', stack.size - at);
		size_t stop = end ? (size_t)(end - text) : stack.size;
		const struct wanted_child wanted = { parent, { text + at, stop - at } };
		int ret = child_of(stacks, profile, &wanted, &parent);
		if (ret < 0)
			return ret;
		if (!end)
			break;
		if (array_reserve(&stacks->steps, &stacks->step_capacity, stacks->step_count,
				  sizeof(*stacks->steps)) < 0)
			return -ENOMEM;
		stacks->steps[stacks->step_count++] = (struct folded_step){ stop, parent };
		at = stop + 1;
	}
	stacks->previous.size = 0;
	buffer_append(&stacks->previous, stack.data, stack.size);
	*node = parent;
	return buffer_failed(&stacks->previous) ? -ENOMEM : 0;
}

static bool stack_equal(const void *rows, uint32_t position, const void *wanted)
{
	const struct hash128 *a = &((const struct folded_stack *)rows)[position].hash;
	const struct hash128 *b = wanted;
	return a->low == b->low && a->high == b->high;
}

static uint64_t stack_rehash(const void *rows, uint32_t position)
{
	return ((const struct folded_stack *)rows)[position].hash.low;
}

int folded_stacks_find(struct folded_stacks *stacks, struct profile *profile, struct span text,
		       struct folded_stack **out)
{
	struct hash128 hash = hash128_bytes(text.data, text.size);
	uint32_t position =
		hash_index_find(&stacks->index, hash.low, stack_equal, stacks->list, &hash);
	if (position != HASH_INDEX_NONE) {
		*out = &stacks->list[position];
		return 0;
	}
	if (array_reserve(&stacks->list, &stacks->capacity, stacks->count, sizeof(*stacks->list)) <
		    0 ||
	    stacks->count >= HASH_INDEX_NONE - 1)
		return -ENOMEM;
	struct folded_stack stack = { .hash = hash };
	int ret = node_of(stacks, profile, text, &stack.node);
	if (ret < 0)
		return ret;
	stacks->list[stacks->count] = stack;
	ret = hash_index_add(&stacks->index, hash.low, (uint32_t)stacks->count, stack_rehash,
			     stacks->list);
	if (ret < 0)
		return ret;
	*out = &stacks->list[stacks->count++];
	return 0;
}
