#include "analyze/cycles/charge_table.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analyze/cycles/cycles_private.h"
#include "base/array.h"
#include "base/cleanup.h"

void charge_table_release(struct charge_table *table)
{
	free(table->rows);
	free(table->charges);
	*table = (struct charge_table){ 0 };
}

struct builder {
	const struct procedure_cycles *procedure;
	struct charge_table table;
	size_t row_capacity, charge_capacity;
	struct cycles_shares now, next;
};

static void builder_release(struct builder *builder)
{
	charge_table_release(&builder->table);
	cycles_shares_release(&builder->now);
	cycles_shares_release(&builder->next);
}

static int compare_shares(const void *left, const void *right)
{
	const struct cycles_share *a = left, *b = right;
	return (a->instruction > b->instruction) - (a->instruction < b->instruction);
}

/* One entry for each instruction: paths through a loop come to the same one again and again. */
static void merge(struct cycles_shares *shares)
{
	size_t count = 0;
	if (shares->count)
		qsort(shares->list, shares->count, sizeof(*shares->list), compare_shares);
	for (size_t i = 0; i < shares->count; i++) {
		if (count && shares->list[count - 1].instruction == shares->list[i].instruction)
			shares->list[count - 1].share += shares->list[i].share;
		else
			shares->list[count++] = shares->list[i];
	}
	shares->count = count;
}

/* Fills builder->now with the instructions that samples at this one belong to. 0 or -ENOMEM. */
static int go_back(struct builder *builder, uint32_t instruction, unsigned skid)
{
	builder->now.count = 0;
	if (array_reserve(&builder->now.list, &builder->now.capacity, 0,
			  sizeof(*builder->now.list)) < 0)
		return -ENOMEM;
	builder->now.list[builder->now.count++] = (struct cycles_share){ instruction, 1 };
	for (unsigned step = 0; step < skid; step++) {
		struct cycles_shares swap = builder->now;
		builder->next.count = 0;
		for (size_t i = 0; i < builder->now.count; i++)
			if (cycles_share_back(builder->procedure, builder->now.list[i].instruction,
					      builder->now.list[i].share, &builder->next) < 0)
				return -ENOMEM;
		merge(&builder->next);
		builder->now = builder->next;
		builder->next = swap;
	}
	return 0;
}

static int add_row(struct builder *builder, uint32_t instruction, unsigned skid)
{
	const struct cfg_instruction *code = builder->procedure->cfg.instructions;
	struct charge_table *table = &builder->table;
	if (go_back(builder, instruction, skid) < 0 ||
	    array_reserve(&table->rows, &builder->row_capacity, table->row_count,
			  sizeof(*table->rows)) < 0)
		return -ENOMEM;
	table->rows[table->row_count++] =
		(struct charge_row){ code[instruction].vaddr, table->charge_count,
				     builder->now.count };
	for (size_t i = 0; i < builder->now.count; i++) {
		if (array_reserve(&table->charges, &builder->charge_capacity, table->charge_count,
				  sizeof(*table->charges)) < 0)
			return -ENOMEM;
		table->charges[table->charge_count++] =
			(struct charge){ code[builder->now.list[i].instruction].vaddr,
					 builder->now.list[i].share };
	}
	return 0;
}

static int add_part(struct builder *builder, const struct annotate_procedure *part, unsigned skid)
{
	const struct cfg *cfg = &builder->procedure->cfg;
	int ret = 0;
	if (!part || !part->sample_count)
		return 0;
	uint32_t next = cfg_instruction_from(cfg, part->samples[0].vaddr);
	for (size_t i = 0; i < part->sample_count && ret == 0; i++) {
		uint64_t vaddr = part->samples[i].vaddr;
		if (i && vaddr == part->samples[i - 1].vaddr)
			continue; /* of another column */
		while (next < cfg->instruction_count && cfg->instructions[next].vaddr < vaddr)
			next++;
		if (next < cfg->instruction_count && cfg->instructions[next].vaddr == vaddr)
			ret = add_row(builder, next, skid);
	}
	return ret;
}

static int compare_rows(const void *left, const void *right)
{
	const struct charge_row *a = left, *b = right;
	return (a->vaddr > b->vaddr) - (a->vaddr < b->vaddr);
}

int charge_table_init(const struct procedure_cycles *procedure, unsigned skid,
		      struct charge_table *out)
{
	CLEANUP(builder_release) struct builder builder = { .procedure = procedure };
	*out = (struct charge_table){ 0 };
	if (add_part(&builder, procedure->procedure, skid) < 0 ||
	    add_part(&builder, procedure->cold, skid) < 0)
		return -ENOMEM;
	if (builder.table.row_count)
		qsort(builder.table.rows, builder.table.row_count, sizeof(*builder.table.rows),
		      compare_rows);
	*out = builder.table;
	builder.table = (struct charge_table){ 0 }; /* the caller's from here on */
	return 0;
}

const struct charge *charge_table_find(const struct charge_table *table, uint64_t vaddr,
				       size_t *count)
{
	const struct charge_row wanted = { .vaddr = vaddr };
	const struct charge_row *found = table->row_count
						 ? bsearch(&wanted, table->rows, table->row_count,
							   sizeof(wanted), compare_rows)
						 : NULL;
	*count = found ? found->count : 0;
	return found ? table->charges + found->first : NULL;
}

/* That share of a whole number, rounded. */
static uint64_t whole_below(uint64_t whole, double share)
{
	double below = round((double)whole * share);
	return below >= (double)whole ? whole : (uint64_t)below;
}

static unsigned __int128 squares_of(const struct cell *cell, double share, unsigned __int128 left)
{
	double squares = (double)cell->squares * share;
	return squares >= (double)left ? left : (unsigned __int128)squares;
}

void charge_split(const struct cell *cell, const struct charge *charges, size_t count,
		  struct cell *parts)
{
	double share = 0;
	struct cell left = *cell;
	for (size_t i = 0; i < count; i++) {
		share += charges[i].share;
		struct cell below = { 0 }, given = { 0 };
		if (i + 1 < count) { /* cumulative sums are rounded, so that parts add up */
			below.samples = whole_below(cell->samples, share);
			below.estimate = whole_below(cell->estimate, share);
		} else {
			below.samples = cell->samples;
			below.estimate = cell->estimate;
		}
		given.samples = cell->samples - left.samples;
		given.estimate = cell->estimate - left.estimate;
		parts[i].samples =
			below.samples > given.samples ? below.samples - given.samples : 0;
		parts[i].estimate =
			below.estimate > given.estimate ? below.estimate - given.estimate : 0;
		left.samples -= parts[i].samples;
		left.estimate -= parts[i].estimate;
		parts[i].squares = i + 1 < count ? squares_of(cell, charges[i].share, left.squares)
						 : left.squares;
		left.squares -= parts[i].squares;
	}
}
