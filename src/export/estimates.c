#include "export/estimates.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/visible_text.h"
#include "export/figure.h"

#define MOST_COUNT 9223372036854775808.0 /* 2^63 */

void estimates_release(struct estimates *estimates)
{
	free(estimates->order);
	cycles_free(estimates->cycles);
	annotate_index_free(estimates->index);
	dso_names_release(&estimates->images);
}

static int compare_positions(const void *left, const void *right, void *context)
{
	const struct estimates *estimates = context;
	const struct procedure *a = estimates->index->procedures[*(const uint32_t *)left].procedure;
	const struct procedure *b =
		estimates->index->procedures[*(const uint32_t *)right].procedure;
	/* images of one name by their ids, which are canonical in a file */
	int order = strcmp(estimates->images.names[a->image], estimates->images.names[b->image]);
	if (order == 0)
		order = (a->image > b->image) - (a->image < b->image);
	if (order == 0)
		order = (a->first > b->first) - (a->first < b->first);
	return order ? order : strcmp(a->name, b->name);
}

static int put_in_order(struct estimates *estimates)
{
	const struct annotate_index *index = estimates->index;
	estimates->order = calloc(index->count + 1, sizeof(*estimates->order));
	if (!estimates->order)
		return -ENOMEM;
	for (size_t i = 0; i < index->count; i++)
		if (!cycles_is_counted_elsewhere(estimates->cycles, i))
			estimates->order[estimates->count++] = (uint32_t)i;
	qsort_r(estimates->order, estimates->count, sizeof(*estimates->order), compare_positions,
		estimates);
	return 0;
}

int estimates_init(struct estimates *estimates, const struct export_input *input, struct error *err)
{
	static const struct cycles_options options = { .isa = ISA_UNKNOWN };
	*estimates = (struct estimates){ .input = input };
	int ret = annotate_index_new(input->profile, input->resolver, input->columns,
				     &estimates->index, err);
	if (ret == 0)
		ret = cycles_new(estimates->index, &options, &estimates->cycles, err);
	if (ret == 0)
		ret = cycles_join_calls(estimates->cycles, err);
	if (ret < 0)
		return ret;
	if (dso_names_init(&estimates->images, input->profile, input->resolver) < 0 ||
	    put_in_order(estimates) < 0)
		return error_set(err, -ENOMEM, "out of memory for the profile's procedures");
	return 0;
}

int estimates_procedure(const struct estimates *estimates, size_t i, struct procedure_cycles **out,
			struct error *err)
{
	int ret = cycles_of_procedure(estimates->cycles, estimates->order[i], out, err);
	if (ret != -ENODATA)
		return ret;
	*out = NULL;
	return 0;
}

int estimates_append_count(struct buffer *out, double count)
{
	if (isnan(count)) {
		buffer_append_text(out, "-");
		return 0;
	}
	if (count >= MOST_COUNT)
		return -EOVERFLOW;
	figure_append_u64(out, count > 0 ? (uint64_t)llround(count) : 0);
	return 0;
}

void estimates_append_text(struct buffer *out, struct span text)
{
	text_append_safe(out, text.data, text.size);
}

void estimates_append_notes(const struct estimates *estimates, const char *before,
			    struct buffer *out)
{
	const struct cycles_events *events = cycles_events(estimates->cycles);
	size_t main = events->time != CYCLES_NO_COLUMN ? events->time : events->executions;
	const struct span name = estimates->index->columns->list[main].name;
	const char *const *notes;
	size_t count = cycles_notes(estimates->cycles, &notes);
	buffer_printf(out, "%sestimates from samples of '", before);
	estimates_append_text(out, name);
	buffer_printf(out, "', on '%s'\n", cycles_pipeline(estimates->cycles)->pipeline->name);
	for (size_t i = 0; i < count; i++)
		buffer_printf(out, "%s%s\n", before, notes[i]);
}

const char *estimates_scale(const struct procedure_cycles *procedure)
{
	static const char *const names[] = {
		[CYCLES_RELATIVE] = "relative",
		[CYCLES_PROGRAM] = "program",
		[CYCLES_BY_CLOCK] = "by-clock",
		[CYCLES_ABSOLUTE] = "absolute",
	};
	return names[procedure->scale];
}
