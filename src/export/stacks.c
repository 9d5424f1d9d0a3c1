#include "export/stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "export/frames.h"
#include "export/stacks_order.h"
#include "profile/apart.h"

/* What is known of a node of the profile; in one structure, since nodes are visited in no order. */
struct known {
	uint32_t parent;
	uint32_t first, count; /* its frames, in builder->list */
	uint32_t node;	       /* its last node in stacks->nodes, below... */
	uint32_t root;	       /* ... the root of this number minus one; 0: not known */
};

struct builder {
	const struct export_input *input;
	struct stacks *stacks;
	struct frames frames;
	struct export_sums *sums;
	uint32_t *position; /* of a column among the chosen, or STACK_NONE */
	bool *apart;	    /* by event */
	struct cell *in_flat; /* by position: what was written of samples that flat has, too */
	uint32_t *root;	    /* by context: its node, 0 when it has no frame, STACK_NONE unknown */
	struct number_map roots; /* by frame: its node */
	struct frame_list list;
	struct known *known; /* by node of the profile */
	uint32_t *walk;
	size_t walk_capacity;
};

static void builder_release(struct builder *builder)
{
	frames_release(&builder->frames);
	free(builder->position);
	free(builder->apart);
	free(builder->in_flat);
	free(builder->root);
	number_map_release(&builder->roots);
	free(builder->list.numbers);
	free(builder->known);
	free(builder->walk);
}

void stacks_free(struct stacks *stacks)
{
	if (!stacks)
		return;
	free(stacks->frames);
	free(stacks->nodes);
	free(stacks->lines);
	free(stacks->cells);
	free(stacks->path);
	arena_release(&stacks->arena);
	hash_index_release(&stacks->frame_index);
	free(stacks);
}

void stacks_freep(struct stacks **stacks)
{
	stacks_free(*stacks);
}

const struct cell *stacks_cells(const struct stacks *stacks, size_t i)
{
	return &stacks->cells[stacks->nodes[stacks->lines[i]].line * stacks->columns];
}

const uint32_t *stacks_path(struct stacks *stacks, size_t i, size_t *depth)
{
	size_t count = 0;
	for (uint32_t node = stacks->lines[i]; node; node = stacks->nodes[node].parent)
		count++;
	*depth = count;
	for (uint32_t node = stacks->lines[i]; node; node = stacks->nodes[node].parent)
		stacks->path[--count] = stacks->nodes[node].frame;
	return stacks->path;
}

/* ---- nodes */

static int add_node(struct stacks *stacks, uint32_t parent, uint32_t frame, uint32_t *number)
{
	if (stacks->node_count >= STACK_NONE - 1 ||
	    array_reserve(&stacks->nodes, &stacks->node_capacity, stacks->node_count,
			  sizeof(*stacks->nodes)) < 0)
		return -ENOMEM;
	*number = (uint32_t)stacks->node_count++;
	struct stack_node *node = &stacks->nodes[*number];
	*node = (struct stack_node){ .parent = parent, .frame = frame, .line = STACK_NONE };
	if (*number) {
		node->next = stacks->nodes[parent].child;
		stacks->nodes[parent].child = *number;
	}
	return 0;
}

/* Adds a chain of nodes below *node, which becomes the last of them. */
static int add_nodes(struct stacks *stacks, const uint32_t *frames, size_t count, uint32_t *node)
{
	int ret = 0;
	for (size_t i = 0; ret == 0 && i < count; i++)
		ret = add_node(stacks, *node, frames[i], node);
	return ret;
}

static int add_cell(struct stacks *stacks, uint32_t node, size_t position, const struct cell *cell)
{
	size_t row_bytes = stacks->columns * sizeof(struct cell);
	if (stacks->nodes[node].line == STACK_NONE) {
		if (array_reserve(&stacks->cells, &stacks->cell_capacity, stacks->cell_count,
				  row_bytes) < 0)
			return -ENOMEM;
		memset((char *)stacks->cells + stacks->cell_count * row_bytes, 0, row_bytes);
		stacks->nodes[node].line = (uint32_t)stacks->cell_count++;
	}
	cell_add(&stacks->cells[stacks->nodes[node].line * stacks->columns + position], cell);
	return 0;
}

/* ---- from the profile's rows */

/* The chosen position of an event, or STACK_NONE. */
static uint32_t position_of(const struct builder *builder, uint64_t event)
{
	uint32_t column = builder->input->columns->of_event[event];
	return column == EVENT_COLUMN_NONE ? STACK_NONE : builder->position[column];
}

/* Contexts whose first frame is the same share a node. */
static int find_root(struct builder *builder, uint64_t context, uint32_t *root)
{
	uint32_t frame;
	*root = builder->root[context];
	if (*root != STACK_NONE)
		return 0;
	int ret = frames_of_context(&builder->frames, (uint32_t)context, &frame);
	if (ret < 0)
		return ret;
	*root = 0;
	if (frame != STACK_NONE)
		*root = (uint32_t)(uintptr_t)number_map_find(&builder->roots, frame);
	if (frame != STACK_NONE && !*root) {
		ret = add_node(builder->stacks, 0, frame, root);
		if (ret == 0)
			ret = number_map_put(&builder->roots, frame, (void *)(uintptr_t)*root);
	}
	builder->root[context] = *root;
	return ret;
}

/* Finds the frames of all nodes of the profile, in the order in which they lie in memory. */
static int read_places(struct builder *builder)
{
	size_t count = profile_table(builder->input->profile, PROFILE_NODE)->count;
	struct frame_list *list = &builder->list;
	builder->known = calloc(count + 1, sizeof(*builder->known)); /* [0] is any root */
	if (!builder->known)
		return -ENOMEM;
	for (size_t id = 1; id <= count; id++) {
		struct known *known = &builder->known[id];
		struct profile_frame frame =
			profile_node(builder->input->profile, id, &known->parent);
		size_t first = list->count;
		int ret = frames_of_place(&builder->frames, &frame, list);
		if (ret < 0 || list->count > UINT32_MAX)
			return -ENOMEM;
		known->first = (uint32_t)first;
		known->count = (uint32_t)(list->count - first);
	}
	return 0;
}

/*
 * Finds or adds the node in stacks->nodes of the node `place` of the profile, below a root.
 * builder->known remembers one root for each node of the profile: after another one was
 * there, a node may be added twice, and stacks_sort() joins the two.
 */
static int find_stack(struct builder *builder, uint32_t root, uint32_t place, uint32_t *node)
{
	size_t depth = 0;
	*node = root;
	while (place) {
		if (builder->known[place].root == root + 1) {
			*node = builder->known[place].node;
			break;
		}
		if (array_reserve(&builder->walk, &builder->walk_capacity, depth,
				  sizeof(*builder->walk)) < 0)
			return -ENOMEM;
		builder->walk[depth++] = place;
		place = builder->known[place].parent;
	}
	while (depth > 0) {
		struct known *known = &builder->known[builder->walk[--depth]];
		int ret = add_nodes(builder->stacks, builder->list.numbers + known->first,
				    known->count, node);
		if (ret < 0)
			return ret;
		known->node = *node;
		known->root = root + 1;
	}
	return 0;
}

static int add_stack(struct builder *builder, const struct table *stacks, size_t row)
{
	const uint64_t *keys = table_keys(stacks, row);
	uint32_t position = position_of(builder, keys[STACK_EVENT]);
	if (position == STACK_NONE || !keys[STACK_NODE])
		return 0;
	const struct cell cell = cell_of_values(table_values(stacks, row));
	uint32_t root, node = 0;
	int ret = find_root(builder, keys[STACK_CONTEXT], &root);
	if (ret == 0)
		ret = find_stack(builder, root, (uint32_t)keys[STACK_NODE], &node);
	if (ret < 0)
		return ret;
	struct export_sums *sums = &builder->sums[position];
	sums->has_stacks = true;
	cell_add(&sums->written, &cell);
	if (!builder->apart[keys[STACK_EVENT]])
		cell_add(&builder->in_flat[position], &cell);
	return add_cell(builder->stacks, node, position, &cell);
}

/*
 * Adds the nodes of many rows of one context at once: marks what they need from the leaves
 * up, and adds it from the root down, in the order in which nodes lie in memory. Row by row,
 * most nodes would miss the CPU's caches.
 */
static int find_stacks(struct builder *builder, const struct table *stacks, const uint32_t *rows,
		       size_t count)
{
	struct known *known = builder->known;
	size_t nodes = profile_table(builder->input->profile, PROFILE_NODE)->count;
	uint32_t root;
	int ret = find_root(builder, table_keys(stacks, rows[0])[STACK_CONTEXT], &root);
	for (size_t i = 0; ret == 0 && i < count; i++) {
		const uint64_t *keys = table_keys(stacks, rows[i]);
		struct known *leaf = &known[keys[STACK_NODE]];
		if (position_of(builder, keys[STACK_EVENT]) != STACK_NONE && leaf->root != root + 1)
			*leaf = (struct known){ leaf->parent, leaf->first, leaf->count, STACK_NONE,
						root + 1 };
	}
	for (size_t id = nodes; ret == 0 && id > 0; id--) {
		struct known *parent = &known[known[id].parent];
		if (known[id].root != root + 1 || parent->root == root + 1)
			continue;
		parent->node = STACK_NONE;
		parent->root = root + 1;
	}
	known[0].node = root;
	for (size_t id = 1; ret == 0 && id <= nodes; id++) {
		if (known[id].root != root + 1 || known[id].node != STACK_NONE)
			continue;
		known[id].node = known[known[id].parent].node;
		ret = add_nodes(builder->stacks, builder->list.numbers + known[id].first,
				known[id].count, &known[id].node);
	}
	return ret;
}

/* About how many nodes a row has of its own: with fewer rows than nodes / this, walking row by row
 * touches fewer nodes than find_stacks(), which visits all. */
#define NODES_OF_A_ROW 64

/* Adds the rows of the table "stack" context by context, since builder->known remembers one root.
 */
static int add_stacks(struct builder *builder)
{
	const struct table *stacks = profile_table(builder->input->profile, PROFILE_STACK);
	size_t contexts = profile_table(builder->input->profile, PROFILE_CONTEXT)->count;
	CLEANUP(free_pointer) size_t *end = calloc(contexts + 2, sizeof(*end));
	CLEANUP(free_pointer) uint32_t *order = calloc(stacks->count + 1, sizeof(*order));
	if (!end || !order)
		return -ENOMEM;
	for (size_t row = 0; row < stacks->count; row++)
		end[table_keys(stacks, row)[STACK_CONTEXT] + 1]++;
	for (size_t context = 1; context <= contexts + 1; context++)
		end[context] += end[context - 1];
	for (size_t row = 0; row < stacks->count; row++)
		order[end[table_keys(stacks, row)[STACK_CONTEXT]]++] = (uint32_t)row;
	size_t nodes = profile_table(builder->input->profile, PROFILE_NODE)->count;
	int ret = 0;
	for (size_t context = 0, i = 0; ret == 0 && context <= contexts; context++) {
		if (end[context] - i > nodes / NODES_OF_A_ROW)
			ret = find_stacks(builder, stacks, order + i, end[context] - i);
		for (; ret == 0 && i < end[context]; i++)
			ret = add_stack(builder, stacks, order[i]);
	}
	return ret;
}

static int add_leaf(struct builder *builder, const uint64_t *keys, uint32_t position,
		    const struct cell *cell)
{
	const struct profile_frame leaf = { .kind = FRAME_IP,
					    .image = (uint32_t)keys[FLAT_IMAGE],
					    .vaddr = keys[FLAT_VADDR],
					    .name = (uint32_t)keys[FLAT_NAME] };
	struct frame_list *list = &builder->list;
	uint32_t node, image = STACK_NONE;
	int ret = find_root(builder, keys[FLAT_CONTEXT], &node);
	if (ret == 0 && builder->frames.grain != STACKS_BY_ADDRESS)
		ret = frames_of_image(&builder->frames, leaf.image, &image);
	if (ret == 0 && image != STACK_NONE)
		ret = add_node(builder->stacks, node, image, &node);
	size_t first = list->count;
	if (ret == 0)
		ret = frames_of_place(&builder->frames, &leaf, list);
	if (ret == 0)
		ret = add_nodes(builder->stacks, list->numbers + first, list->count - first, &node);
	list->count = first;
	return ret < 0 ? ret : add_cell(builder->stacks, node, position, cell);
}

/* Adds the leaves of events without stacks; of those with stacks, sums up what is in no stack. */
static int add_flat(struct builder *builder)
{
	const struct table *flat = profile_table(builder->input->profile, PROFILE_FLAT);
	for (size_t row = 0; row < flat->count; row++) {
		const uint64_t *keys = table_keys(flat, row);
		uint32_t position = position_of(builder, keys[FLAT_EVENT]);
		if (position == STACK_NONE || builder->apart[keys[FLAT_EVENT]])
			continue;
		const struct cell cell = cell_of_values(table_values(flat, row));
		struct export_sums *sums = &builder->sums[position];
		cell_add(sums->has_stacks ? &sums->missing : &sums->written, &cell);
		if (sums->has_stacks)
			continue;
		int ret = add_leaf(builder, keys, position, &cell);
		if (ret < 0)
			return ret;
	}
	for (size_t i = 0; i < builder->input->chosen_count; i++) {
		struct export_sums *sums = &builder->sums[i];
		sums->missing = cell_without(&sums->missing, &builder->in_flat[i]);
	}
	return 0;
}

/* ---- all together */

static int builder_init(struct builder *builder)
{
	const struct profile *profile = builder->input->profile;
	size_t contexts = profile_table(profile, PROFILE_CONTEXT)->count + 1;
	size_t columns = builder->input->columns->count + 1;
	builder->position = malloc(columns * sizeof(*builder->position));
	builder->root = malloc(contexts * sizeof(*builder->root));
	builder->apart = profile_stacks_apart(profile);
	builder->in_flat = calloc(builder->input->chosen_count + 1, sizeof(*builder->in_flat));
	if (!builder->position || !builder->root || !builder->apart || !builder->in_flat)
		return -ENOMEM;
	memset(builder->position, 0xff, columns * sizeof(*builder->position)); /* STACK_NONE */
	memset(builder->root, 0xff, contexts * sizeof(*builder->root));
	for (size_t i = 0; i < builder->input->chosen_count; i++)
		builder->position[builder->input->chosen[i]] = (uint32_t)i;
	return read_places(builder);
}

int stacks_new(const struct export_input *input, enum stacks_grain grain, struct export_sums *sums,
	       struct stacks **out)
{
	CLEANUP(stacks_freep) struct stacks *stacks = calloc(1, sizeof(*stacks));
	if (!stacks)
		return -ENOMEM;
	CLEANUP(builder_release)
	struct builder builder = { .input = input,
				   .stacks = stacks,
				   .frames = { .input = input, .grain = grain, .stacks = stacks },
				   .sums = sums };
	stacks->columns = input->chosen_count;
	for (size_t i = 0; i < input->chosen_count; i++)
		sums[i] = (struct export_sums){ 0 };
	uint32_t root;
	int ret = builder_init(&builder);
	if (ret == 0)
		ret = add_node(stacks, 0, 0, &root);
	if (ret == 0)
		ret = add_stacks(&builder);
	if (ret == 0)
		ret = add_flat(&builder);
	if (ret == 0)
		ret = stacks_sort(stacks);
	if (ret < 0)
		return ret;
	*out = stacks;
	stacks = NULL; /* the caller's from here on */
	return 0;
}
