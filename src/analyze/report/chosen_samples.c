#include "analyze/report/chosen_samples_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/names/procedure_match.h"
#include "analyze/report/broken_stacks.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/sum.h"

int chosen_out_of_memory(struct error *err)
{
	return error_set(err, -ENOMEM, "out of memory choosing samples");
}

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
	int ret = array_reserve_zeroed(&selection->late, &selection->late_capacity, procedure,
				       sizeof(*selection->late));
	if (ret < 0)
		return ret;
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

int chosen_take(struct chosen_samples *selection, const struct selected *sample, int state)
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
	    !chosen_state_is_kept(selection, state))
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

/* Counts samples of unknown code by the cause that their cells have, in columns whose bill does
 * not.
 */
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

int chosen_walk_flat(struct chosen_samples *selection, const uint32_t *place_of, struct cell *left)
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
		int state = chosen_state_at(selection, 0, sample.place);
		if (state < 0)
			return state;
		int ret = chosen_take(selection, &sample, state);
		if (ret < 0)
			return ret;
	}
	return 0;
}

static int compare_late(const void *left, const void *right)
{
	const struct scope_late *a = left, *b = right;
	if (a->samples != b->samples)
		return a->samples < b->samples ? 1 : -1;
	return (a->procedure > b->procedure) - (a->procedure < b->procedure);
}

/* Lists the procedures with most late samples, and marks each that has no fewer late samples than
 * others. */
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
		ret = chosen_measure_stacks(report);
	if (ret == 0)
		ret = broken_stacks_measure(report, resolver);
	bool stacks = report->options.view != REPORT_FLAT || selection->focus || selection->ignore;
	if (ret == 0)
		ret = stacks ? chosen_walk_stacks(selection, place_of)
			     : chosen_walk_flat(selection, place_of, NULL);
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
	int ret = chosen_contexts(selection, err);
	if (ret == 0)
		ret = chosen_images(selection, resolver, err);
	if (ret == 0)
		ret = procedure_match_new("--focus", options->focus, &selection->focus, err);
	if (ret == 0)
		ret = procedure_match_new("--ignore", options->ignore, &selection->ignore, err);
	if (ret < 0)
		return ret;
	return walk(selection, resolver) < 0 ? chosen_out_of_memory(err)
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
