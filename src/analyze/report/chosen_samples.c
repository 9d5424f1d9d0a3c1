#include "analyze/report/chosen_samples.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/report/broken_stacks.h"
#include "analyze/names/procedure_match.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/hash_index.h"
#include "base/number.h"
#include "base/sum.h"
#include "machine/cpu_set.h"

/* Linux's default kernel.perf_event_max_stack; deeper stacks lose their outermost frames. */
#define DEFAULT_MAX_STACK 127

static int out_of_memory(struct error *err)
{
	return error_set(err, -ENOMEM, "out of memory choosing samples");
}

/* ---- patterns */

static bool text_matches(const char *pattern, struct span text)
{
	char room[4096];
	if (!text.data || text.size >= sizeof(room))
		return false;
	memcpy(room, text.data, text.size);
	room[text.size] = 0;
	return strcmp(pattern, room) == 0 || fnmatch(pattern, room, 0) == 0;
}

static bool process_matches(const char *pattern, const struct profile_context *context)
{
	uint64_t pid;
	if (context->pid && number_parse_u64(pattern, &pid) && optional_of(pid) == context->pid)
		return true;
	return text_matches(pattern, context->comm);
}

static bool cgroup_matches(const char *pattern, const struct profile_context *context)
{
	if (text_matches(pattern, context->cgroup))
		return true;
	size_t size = strlen(pattern); /* what lies below it */
	const char *path = context->cgroup.data;
	return size && context->cgroup.size > size && memcmp(path, pattern, size) == 0 &&
	       (path[size] == '/' || pattern[size - 1] == '/');
}

static bool image_matches(const char *pattern, const char *name, struct span build_id)
{
	if (text_matches(pattern, span_of_text(name)))
		return true;
	size_t size = strlen(pattern), length = strlen(name);
	if (length == size + 2 && name[0] == '[' && memcmp(name + 1, pattern, size) == 0)
		return true; /* "kernel" for "[kernel]" */
	if (size < 6 || size > 2 * build_id.size)
		return false;
	for (size_t i = 0; i < size; i++) {
		char digits[3];
		snprintf(digits, sizeof(digits), "%02x", ((const uint8_t *)build_id.data)[i / 2]);
		if (pattern[i] != digits[i % 2])
			return false;
	}
	return true;
}

/* ---- contexts */

typedef bool (*context_test)(const char *pattern, const struct profile_context *context);

static int keep_contexts(struct chosen_samples *selection, const struct report_patterns *patterns,
			 context_test test, const char *what, struct error *err)
{
	const struct profile *profile = selection->report->profile;
	size_t count = profile_table(profile, PROFILE_CONTEXT)->count;
	if (patterns->count == 0)
		return 0;
	selection->context_kept[0] = false;
	CLEANUP(free_pointer) bool *any = calloc(patterns->count, sizeof(*any));
	if (!any)
		return out_of_memory(err);
	for (size_t id = 1; id <= count; id++) {
		struct profile_context context = profile_context(profile, id);
		bool kept = false;
		for (size_t i = 0; i < patterns->count; i++)
			if (test(patterns->items[i], &context))
				kept = any[i] = true;
		selection->context_kept[id] &= kept;
	}
	for (size_t i = 0; i < patterns->count; i++)
		if (!any[i])
			return error_set(err, -ENOENT, "no %s '%s' in the profile", what,
					 patterns->items[i]);
	return 0;
}

static int keep_cpus(struct chosen_samples *selection, const char *text, struct error *err)
{
	const struct profile *profile = selection->report->profile;
	size_t count = profile_table(profile, PROFILE_CONTEXT)->count;
	if (!text)
		return 0;
	struct cpu_set cpus;
	int ret = cpu_set_parse(text, &cpus, err);
	if (ret < 0)
		return ret;
	selection->context_kept[0] = false;
	bool any = false, known = false;
	for (size_t id = 1; id <= count; id++) {
		uint64_t cpu = profile_context(profile, id).cpu;
		bool kept = cpu != OPTIONAL_ABSENT && cpu_set_has(&cpus, cpu - 1);
		known |= cpu != OPTIONAL_ABSENT;
		any |= kept;
		selection->context_kept[id] &= kept;
	}
	if (!known)
		return error_set(err, -ENODATA,
				 "the profile did not keep the CPU of its samples; 'culprit record "
				 "--per-cpu' keeps it");
	return any ? 0 : error_set(err, -ENOENT, "no samples of CPU %s in the profile", text);
}

static int choose_contexts(struct chosen_samples *selection, struct error *err)
{
	const struct report_options *options = &selection->report->options;
	size_t count = profile_table(selection->report->profile, PROFILE_CONTEXT)->count;
	selection->context_kept = malloc(count + 1);
	if (!selection->context_kept)
		return out_of_memory(err);
	memset(selection->context_kept, true, count + 1);
	int ret = keep_contexts(selection, &options->processes, process_matches, "process", err);
	if (ret == 0)
		ret = keep_contexts(selection, &options->cgroups, cgroup_matches, "cgroup", err);
	return ret < 0 ? ret : keep_cpus(selection, options->cpus, err);
}

/* ---- images */

static int choose_images(struct chosen_samples *selection, struct resolver *resolver,
			 struct error *err)
{
	const struct profile *profile = selection->report->profile;
	const struct report_patterns *patterns = &selection->report->options.images;
	size_t count = profile_table(profile, PROFILE_IMAGE)->count;
	selection->image_kept = malloc(count + 1);
	if (!selection->image_kept)
		return out_of_memory(err);
	memset(selection->image_kept, patterns->count == 0, count + 1);
	for (size_t i = 0; i < patterns->count; i++) {
		bool any = false;
		for (size_t id = 1; id <= count; id++)
			if (image_matches(patterns->items[i],
					  resolver_image(resolver, (uint32_t)id),
					  profile_image(profile, id).build_id))
				selection->image_kept[id] = any = true;
		if (!any)
			return error_set(err, -ENOENT, "no image '%s' in the profile",
					 patterns->items[i]);
	}
	return 0;
}

/* ---- stacks: which nodes focus and ignore let through */

const uint32_t *chosen_samples_chain(const struct report *report, uint32_t place, size_t *count)
{
	if (report->options.inlined == REPORT_INLINED_APART)
		return places_chain(report->places, place, count);
	*count = 1;
	return places_outer(report->places, place);
}

/* Does any function at the place match? 1, 0 or -ENOMEM. */
static int place_matches(const struct report *report, struct procedure_match *match, uint32_t place)
{
	size_t count;
	const uint32_t *chain = chosen_samples_chain(report, place, &count);
	if (!chain)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		int asked = procedure_match_asks(match, report->places, chain[i]);
		if (asked)
			return asked;
	}
	return 0;
}

enum node_state { NODE_FOCUSED = 1, NODE_IGNORED = 2 };

/* State of a stack that goes on with `place` from `above`. Negative: out of memory. */
static int state_at(const struct chosen_samples *selection, int above, uint32_t place)
{
	int state = above;
	if (selection->focus && !(state & NODE_FOCUSED)) {
		int ret = place_matches(selection->report, selection->focus, place);
		if (ret < 0)
			return ret;
		state |= ret ? NODE_FOCUSED : 0;
	}
	if (selection->ignore && !(state & NODE_IGNORED)) {
		int ret = place_matches(selection->report, selection->ignore, place);
		if (ret < 0)
			return ret;
		state |= ret ? NODE_IGNORED : 0;
	}
	return state;
}

static bool state_is_kept(const struct chosen_samples *selection, int state)
{
	return (!selection->focus || (state & NODE_FOCUSED)) && !(state & NODE_IGNORED);
}

/* ---- the walk */

static void count_resolution(struct report *report, const bool *symbol_images, uint32_t place,
			     uint64_t samples)
{
	struct scope_resolution *resolution = &report->scope.resolution;
	unsigned marks = places_marks_of(report->places, place);
	sum_add(&resolution->samples, samples);
	if (marks & (PLACE_NAMED | PLACE_BARE_NAME))
		sum_add(&resolution->with_symbol, samples);
	else if (marks & PLACE_EXTENT)
		sum_add(&resolution->start_only, samples);
	if (!(marks & PLACE_HAS_IMAGE))
		return;
	sum_add(&resolution->with_image, samples);
	if (marks & PLACE_EXTENT)
		sum_add(&resolution->in_extent, samples);
	if (marks & PLACE_KERNEL)
		return;
	if (symbol_images[places_image_of(report->places, place)] || (marks & PLACE_BARE_NAME)) {
		sum_add(&resolution->user_symbol_images, samples);
		if (marks & (PLACE_NAMED | PLACE_BARE_NAME))
			sum_add(&resolution->user_named, samples);
	}
}

static int count_late(struct chosen_samples *selection, const struct selected *sample)
{
	struct report *report = selection->report;
	if (!places_can_be_late(report->places, &report->columns.list[sample->column]))
		return 0;
	uint32_t procedure = places_procedure_of(report->places, sample->place);
	if (procedure >= selection->late_capacity) {
		size_t capacity = places_procedure_count(report->places);
		struct late_tally *grown = reallocarray(selection->late, capacity, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		memset(grown + selection->late_capacity, 0,
		       (capacity - selection->late_capacity) * sizeof(*grown));
		selection->late = grown;
		selection->late_capacity = capacity;
	}
	bool late = places_marks_of(report->places, sample->place) & PLACE_LATE;
	struct late_tally *tally = &selection->late[procedure];
	sum_add(&tally->all, sample->cell.samples);
	sum_add(&report->scope.late_of, sample->cell.samples);
	if (late) {
		sum_add(&tally->late, sample->cell.samples);
		sum_add(&report->scope.late_samples, sample->cell.samples);
	}
	return 0;
}

/* Takes one row of flat or stack into the sums, and into the list when the filters let it through.
 */
static int take(struct chosen_samples *selection, const struct selected *sample, int state)
{
	struct report *report = selection->report;
	if (cell_is_empty(&sample->cell))
		return 0;
	if (report->options.idle == REPORT_IDLE_APART &&
	    places_marks_of(report->places, sample->place) & PLACE_IDLE) {
		cell_add(&report->idle[sample->column], &sample->cell);
		return 0;
	}
	cell_add(&report->whole[sample->column], &sample->cell);
	int ret = count_late(selection, sample);
	if (ret < 0)
		return ret;
	if (!selection->context_kept[sample->context] ||
	    !selection->image_kept[places_image_of(report->places, sample->place)] ||
	    !state_is_kept(selection, state))
		return 0;
	cell_add(&report->shown[sample->column], &sample->cell);
	if (sample->node == 0)
		cell_add(&report->without_stack[sample->column], &sample->cell);
	if (selection->sink)
		return selection->sink(selection->sink_context, sample);
	ret = array_reserve(&selection->list, &selection->capacity, selection->count,
			    sizeof(*selection->list));
	if (ret == 0)
		selection->list[selection->count++] = *sample;
	return ret;
}

static struct profile_frame flat_frame(const uint64_t *keys)
{
	return (struct profile_frame){ .kind = FRAME_IP,
				       .image = (uint32_t)keys[FLAT_IMAGE],
				       .vaddr = keys[FLAT_VADDR],
				       .name = (uint32_t)keys[FLAT_NAME] };
}

/* Resolves every address of flat; fills *place_of by row. */
static int place_flat(struct report *report, uint32_t *place_of)
{
	const struct table *flat = profile_table(report->profile, PROFILE_FLAT);
	for (size_t row = 0; row < flat->count; row++) {
		const uint64_t *keys = table_keys(flat, row);
		place_of[row] = PLACE_NONE;
		if (report->columns.of_event[keys[FLAT_EVENT]] == EVENT_COLUMN_NONE)
			continue;
		struct profile_frame frame = flat_frame(keys);
		int ret = places_add(report->places, &frame, &place_of[row]);
		if (ret < 0)
			return ret;
	}
	return 0;
}

/* Where the recording did not count them: the cells of unknown code say the cause. */
static int count_unknown(struct report *report, const uint32_t *place_of)
{
	const struct profile *profile = report->profile;
	const struct table *flat = profile_table(profile, PROFILE_FLAT);
	CLEANUP(free_pointer) bool *counted = calloc(report->columns.count + 1, sizeof(*counted));
	if (!counted)
		return -ENOMEM;
	for (size_t i = 0; i < report->columns.count; i++)
		counted[i] = report->scope.bills[i].unknown_count > 0;
	for (size_t row = 0; row < flat->count; row++) {
		const uint64_t *keys = table_keys(flat, row);
		uint64_t samples = table_values(flat, row)[CELL_SAMPLES];
		if (place_of[row] == PLACE_NONE || samples == 0 ||
		    (places_marks_of(report->places, place_of[row]) & PLACE_HAS_IMAGE))
			continue;
		uint32_t column = report->columns.of_event[keys[FLAT_EVENT]];
		struct span cause = { NULL, 0 };
		if (keys[FLAT_IMAGE])
			cause = profile_image(profile, keys[FLAT_IMAGE]).name;
		if (!counted[column])
			scope_add_unknown(&report->scope.bills[column],
					  cause.size ? cause : span_of_text("no image"), samples);
	}
	for (size_t i = 0; i < report->columns.count; i++)
		scope_sort_causes(&report->scope.bills[i]);
	return 0;
}

static int walk_resolution(struct report *report, const uint32_t *place_of)
{
	const struct table *flat = profile_table(report->profile, PROFILE_FLAT);
	size_t images = profile_table(report->profile, PROFILE_IMAGE)->count;
	CLEANUP(free_pointer) bool *symbols = calloc(images + 1, sizeof(*symbols));
	if (!symbols)
		return -ENOMEM;
	for (size_t i = 0; i < places_procedure_count(report->places); i++) {
		const struct place_procedure *p = places_procedure(report->places, (uint32_t)i);
		if (p->marks & PLACE_SYMBOL_TABLE)
			symbols[p->image] = true;
	}
	for (size_t row = 0; row < flat->count; row++)
		if (place_of[row] != PLACE_NONE)
			count_resolution(report, symbols, place_of[row],
					 table_values(flat, row)[CELL_SAMPLES]);
	return count_unknown(report, place_of);
}

/* Without stacks: flat as it is. */
static int walk_flat(struct chosen_samples *selection, const uint32_t *place_of, struct cell *left)
{
	struct report *report = selection->report;
	const struct table *flat = profile_table(report->profile, PROFILE_FLAT);
	for (size_t row = 0; row < flat->count; row++) {
		if (place_of[row] == PLACE_NONE)
			continue;
		const uint64_t *keys = table_keys(flat, row);
		struct selected sample = { .cell = left ? left[row]
							: cell_of_values(table_values(flat, row)),
					   .column = report->columns.of_event[keys[FLAT_EVENT]],
					   .context = (uint32_t)keys[FLAT_CONTEXT],
					   .place = place_of[row] };
		int state = state_at(selection, 0, sample.place);
		if (state < 0)
			return state;
		int ret = take(selection, &sample, state);
		if (ret < 0)
			return ret;
	}
	return 0;
}

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

static int flat_left_init(struct flat_left *left, const struct table *flat)
{
	left->flat = flat;
	left->cells = calloc(flat->count + 1, sizeof(*left->cells));
	if (!left->cells)
		return -ENOMEM;
	for (size_t row = 0; row < flat->count; row++) {
		const uint64_t *keys = table_keys(flat, row);
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
		return false; /* the long way round tells the same */
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

/* Has all procedures there: the filters' names are told from expressions by them. */
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
		int state = state_at(selection, parent ? state_of[parent] : 0,
				     selection->node_place[id]);
		if (state < 0)
			return state;
		state_of[id] = (int8_t)state;
	}
	return 0;
}

static int walk_stacks(struct chosen_samples *selection, const uint32_t *place_of)
{
	struct report *report = selection->report;
	const struct table *stacks = profile_table(report->profile, PROFILE_STACK);
	const struct table *nodes = profile_table(report->profile, PROFILE_NODE);
	CLEANUP(free_pointer) int8_t *state_of = calloc(nodes->count + 1, 1);
	CLEANUP(flat_left_release) struct flat_left left = { 0 };
	bool all_in_stacks = stacks_hold_all(report);
	int ret = state_of ? 0 : -ENOMEM;
	if (ret == 0 && !all_in_stacks)
		ret = flat_left_init(&left, profile_table(report->profile, PROFILE_FLAT));
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
		ret = take(selection, &sample, state_of[node]);
		if (ret < 0)
			return ret;
	}
	return all_in_stacks ? 0 : walk_flat(selection, place_of, left.cells);
}

/* Many stacks that end at one depth were probably cut there. */
static int measure_stacks(struct report *report)
{
	const struct table *nodes = profile_table(report->profile, PROFILE_NODE);
	const struct table *stacks = profile_table(report->profile, PROFILE_STACK);
	CLEANUP(free_pointer) uint32_t *depth = calloc(nodes->count + 1, sizeof(*depth));
	CLEANUP(free_pointer) uint64_t *samples = calloc(nodes->count + 2, sizeof(*samples));
	if (!depth || !samples)
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
	if (heap || scope->stack_depth == DEFAULT_MAX_STACK)
		scope->cut_stacks.value = deepest;
	return 0;
}

static int compare_late(const void *left, const void *right)
{
	const struct scope_late *a = left, *b = right;
	if (a->samples != b->samples)
		return a->samples < b->samples ? 1 : -1;
	return (a->procedure > b->procedure) - (a->procedure < b->procedure);
}

/* The most frequent ones; and a procedure is marked when it has no fewer late samples than others.
 */
static int rank_late(const struct chosen_samples *selection)
{
	struct scope *scope = &selection->report->scope;
	CLEANUP(free_pointer)
	struct scope_late *all = calloc(selection->late_capacity + 1, sizeof(*all));
	if (!all)
		return -ENOMEM;
	size_t count = 0;
	for (size_t i = 0; i < selection->late_capacity; i++) {
		const struct late_tally *tally = &selection->late[i];
		if (!tally->late)
			continue;
		all[count++] = (struct scope_late){ (uint32_t)i, tally->late };
		if (tally->late >= tally->all - tally->late)
			places_mark_late(selection->report->places, (uint32_t)i);
	}
	qsort(all, count, sizeof(*all), compare_late);
	scope->late_count = count < SCOPE_LATE ? count : SCOPE_LATE;
	memcpy(scope->late, all, scope->late_count * sizeof(*all));
	return 0;
}

static int walk(struct chosen_samples *selection, struct resolver *resolver)
{
	struct report *report = selection->report;
	const struct table *flat = profile_table(report->profile, PROFILE_FLAT);
	CLEANUP(free_pointer) uint32_t *place_of = calloc(flat->count + 1, sizeof(*place_of));
	if (!place_of)
		return -ENOMEM;
	int ret = place_flat(report, place_of);
	if (ret == 0)
		ret = walk_resolution(report, place_of);
	if (ret == 0)
		ret = measure_stacks(report);
	if (ret == 0)
		ret = broken_stacks_measure(report, resolver);
	bool stacks = report->options.view != REPORT_FLAT || selection->focus || selection->ignore;
	if (ret == 0)
		ret = stacks ? walk_stacks(selection, place_of)
			     : walk_flat(selection, place_of, NULL);
	return ret < 0 ? ret : rank_late(selection);
}

/* Sums of the cells fit (profile/sum_check.h), and so do those of the stacks, which are the same
 * samples again. Those of both can only pass 64 bits where the stacks have others. */
static int check_wholes(const struct report *report, struct error *err)
{
	for (size_t i = 0; i < report->columns.count; i++)
		if (sum_passed(report->whole[i].samples) || sum_passed(report->whole[i].estimate) ||
		    sum_passed(report->idle[i].samples) || sum_passed(report->idle[i].estimate))
			return error_set(
				err, -EOVERFLOW,
				"the profile contradicts itself: its call stacks are not of "
				"its samples, and both together pass 64 bits");
	return 0;
}

static int fill(struct chosen_samples *selection, struct resolver *resolver, struct error *err)
{
	const struct report_options *options = &selection->report->options;
	int ret = choose_contexts(selection, err);
	if (ret == 0)
		ret = choose_images(selection, resolver, err);
	if (ret == 0)
		ret = procedure_match_new("--focus", options->focus, &selection->focus, err);
	if (ret == 0)
		ret = procedure_match_new("--ignore", options->ignore, &selection->ignore, err);
	if (ret < 0)
		return ret;
	return walk(selection, resolver) < 0 ? out_of_memory(err)
					     : check_wholes(selection->report, err);
}

int chosen_samples_init(struct chosen_samples *selection, struct report *report,
			struct resolver *resolver, chosen_samples_sink sink, void *sink_context,
			struct error *err)
{
	*selection = (struct chosen_samples){ .report = report,
					      .sink = sink,
					      .sink_context = sink_context };
	int ret = fill(selection, resolver, err);
	if (ret < 0)
		chosen_samples_release(selection);
	return ret;
}

void chosen_samples_release(struct chosen_samples *selection)
{
	procedure_match_free(selection->focus);
	procedure_match_free(selection->ignore);
	free(selection->list);
	free(selection->node_place);
	free(selection->context_kept);
	free(selection->image_kept);
	free(selection->late);
	*selection = (struct chosen_samples){ 0 };
}
