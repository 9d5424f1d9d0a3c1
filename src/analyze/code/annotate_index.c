#include "analyze/code/annotate_index.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/names/kernel_names.h"
#include "analyze/names/procedure_name.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/hash_index.h"
#include "base/number.h"
#include "symbol/record.h"

void annotate_index_free(struct annotate_index *index)
{
	if (!index)
		return;
	free(index->procedures);
	free(index->whole);
	free(index->samples);
	free(index->cells);
	free(index);
}

void annotate_index_freep(struct annotate_index **index)
{
	annotate_index_free(*index);
}

/* Procedures by pointer: the resolver has one for each. */
struct builder {
	struct annotate_index *index;
	struct hash_index by_pointer;
	size_t procedure_capacity;
	size_t sample_count, sample_capacity;
};

static void builder_release(struct builder *builder)
{
	hash_index_release(&builder->by_pointer);
}

static bool procedure_equal(const void *rows, uint32_t position, const void *wanted)
{
	return ((const struct annotate_procedure *)rows)[position].procedure == wanted;
}

static int find_procedure(struct builder *builder, const struct procedure *procedure,
			  uint32_t *position)
{
	struct annotate_index *index = builder->index;
	uint64_t hash = hash_u64((uintptr_t)procedure);
	*position = hash_index_find(&builder->by_pointer, hash, procedure_equal, index->procedures,
				    procedure);
	if (*position != HASH_INDEX_NONE)
		return 0;
	if (array_reserve(&index->procedures, &builder->procedure_capacity, index->count,
			  sizeof(*index->procedures)) < 0)
		return -ENOMEM;
	*position = (uint32_t)index->count;
	index->procedures[index->count] = (struct annotate_procedure){
		.procedure = procedure,
		.image_name = resolver_image(index->resolver, procedure->image),
	};
	if (!index->procedures[index->count].image_name)
		return -ENOMEM;
	int ret = hash_index_add(&builder->by_pointer, hash, *position);
	if (ret == 0)
		index->count++;
	return ret;
}

static int add_row(struct builder *builder, const uint64_t *keys, const uint64_t *values)
{
	struct annotate_index *index = builder->index;
	uint32_t column = index->columns->of_event[keys[FLAT_EVENT]];
	if (column == EVENT_COLUMN_NONE)
		return 0;
	const struct profile_frame frame = { .kind = FRAME_IP,
					     .image = (uint32_t)keys[FLAT_IMAGE],
					     .vaddr = keys[FLAT_VADDR],
					     .name = (uint32_t)keys[FLAT_NAME] };
	const struct place *place = resolver_place(index->resolver, &frame);
	if (!place || array_reserve(&index->samples, &builder->sample_capacity,
				    builder->sample_count, sizeof(*index->samples)) < 0)
		return -ENOMEM;
	struct annotate_sample sample = { .vaddr = place->vaddr,
					  .column = column,
					  .cell = cell_of_values(values) };
	int ret = find_procedure(builder, place->procedure, &sample.procedure);
	if (ret < 0)
		return ret;
	index->samples[builder->sample_count++] = sample;
	return 0;
}

static int compare_samples(const void *left, const void *right)
{
	const struct annotate_sample *a = left, *b = right;
	if (a->procedure != b->procedure)
		return a->procedure < b->procedure ? -1 : 1;
	if (a->vaddr != b->vaddr)
		return a->vaddr < b->vaddr ? -1 : 1;
	return (a->column > b->column) - (a->column < b->column);
}

/* The same event at the same address, of other contexts or periods, becomes one. */
static void merge_samples(struct builder *builder)
{
	struct annotate_sample *samples = builder->index->samples;
	size_t count = 0;
	for (size_t i = 0; i < builder->sample_count; i++) {
		if (count > 0 && compare_samples(&samples[count - 1], &samples[i]) == 0)
			cell_add(&samples[count - 1].cell, &samples[i].cell);
		else
			samples[count++] = samples[i];
	}
	builder->sample_count = count;
}

static bool is_idle(const struct profile *profile, const struct procedure *procedure)
{
	return procedure->image && profile_image(profile, procedure->image).kind == IMAGE_KERNEL &&
	       kernel_name_is_idle(procedure->linkage);
}

static int sum_up(struct builder *builder)
{
	struct annotate_index *index = builder->index;
	size_t columns = index->columns->count;
	index->cells = calloc(index->count * columns + 1, sizeof(*index->cells));
	index->whole = calloc(columns + 1, sizeof(*index->whole));
	if (!index->cells || !index->whole)
		return -ENOMEM;
	for (size_t i = 0; i < index->count; i++)
		index->procedures[i].cells = index->cells + i * columns;
	for (size_t i = 0; i < builder->sample_count; i++) {
		const struct annotate_sample *sample = &index->samples[i];
		struct annotate_procedure *procedure = &index->procedures[sample->procedure];
		if (procedure->sample_count++ == 0)
			procedure->samples = sample;
		cell_add(&procedure->cells[sample->column], &sample->cell);
	}
	for (size_t i = 0; i < index->count; i++)
		for (size_t c = 0; c < columns; c++)
			if (!is_idle(index->profile, index->procedures[i].procedure))
				cell_add(&index->whole[c], &index->procedures[i].cells[c]);
	return 0;
}

static int compare_procedures(const void *left, const void *right, void *context)
{
	const struct annotate_procedure *a = left, *b = right;
	const struct annotate_index *index = context;
	for (size_t c = 0; c < index->columns->count; c++) {
		uint64_t x = a->cells[c].estimate, y = b->cells[c].estimate;
		if (x != y)
			return x > y ? -1 : 1;
		x = a->cells[c].samples;
		y = b->cells[c].samples;
		if (x != y)
			return x > y ? -1 : 1;
	}
	int order = strcmp(a->procedure->name, b->procedure->name);
	if (order == 0)
		order = strcmp(a->image_name, b->image_name);
	if (order == 0)
		order = (a->procedure->first > b->procedure->first) -
			(a->procedure->first < b->procedure->first);
	/* images of one name: by their ids, which are canonical in a file */
	return order ? order
		     : (a->procedure->image > b->procedure->image) -
			       (a->procedure->image < b->procedure->image);
}

int annotate_index_new(const struct profile *profile, struct resolver *resolver,
		       const struct event_columns *columns, struct annotate_index **out,
		       struct error *err)
{
	CLEANUP(annotate_index_freep) struct annotate_index *index = calloc(1, sizeof(*index));
	CLEANUP(builder_release) struct builder builder = { .index = index };
	if (!index)
		return error_set(err, -ENOMEM, "out of memory for the profile's procedures");
	index->profile = profile;
	index->resolver = resolver;
	index->columns = columns;
	const struct table *flat = profile_table(profile, PROFILE_FLAT);
	int ret = 0;
	for (size_t row = 0; row < flat->count && ret == 0; row++)
		ret = add_row(&builder, table_keys(flat, row), table_values(flat, row));
	if (ret == 0) {
		if (builder.sample_count)
			qsort(index->samples, builder.sample_count, sizeof(*index->samples),
			      compare_samples);
		merge_samples(&builder);
		ret = sum_up(&builder);
	}
	if (ret < 0)
		return error_set(err, ret, "out of memory for the profile's procedures");
	if (index->count)
		qsort_r(index->procedures, index->count, sizeof(*index->procedures),
			compare_procedures, index);
	*out = index;
	index = NULL; /* the caller's from here on */
	return 0;
}

/* "IMAGE+0xVADDR": the last '+' counts, for names of images may have one. */
static bool holds_address(const struct annotate_procedure *candidate, const char *text)
{
	const char *plus = strrchr(text, '+');
	uint64_t vaddr;
	if (!plus || strncmp(plus, "+0x", 3) != 0 || !number_parse_u64(plus + 1, &vaddr))
		return false;
	size_t length = (size_t)(plus - text);
	if (strlen(candidate->image_name) != length ||
	    strncmp(candidate->image_name, text, length) != 0)
		return false;
	const struct procedure *procedure = candidate->procedure;
	if (procedure->extent_known || procedure->flags & FUNCTION_WINDOW)
		return vaddr >= procedure->first && vaddr <= procedure->last;
	for (size_t i = 0; i < candidate->sample_count; i++)
		if (candidate->samples[i].vaddr == vaddr)
			return true;
	return false;
}

/* Lists the procedures that hold the address that `name` gives. */
static size_t list_holders(const struct annotate_index *index, const char *name, const char *image,
			   uint32_t *list)
{
	size_t count = 0;
	for (size_t i = 0; i < index->count; i++)
		if ((!image || strcmp(index->procedures[i].image_name, image) == 0) &&
		    holds_address(&index->procedures[i], name))
			list[count++] = (uint32_t)i;
	return count;
}

/* Lists the procedures that `name` fits best. */
static size_t list_best(const struct annotate_index *index, const char *name, const char *image,
			uint32_t *list)
{
	enum procedure_name_fit best = NAME_FITS_NOT;
	size_t count = 0;
	for (size_t i = 0; i < index->count; i++) {
		const struct annotate_procedure *candidate = &index->procedures[i];
		if (image && strcmp(candidate->image_name, image) != 0)
			continue;
		enum procedure_name_fit fit = procedure_name_fit(
			candidate->procedure->name, candidate->procedure->linkage, name);
		if (fit > best) {
			best = fit;
			count = 0;
		}
		if (fit == best && fit != NAME_FITS_NOT)
			list[count++] = (uint32_t)i;
	}
	return count;
}

int annotate_index_search(const struct annotate_index *index, const char *name, const char *image,
			  uint32_t **positions, size_t *count)
{
	*count = 0;
	*positions = NULL;
	CLEANUP(free_pointer) uint32_t *list = calloc(index->count + 1, sizeof(*list));
	if (!list)
		return -ENOMEM;
	*count = list_holders(index, name, image, list);
	if (*count == 0)
		*count = list_best(index, name, image, list);
	if (*count) {
		*positions = list;
		list = NULL; /* the caller's from here on */
	}
	return 0;
}
