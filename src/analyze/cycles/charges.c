#include "analyze/cycles/charges.h"

#include <errno.h>
#include <stdlib.h>

#include "analyze/cycles/cycles_private.h"
#include "base/cleanup.h"
#include "base/error.h"

/* Of one procedure and one skid. */
struct kept_table {
	bool made;
	struct charge_table table;
};

struct by_pointer {
	const struct procedure *procedure;
	uint32_t position;
};

struct charges {
	struct event_columns columns;
	struct annotate_index *index;
	struct cycles *cycles; /* NULL: no event tells of time */
	struct by_pointer *positions;
	unsigned *skids; /* of the profile's events that have one, each once */
	size_t skid_count;
	struct kept_table *tables; /* by position * skid_count + position in skids */
};

void charges_free(struct charges *charges)
{
	if (!charges)
		return;
	size_t count = charges->tables ? charges->index->count * charges->skid_count : 0;
	for (size_t i = 0; i < count; i++)
		charge_table_release(&charges->tables[i].table);
	free(charges->tables);
	free(charges->skids);
	free(charges->positions);
	cycles_free(charges->cycles);
	annotate_index_free(charges->index);
	event_columns_release(&charges->columns);
	free(charges);
}

void charges_freep(struct charges **charges)
{
	charges_free(*charges);
}

static int compare_pointers(const void *left, const void *right)
{
	uintptr_t a = (uintptr_t)((const struct by_pointer *)left)->procedure;
	uintptr_t b = (uintptr_t)((const struct by_pointer *)right)->procedure;
	return (a > b) - (a < b);
}

static size_t find_skid(const struct charges *charges, unsigned skid)
{
	size_t at = 0;
	while (at < charges->skid_count && charges->skids[at] != skid)
		at++;
	return at;
}

static int list_skids(struct charges *charges)
{
	const struct event_columns *columns = &charges->columns;
	charges->skids = calloc(columns->count + 1, sizeof(*charges->skids));
	if (!charges->skids)
		return -ENOMEM;
	for (size_t c = 0; c < columns->count; c++) {
		unsigned skid = charges_skid(charges, &columns->list[c]);
		if (skid && find_skid(charges, skid) == charges->skid_count)
			charges->skids[charges->skid_count++] = skid;
	}
	return 0;
}

static int index_positions(struct charges *charges)
{
	size_t count = charges->index->count;
	charges->positions = calloc(count + 1, sizeof(*charges->positions));
	charges->tables = calloc(count * charges->skid_count + 1, sizeof(*charges->tables));
	if (!charges->positions || !charges->tables)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		charges->positions[i] =
			(struct by_pointer){ charges->index->procedures[i].procedure, (uint32_t)i };
	if (count)
		qsort(charges->positions, count, sizeof(*charges->positions), compare_pointers);
	return 0;
}

int charges_new(const struct profile *profile, struct resolver *resolver, struct charges **out,
		struct error *err)
{
	CLEANUP(charges_freep) struct charges *charges = calloc(1, sizeof(*charges));
	if (!charges)
		return error_set(err, -ENOMEM, "out of memory for whom samples are charged to");
	const struct cycles_options options = { 0 };
	int ret = event_columns_init(&charges->columns, profile, NULL, 0, err);
	if (ret == 0)
		ret = annotate_index_new(profile, resolver, &charges->columns, &charges->index,
					 err);
	if (ret == 0)
		ret = cycles_new(charges->index, &options, &charges->cycles, err);
	if (ret == -ENOENT)
		ret = 0;
	if (ret < 0)
		return ret;
	if (list_skids(charges) < 0 || index_positions(charges) < 0)
		return error_set(err, -ENOMEM, "out of memory for whom samples are charged to");
	*out = charges;
	charges = NULL; /* the caller's from here on */
	return 0;
}

unsigned charges_skid(const struct charges *charges, const struct event_column *column)
{
	return charges->cycles ? cycles_skid_of(charges->cycles, column) : 0;
}

/* The position where the procedure is counted: of a cold part its parent's. The index's count:
 * none. */
static uint32_t find_position(const struct charges *charges, const struct procedure *procedure)
{
	const struct by_pointer wanted = { .procedure = procedure };
	const struct by_pointer *found =
		charges->index->count ? bsearch(&wanted, charges->positions, charges->index->count,
						sizeof(wanted), compare_pointers)
				      : NULL;
	return found ? (uint32_t)cycles_counted_at(charges->cycles, found->position)
		     : (uint32_t)charges->index->count;
}

static int make_table(struct charges *charges, uint32_t position, unsigned skid,
		      struct charge_table *table)
{
	CLEANUP(procedure_cycles_freep) struct procedure_cycles *procedure = NULL;
	struct error ignored;
	*table = (struct charge_table){ 0 };
	int ret = cycles_of_procedure(charges->cycles, position, &procedure, &ignored);
	if (ret == 0)
		return charge_table_init(procedure, skid, table);
	return ret == -ENODATA ? 0 : ret;
}

int charges_of(struct charges *charges, const struct place *place, unsigned skid,
	       const struct charge **list, size_t *count)
{
	size_t which = find_skid(charges, skid);
	*list = NULL;
	*count = 0;
	if (!charges->cycles || which == charges->skid_count)
		return 0;
	uint32_t position = find_position(charges, place->procedure);
	if (position == charges->index->count)
		return 0;
	struct kept_table *kept = &charges->tables[position * charges->skid_count + which];
	int ret = kept->made ? 0 : make_table(charges, position, skid, &kept->table);
	if (ret < 0)
		return ret;
	kept->made = true;
	*list = charge_table_find(&kept->table, place->vaddr, count);
	return 0;
}
