#include "analyze/report/chosen_samples_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/hash_index.h"
#include "base/sum.h"
#include "profile/apart.h"

/* The samples of flat that no stack has taken yet, by row. */
struct flat_left {
	const struct table *flat;
	struct cell *cells;
	struct hash_index index; /* of rows by FLAT_KEYS */
};

#define FLAT_KEYS (FLAT_CONTEXT + 1) /* columns that this version knows */

static uint64_t flat_hash(const uint64_t *keys)
{
	uint64_t hash = 0;
	for (size_t i = 0; i < FLAT_KEYS; i++)
		hash = hash_u64(hash + keys[i] + 1);
	return hash;
}

static bool flat_equal(const void *rows, uint32_t position, const void *wanted)
{
	return memcmp(table_keys(rows, position), wanted, FLAT_KEYS * sizeof(uint64_t)) == 0;
}

static void flat_left_release(struct flat_left *left)
{
	free(left->cells);
	hash_index_release(&left->index);
}

/* Of events whose stacks are apart nothing is left, and there is nothing to take off. */
static int flat_left_init(struct flat_left *left, const struct table *flat, const bool *apart)
{
	left->flat = flat;
	left->cells = calloc(flat->count + 1, sizeof(*left->cells));
	if (!left->cells)
		return -ENOMEM;
	for (size_t row = 0; row < flat->count; row++) {
		const uint64_t *keys = table_keys(flat, row);
		if (apart[keys[FLAT_EVENT]])
			continue;
		struct cell cell = cell_of_values(table_values(flat, row));
		uint64_t hash = flat_hash(keys);
		uint32_t found = hash_index_find(&left->index, hash, flat_equal, flat, keys);
		if (found == HASH_INDEX_NONE) {
			found = (uint32_t)row;
			if (hash_index_add(&left->index, hash, found) < 0)
				return -ENOMEM;
		}
		cell_add(&left->cells[found],
			 &cell); /* rows that differ in a later version's column */
	}
	return 0;
}

/* Takes a stack's samples off the flat row of its leaf, so that no sample is in the report twice.
 */
static void take_off(struct flat_left *left, const struct profile_frame *leaf,
		     const uint64_t *stack_keys, const struct cell *cell)
{
	const uint64_t key[FLAT_KEYS] = { [FLAT_EVENT] = stack_keys[STACK_EVENT],
					  [FLAT_IMAGE] = leaf->image,
					  [FLAT_VADDR] = leaf->vaddr,
					  [FLAT_NAME] = leaf->name,
					  [FLAT_CONTEXT] = stack_keys[STACK_CONTEXT] };
	uint32_t row = hash_index_find(&left->index, flat_hash(key), flat_equal, left->flat, key);
	if (row != HASH_INDEX_NONE)
		left->cells[row] = cell_without(&left->cells[row], cell);
}

static void add_sums(const struct report *report, const struct table *table, size_t event_slot,
		     size_t node_slot, struct cell *sums)
{
	for (size_t row = 0; row < table->count; row++) {
		const uint64_t *keys = table_keys(table, row);
		uint32_t column = report->columns.of_event[keys[event_slot]];
		if (column == EVENT_COLUMN_NONE || (node_slot != event_slot && !keys[node_slot]))
			continue;
		struct cell cell = cell_of_values(table_values(table, row));
		cell_add(&sums[column], &cell);
	}
}

/* Flat has every sample, so equal sums leave none without a stack. */
static bool stacks_hold_all(const struct report *report)
{
	size_t count = report->columns.count;
	CLEANUP(free_pointer) struct cell *sums = calloc(2 * count + 1, sizeof(*sums));
	if (!sums)
		return false; /* the long way round gives the same */
	add_sums(report, profile_table(report->profile, PROFILE_FLAT), FLAT_EVENT, FLAT_EVENT,
		 sums);
	add_sums(report, profile_table(report->profile, PROFILE_STACK), STACK_EVENT, STACK_NODE,
		 sums + count);
	for (size_t i = 0; i < count; i++)
		if (sums[i].samples != sums[count + i].samples ||
		    sums[i].estimate != sums[count + i].estimate)
			return false;
	return true;
}

static int place_nodes(struct chosen_samples *selection)
{
	struct report *report = selection->report;
	const struct table *nodes = profile_table(report->profile, PROFILE_NODE);
	selection->node_place = calloc(nodes->count + 1, sizeof(*selection->node_place));
	if (!selection->node_place)
		return -ENOMEM;
	for (size_t id = 1; id <= nodes->count; id++) {
		struct profile_frame frame = profile_node(report->profile, id, NULL);
		int ret = places_add(report->places, &frame, &selection->node_place[id]);
		if (ret < 0)
			return ret;
	}
	return 0;
}

/* Adds the procedures of all places, as procedure_match_has() needs them. */
static int complete_procedures(const struct chosen_samples *selection, const uint32_t *place_of)
{
	const struct report *report = selection->report;
	size_t flat = profile_table(report->profile, PROFILE_FLAT)->count;
	size_t nodes = profile_table(report->profile, PROFILE_NODE)->count, count;
	if (!selection->focus && !selection->ignore)
		return 0;
	for (size_t id = 1; id <= nodes; id++)
		if (!chosen_samples_chain(report, selection->node_place[id], &count))
			return -ENOMEM;
	for (size_t row = 0; row < flat; row++)
		if (place_of[row] != PLACE_NONE &&
		    !chosen_samples_chain(report, place_of[row], &count))
			return -ENOMEM;
	return 0;
}

/* States of all nodes; parents come first. */
static int judge_nodes(const struct chosen_samples *selection, int8_t *state_of)
{
	const struct profile *profile = selection->report->profile;
	size_t count = profile_table(profile, PROFILE_NODE)->count;
	for (size_t id = 1; id <= count; id++) {
		uint32_t parent;
		profile_node(profile, id, &parent);
		int state = chosen_state_at(selection, parent ? state_of[parent] : 0,
					    selection->node_place[id]);
		if (state < 0)
			return state;
		state_of[id] = (int8_t)state;
	}
	return 0;
}

int chosen_walk_stacks(struct chosen_samples *selection, const uint32_t *place_of)
{
	struct report *report = selection->report;
	const struct table *stacks = profile_table(report->profile, PROFILE_STACK);
	const struct table *nodes = profile_table(report->profile, PROFILE_NODE);
	CLEANUP(free_pointer) int8_t *state_of = calloc(nodes->count + 1, 1);
	CLEANUP(free_pointer) bool *apart = profile_stacks_apart(report->profile);
	CLEANUP(flat_left_release) struct flat_left left = { 0 };
	bool all_in_stacks = stacks_hold_all(report);
	int ret = state_of && apart ? 0 : -ENOMEM;
	if (ret == 0 && !all_in_stacks)
		ret = flat_left_init(&left, profile_table(report->profile, PROFILE_FLAT), apart);
	if (ret == 0)
		ret = place_nodes(selection);
	if (ret == 0)
		ret = complete_procedures(selection, place_of);
	if (ret == 0)
		ret = judge_nodes(selection, state_of);
	if (ret < 0)
		return ret;
	for (size_t row = 0; row < stacks->count; row++) {
		const uint64_t *keys = table_keys(stacks, row);
		uint32_t column = report->columns.of_event[keys[STACK_EVENT]];
		uint64_t node = keys[STACK_NODE];
		if (column == EVENT_COLUMN_NONE || node == 0)
			continue;
		struct selected sample = { .cell = cell_of_values(table_values(stacks, row)),
					   .column = column,
					   .context = (uint32_t)keys[STACK_CONTEXT],
					   .place = selection->node_place[node],
					   .node = (uint32_t)node };
		if (!all_in_stacks) {
			struct profile_frame leaf = profile_node(report->profile, node, NULL);
			take_off(&left, &leaf, keys, &sample.cell);
		}
		ret = chosen_take(selection, &sample, state_of[node]);
		if (ret < 0)
			return ret;
	}
	return all_in_stacks ? 0 : chosen_walk_flat(selection, place_of, left.cells);
}

int chosen_measure_stacks(struct report *report)
{
	const struct table *nodes = profile_table(report->profile, PROFILE_NODE);
	const struct table *stacks = profile_table(report->profile, PROFILE_STACK);
	CLEANUP(free_pointer) uint32_t *depth = calloc(nodes->count + 1, sizeof(*depth));
	CLEANUP(free_pointer) uint64_t *samples = calloc(nodes->count + 2, sizeof(*samples));
	CLEANUP(free_pointer) bool *apart = profile_stacks_apart(report->profile);
	if (!depth || !samples || !apart)
		return -ENOMEM;
	for (size_t id = 1; id <= nodes->count; id++)
		depth[id] = depth[table_keys(nodes, id - 1)[NODE_PARENT]] + 1;
	struct scope *scope = &report->scope;
	for (size_t row = 0; row < stacks->count; row++) {
		const uint64_t *keys = table_keys(stacks, row);
		if (report->columns.of_event[keys[STACK_EVENT]] == EVENT_COLUMN_NONE)
			continue;
		uint32_t at = depth[keys[STACK_NODE]];
		uint64_t count = table_values(stacks, row)[CELL_SAMPLES];
		sum_add(&samples[at], count);
		sum_add(&scope->stack_samples, count);
		if (apart[keys[STACK_EVENT]])
			sum_add(&scope->apart_samples, count);
		if (at > scope->stack_depth)
			scope->stack_depth = at;
	}
	if (scope->stack_depth == 0)
		return 0;
	bool counted = false;
	uint64_t deepest = samples[scope->stack_depth], before = samples[scope->stack_depth - 1];
	scope->cut_stacks.known = true;
	for (size_t i = 0; i < report->columns.count; i++) {
		if (!report->scope.bills[i].stacks_cut.known)
			continue;
		sum_add(&scope->cut_stacks.value, report->scope.bills[i].stacks_cut.value);
		counted = true;
	}
	if (sum_passed(scope->cut_stacks.value))
		scope->cut_stacks = (struct scope_number){ 0 };
	if (counted)
		return 0;
	scope->cut_is_guess = true;
	bool heap = scope->stack_depth >= 32 && deepest >= 10 && deepest / 5 >= before;
	if (heap || scope->stack_depth == SCOPE_KERNEL_MAX_STACK)
		scope->cut_stacks.value = deepest;
	return 0;
}
