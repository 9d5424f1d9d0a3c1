#include "analyze/flame/flame_grow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/figures/column_match.h"
#include "analyze/report/chosen_samples.h"
#include "analyze/report/place_labels.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/hash.h"

/* ---- labels and twigs */

static uint64_t hash_label(const struct flame_label *label)
{
	return hash_u64(hash_bytes(label->name, strlen(label->name)) ^
			hash_u64(hash_bytes(label->image, strlen(label->image)) +
				 (label->kind == FLAME_INLINED ? 1 : 0) +
				 (label->kind == FLAME_GROUP ? 2 : 0)));
}

/* A command, and an inlined function, is another frame than a function of that name. */
static bool equal_labels(const void *rows, uint32_t position, const void *wanted)
{
	const struct flame_label *a = (const struct flame_label *)rows + position, *b = wanted;
	return (a->kind == FLAME_INLINED) == (b->kind == FLAME_INLINED) &&
	       (a->kind == FLAME_GROUP) == (b->kind == FLAME_GROUP) &&
	       (a->source != FLAME_FROM_TEXT || b->source != FLAME_FROM_TEXT ||
		(a->kind == FLAME_KERNEL) == (b->kind == FLAME_KERNEL)) &&
	       strcmp(a->name, b->name) == 0 && strcmp(a->image, b->image) == 0;
}

static int find_label(struct flame_growth *growth, const struct flame_label *wanted,
		      uint32_t *label)
{
	struct flame *flame = growth->flame;
	uint64_t hash = hash_label(wanted);
	*label = hash_index_find(&growth->label_index, hash, equal_labels, flame->labels, wanted);
	if (*label != HASH_INDEX_NONE)
		return 0;
	int ret = array_reserve(&flame->labels, &growth->label_capacity, flame->label_count,
				sizeof(*flame->labels));
	if (ret < 0)
		return ret;
	*label = (uint32_t)flame->label_count;
	flame->labels[*label] = *wanted;
	ret = hash_index_add(&growth->label_index, hash, *label);
	if (ret == 0)
		flame->label_count++;
	return ret;
}

static int find_twig(struct flame_growth *growth, uint32_t parent, uint32_t label, uint32_t *twig)
{
	int ret = label_tree_find(&growth->twigs, parent, label, twig);
	for (size_t side = 0; ret == 0 && side < FLAME_SIDES; side++)
		if (growth->flame->reports[side])
			ret = node_cells_reach(&growth->self[side], growth->twigs.count);
	return ret;
}

static int find_group(struct flame_growth *growth, const char *name, uint32_t *label)
{
	struct flame_label group = {
		.name = name, .image = "", .kind = FLAME_GROUP, .source = FLAME_FROM_PROFILE
	};
	return find_label(growth, &group, label);
}

int flame_growth_init(struct flame_growth *growth, struct flame *flame)
{
	*growth = (struct flame_growth){ .flame = flame };
	for (size_t side = 0; side < FLAME_SIDES; side++)
		growth->self[side].columns = flame->columns;
	uint32_t label, root;
	int ret = find_group(growth, "all", &label);
	return ret < 0 ? ret : find_twig(growth, LABEL_TREE_NONE, label, &root);
}

void flame_growth_release(struct flame_growth *growth)
{
	label_tree_release(&growth->twigs);
	for (size_t side = 0; side < FLAME_SIDES; side++)
		free(growth->self[side].list);
	hash_index_release(&growth->label_index);
}

/* ---- a walk */

/* The twig of a stack: that of a node of the profile, upon the twig `root`. */
struct settled {
	uint32_t root, node, twig;
};

struct walk {
	struct flame_growth *growth;
	enum flame_side side;
	const struct flame_options *options;
	const uint32_t *column_of;
	const struct report *report;
	const struct chosen_samples *selection;
	uint32_t no_stack; /* label */

	uint32_t *label_of; /* by procedure, plus one */
	size_t label_capacity;
	struct place_labels labels;
	uint32_t *command_of; /* by context, plus one: label; UINT32_MAX: none to show */
	uint32_t *image_of;   /* by image, plus one: label of a tower */

	/* Most nodes are reached below one root only: those are in the arrays, others in the index.
	 */
	uint32_t *node_root, *node_twig; /* by node; root plus one */
	struct settled *settled;
	size_t settled_count, settled_capacity;
	struct hash_index settled_index;
	uint32_t *path;
	size_t path_capacity;
};

static void walk_release(struct walk *walk)
{
	free(walk->label_of);
	place_labels_release(&walk->labels);
	free(walk->command_of);
	free(walk->image_of);
	free(walk->node_root);
	free(walk->node_twig);
	free(walk->settled);
	free(walk->path);
	hash_index_release(&walk->settled_index);
}

/* Folded text marks what it knows of a function behind its name, as stackcollapse-perf.pl does. */
static int read_mark(struct flame *flame, struct flame_label *label)
{
	static const struct {
		const char *mark;
		enum flame_kind kind;
	} marks[] = { { "_[k]", FLAME_KERNEL }, { "_[i]", FLAME_INLINED }, { "_[j]", FLAME_JIT } };
	size_t size = strlen(label->name);
	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
		if (size <= 4 || strcmp(label->name + size - 4, marks[i].mark) != 0)
			continue;
		label->kind = marks[i].kind;
		label->name = arena_copy_text(&flame->arena, label->name, size - 4);
		return label->name ? 0 : -ENOMEM;
	}
	return 0;
}

static struct flame_label describe(const struct walk *walk, const struct place_procedure *procedure)
{
	struct flame_label label = { .name = procedure->name,
				     .image = procedure->image_name,
				     .kind = FLAME_USER,
				     .source = FLAME_FROM_SYMBOLS };
	unsigned marks = procedure->marks;
	bool jit = procedure->image &&
		   profile_image(walk->report->profile, procedure->image).kind == IMAGE_JIT;
	if (marks & PLACE_INLINED) {
		label.kind = FLAME_INLINED;
		label.source = FLAME_FROM_DEBUG;
		return label;
	}
	if (marks & PLACE_KERNEL)
		label.kind = FLAME_KERNEL;
	else if (jit)
		label.kind = FLAME_JIT;
	else if (!(marks & PLACE_HAS_IMAGE) || !(marks & (PLACE_NAMED | PLACE_BARE_NAME)))
		label.kind = FLAME_UNKNOWN;
	else if ((marks & PLACE_BARE_NAME) && !procedure->image)
		label.kind = FLAME_TEXT;
	if (!(marks & (PLACE_NAMED | PLACE_BARE_NAME)))
		label.source = FLAME_FROM_NOTHING;
	else if (marks & PLACE_BARE_NAME)
		label.source = FLAME_FROM_TEXT;
	else if (marks & PLACE_KERNEL)
		label.source = FLAME_FROM_KERNEL;
	else if (jit)
		label.source = FLAME_FROM_JIT;
	else if (!(marks & PLACE_SYMBOL_TABLE))
		label.source = FLAME_FROM_EXPORTS;
	return label;
}

/* For place_labels. */
static int label_of_procedure(void *context, uint32_t procedure, uint32_t *label)
{
	struct walk *walk = context;
	int ret = array_reserve_zeroed(&walk->label_of, &walk->label_capacity, procedure,
				       sizeof(*walk->label_of));
	if (ret < 0)
		return ret;
	if (walk->label_of[procedure] == 0) {
		struct flame_label wanted =
			describe(walk, places_procedure(walk->report->places, procedure));
		if (walk->growth->flame->by_name_alone)
			wanted.image = "";
		if (wanted.source == FLAME_FROM_TEXT)
			ret = read_mark(walk->growth->flame, &wanted);
		if (ret == 0)
			ret = find_label(walk->growth, &wanted, label);
		if (ret < 0)
			return ret;
		walk->label_of[procedure] = *label + 1;
	}
	*label = walk->label_of[procedure] - 1;
	return 0;
}

/* Moves *twig by one step for each label at a place. */
static int climb(struct walk *walk, uint32_t place, uint32_t *twig)
{
	const uint32_t *labels;
	size_t count;
	int ret = place_labels_at(&walk->labels, place, &labels, &count);
	bool outward = walk->options->direction == FLAME_FROM_LEAF;
	for (size_t i = 0; ret == 0 && i < count; i++)
		ret = find_twig(walk->growth, *twig, labels[outward ? count - 1 - i : i], twig);
	return ret;
}

/* Stores the label of a context's command in *label, or UINT32_MAX when there is none to show. */
static int command_label(struct walk *walk, uint32_t context, uint32_t *label)
{
	*label = UINT32_MAX;
	if (walk->options->commands == FLAME_WITHOUT_COMMANDS || context == 0)
		return 0;
	if (walk->command_of[context] == 0) {
		struct profile_context who = profile_context(walk->report->profile, context);
		struct span comm = profile_context_command(&who);
		if (comm.data) {
			const char *name =
				arena_copy_text(&walk->growth->flame->arena, comm.data, comm.size);
			int ret = name ? find_group(walk->growth, name, label) : -ENOMEM;
			if (ret < 0)
				return ret;
		}
		walk->command_of[context] = *label == UINT32_MAX ? UINT32_MAX : *label + 1;
	}
	*label = walk->command_of[context] == UINT32_MAX ? UINT32_MAX
							 : walk->command_of[context] - 1;
	return 0;
}

static int step_to_command(struct walk *walk, uint32_t context, uint32_t *twig)
{
	uint32_t label;
	int ret = command_label(walk, context, &label);
	if (ret == 0 && label != UINT32_MAX)
		ret = find_twig(walk->growth, *twig, label, twig);
	return ret;
}

/* ---- nodes that were reached before */

static uint64_t hash_settled(const struct settled *settled)
{
	return hash_u64((uint64_t)settled->root << 32 | settled->node);
}

static bool equal_settled(const void *rows, uint32_t position, const void *wanted)
{
	const struct settled *a = (const struct settled *)rows + position, *b = wanted;
	return a->root == b->root && a->node == b->node;
}

/* The twig of a node below `root`, or UINT32_MAX. */
static uint32_t recall(const struct walk *walk, uint32_t root, uint32_t node)
{
	if (walk->node_root[node] == root + 1)
		return walk->node_twig[node];
	if (walk->node_root[node] == 0)
		return UINT32_MAX;
	const struct settled wanted = { .root = root, .node = node };
	uint32_t at = hash_index_find(&walk->settled_index, hash_settled(&wanted), equal_settled,
				      walk->settled, &wanted);
	return at == HASH_INDEX_NONE ? UINT32_MAX : walk->settled[at].twig;
}

static int remember(struct walk *walk, uint32_t root, uint32_t node, uint32_t twig)
{
	if (walk->node_root[node] == 0) {
		walk->node_root[node] = root + 1;
		walk->node_twig[node] = twig;
		return 0;
	}
	const struct settled added = { root, node, twig };
	int ret = array_reserve(&walk->settled, &walk->settled_capacity, walk->settled_count,
				sizeof(*walk->settled));
	if (ret < 0)
		return ret;
	walk->settled[walk->settled_count] = added;
	ret = hash_index_add(&walk->settled_index, hash_settled(&added),
			     (uint32_t)walk->settled_count);
	if (ret == 0)
		walk->settled_count++;
	return ret;
}

static uint32_t parent_of(const struct walk *walk, uint32_t node)
{
	return (uint32_t)table_keys(profile_table(walk->report->profile, PROFILE_NODE),
				    node - 1)[NODE_PARENT];
}

/* The twig of a node's stack; every node is climbed once below each root. */
static int reach_node(struct walk *walk, uint32_t root, uint32_t node, uint32_t *twig)
{
	size_t depth = 0;
	*twig = root;
	while (node) {
		uint32_t known = recall(walk, root, node);
		if (known != UINT32_MAX) {
			*twig = known;
			break;
		}
		if (array_reserve(&walk->path, &walk->path_capacity, depth, sizeof(*walk->path)) <
		    0)
			return -ENOMEM;
		walk->path[depth++] = node;
		node = parent_of(walk, node);
	}
	while (depth > 0) {
		node = walk->path[--depth];
		int ret = climb(walk, walk->selection->node_place[node], twig);
		if (ret == 0)
			ret = remember(walk, root, node, *twig);
		if (ret < 0)
			return ret;
	}
	return 0;
}

/* ---- samples */

static int reach_from_leaf(struct walk *walk, const struct selected *sample, uint32_t *twig)
{
	int ret = 0;
	if (sample->node == 0)
		ret = climb(walk, sample->place, twig);
	if (ret == 0 && sample->node == 0 && walk->report->has_stacks)
		ret = find_twig(walk->growth, *twig, walk->no_stack, twig);
	for (uint32_t node = sample->node; ret == 0 && node; node = parent_of(walk, node))
		ret = climb(walk, walk->selection->node_place[node], twig);
	return ret < 0 ? ret : step_to_command(walk, sample->context, twig);
}

/* Towers: the image, then the procedure. */
static int step_to_image(struct walk *walk, uint32_t place, uint32_t *twig)
{
	uint32_t image = places_image_of(walk->report->places, place);
	const char *name = places_procedure(walk->report->places,
					    places_procedure_of(walk->report->places, place))
				   ->image_name;
	if (!*name)
		return 0;
	if (walk->image_of[image] == 0) {
		uint32_t label;
		int ret = find_group(walk->growth, name, &label);
		if (ret < 0)
			return ret;
		walk->image_of[image] = label + 1;
	}
	return find_twig(walk->growth, *twig, walk->image_of[image] - 1, twig);
}

static int reach_from_root(struct walk *walk, const struct selected *sample, uint32_t *twig)
{
	int ret = step_to_command(walk, sample->context, twig);
	if (ret == 0 && sample->node)
		return reach_node(walk, *twig, sample->node, twig);
	if (ret == 0)
		ret = walk->report->has_stacks
			      ? find_twig(walk->growth, *twig, walk->no_stack, twig)
			      : step_to_image(walk, sample->place, twig);
	return ret < 0 ? ret : climb(walk, sample->place, twig);
}

/* A chosen_samples_sink. */
static int add_sample(void *context, const struct selected *sample)
{
	struct walk *walk = context;
	uint32_t column = walk->column_of ? walk->column_of[sample->column] : sample->column;
	uint32_t twig = 0;
	if (column == EVENT_COLUMN_NONE)
		return 0;
	int ret = walk->options->direction == FLAME_FROM_LEAF
			  ? reach_from_leaf(walk, sample, &twig)
			  : reach_from_root(walk, sample, &twig);
	if (ret < 0)
		return ret;
	const struct flame *flame = walk->growth->flame;
	struct cell cell =
		column_match_cell(&sample->cell, walk->report->columns.list[sample->column].scale,
				  flame->scales[column]);
	cell_add(&node_cells_of(&walk->growth->self[walk->side], twig)[column], &cell);
	return 0;
}

static int walk_init(struct walk *walk)
{
	const struct profile *profile = walk->report->profile;
	size_t nodes = profile_table(profile, PROFILE_NODE)->count;
	size_t contexts = profile_table(profile, PROFILE_CONTEXT)->count;
	size_t images = profile_table(profile, PROFILE_IMAGE)->count;
	walk->command_of = calloc(contexts + 1, sizeof(*walk->command_of));
	walk->image_of = calloc(images + 1, sizeof(*walk->image_of));
	walk->node_root = calloc(nodes + 1, sizeof(*walk->node_root));
	walk->node_twig = calloc(nodes + 1, sizeof(*walk->node_twig));
	if (!walk->command_of || !walk->image_of || !walk->node_root || !walk->node_twig)
		return -ENOMEM;
	return find_group(walk->growth, "[no stack]", &walk->no_stack);
}

int flame_grow(struct flame_growth *growth, enum flame_side side, struct resolver *resolver,
	       const struct flame_options *options, const uint32_t *column_of, struct error *err)
{
	struct report *report = growth->flame->reports[side];
	struct chosen_samples selection;
	CLEANUP(walk_release)
	struct walk walk = {
		.growth = growth,
		.side = side,
		.options = options,
		.column_of = column_of,
		.report = report,
		.selection = &selection,
		.labels = { .report = report, .label_of = label_of_procedure, .context = &walk }
	};
	if (walk_init(&walk) < 0)
		return error_set(err, -ENOMEM, "out of memory making the flame graph");
	int ret = chosen_samples_init(&selection, report, resolver, add_sample, &walk, err);
	if (ret == 0)
		chosen_samples_release(&selection);
	return ret;
}
