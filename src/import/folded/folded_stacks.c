#include "import/folded/folded_stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "import/folded/folded_name.h"
#include "profile/profile.h"

/* Where a frame of the last new stack ends, and its node: neighbours share their first frames. */
struct folded_step {
	size_t end;	     /* where its ';' is */
	struct hash128 path; /* from the root to it */
	uint32_t node;
};

void folded_stacks_release(struct folded_stacks *stacks)
{
	free(stacks->list);
	hash_index_release(&stacks->index);
	path_nodes_release(&stacks->paths);
	buffer_release(&stacks->previous);
	free(stacks->steps);
	buffer_release(&stacks->decoded);
}

static int name_of(struct folded_stacks *stacks, struct profile *profile, struct span spelling,
		   uint32_t *name)
{
	if (!memchr(spelling.data, '%', spelling.size))
		return profile_add_bytes(profile, spelling, name);
	buffer_empty(&stacks->decoded);
	folded_decode_name(&stacks->decoded, spelling);
	if (buffer_failed(&stacks->decoded))
		return -ENOMEM;
	return profile_add_bytes(profile,
				 (struct span){ stacks->decoded.data, stacks->decoded.size }, name);
}

/* A node that is surely new: one path of spellings is one path of names. */
static int add_node(struct profile *profile, uint32_t parent, uint32_t name, uint32_t *node)
{
	const uint64_t keys[] = { [NODE_PARENT] = parent,
				  [NODE_KIND] = FRAME_IP,
				  [NODE_IMAGE] = 0,
				  [NODE_VADDR] = 0,
				  [NODE_NAME] = name };
	struct table *nodes = profile->tables[PROFILE_NODE];
	if (table_append(nodes, keys, NULL) < 0)
		return -ENOMEM;
	*node = (uint32_t)nodes->count;
	return 0;
}

/* Replaces *path and *node by those of a frame below them. */
static int descend(struct folded_stacks *stacks, struct profile *profile, struct span spelling,
		   struct hash128 *path, uint32_t *node)
{
	uint32_t name, parent = *node;
	*path = path_hash(*path, hash128_of_text(spelling.data, spelling.size));
	*node = path_nodes_find(&stacks->paths, *path);
	if (*node)
		return 0;
	if (name_of(stacks, profile, spelling, &name) < 0 ||
	    add_node(profile, parent, name, node) < 0)
		return -ENOMEM;
	return path_nodes_add(&stacks->paths, *path, *node);
}

/* How many first frames a stack has in common with the last new one; *at is where the next one
 * starts. */
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
	struct hash128 path = { 0 };
	*node = 0;
	if (shared) {
		path = stacks->steps[shared - 1].path;
		*node = stacks->steps[shared - 1].node;
	}
	stacks->step_count = shared;
	for (;;) {
		const char *end = memchr(text + at, ';', stack.size - at);
		size_t stop = end ? (size_t)(end - text) : stack.size;
		struct span spelling = { text + at, stop - at };
		int ret = descend(stacks, profile, spelling, &path, node);
		if (ret < 0)
			return ret;
		if (!end)
			break;
		if (array_reserve(&stacks->steps, &stacks->step_capacity, stacks->step_count,
				  sizeof(*stacks->steps)) < 0)
			return -ENOMEM;
		stacks->steps[stacks->step_count++] = (struct folded_step){ stop, path, *node };
		at = stop + 1;
	}
	buffer_empty(&stacks->previous);
	buffer_append(&stacks->previous, stack.data, stack.size);
	return buffer_failed(&stacks->previous) ? -ENOMEM : 0;
}

static bool stack_equal(const void *rows, uint32_t position, const void *wanted)
{
	const struct hash128 *a = &((const struct folded_stack *)rows)[position].hash;
	const struct hash128 *b = wanted;
	return a->low == b->low && a->high == b->high;
}

int folded_stacks_find(struct folded_stacks *stacks, struct profile *profile, struct span text,
		       struct folded_stack **out)
{
	struct hash128 hash = hash128_of_text(text.data, text.size);
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
	ret = hash_index_add(&stacks->index, hash.low, (uint32_t)stacks->count);
	if (ret < 0)
		return ret;
	*out = &stacks->list[stacks->count++];
	return 0;
}
