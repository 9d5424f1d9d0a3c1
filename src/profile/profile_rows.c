/* Rows whose keys are numbers: nodes of call trees, cells, lines of the bill. */
#include "profile/profile_private.h"

#include <assert.h>
#include <string.h>

#include "base/count_of.h"

int profile_add_row(struct profile *profile, enum profile_table which, const uint64_t *keys,
		    size_t count, const uint64_t *values, size_t value_count, uint32_t *row)
{
	struct table *table = profile->tables[which];
	uint64_t key_row[TABLE_MAX_COLUMNS] = { 0 };
	uint64_t value_row[TABLE_MAX_COLUMNS * 2] = { 0 };
	assert(count <= table->key_slots && value_count <= table->value_slots);
	memcpy(key_row, keys, count * sizeof(*keys));
	if (value_count)
		memcpy(value_row, values, value_count * sizeof(*values));
	return table_add(table, key_row, value_row, row);
}

int profile_add_node(struct profile *profile, uint32_t parent, const struct profile_frame *frame,
		     uint32_t *id)
{
	const uint64_t row[] = { [NODE_PARENT] = parent,
				 [NODE_KIND] = frame->kind,
				 [NODE_IMAGE] = frame->image,
				 [NODE_VADDR] = frame->vaddr,
				 [NODE_NAME] = frame->name };
	uint32_t position;
	int ret = profile_add_row(profile, PROFILE_NODE, row, COUNT_OF(row), NULL, 0, &position);
	if (ret == 0)
		*id = position + 1;
	return ret;
}

struct profile_frame profile_node(const struct profile *profile, uint64_t id, uint32_t *parent)
{
	const uint64_t *row = table_keys(profile->tables[PROFILE_NODE], id - 1);
	if (parent)
		*parent = (uint32_t)row[NODE_PARENT];
	return (struct profile_frame){ row[NODE_KIND], (uint32_t)row[NODE_IMAGE], row[NODE_VADDR],
				       (uint32_t)row[NODE_NAME] };
}

static int add_cell(struct profile *profile, enum profile_table table, const uint64_t *row,
		    size_t count, const struct cell *cell)
{
	const uint64_t values[] = { [CELL_SAMPLES] = cell->samples,
				    [CELL_ESTIMATE] = cell->estimate,
				    [CELL_SQUARES_LOW] = (uint64_t)cell->squares,
				    [CELL_SQUARES_HIGH] = (uint64_t)(cell->squares >> 64) };
	return profile_add_row(profile, table, row, count, values, COUNT_OF(values), NULL);
}

int profile_add_flat(struct profile *profile, uint32_t event, uint32_t context,
		     const struct profile_frame *leaf, const struct cell *cell)
{
	const uint64_t row[] = { [FLAT_EVENT] = event,
				 [FLAT_IMAGE] = leaf->image,
				 [FLAT_VADDR] = leaf->vaddr,
				 [FLAT_NAME] = leaf->name,
				 [FLAT_CONTEXT] = context };
	return add_cell(profile, PROFILE_FLAT, row, COUNT_OF(row), cell);
}

int profile_add_stack(struct profile *profile, uint32_t event, uint32_t context, uint32_t node,
		      const struct cell *cell)
{
	const uint64_t row[] = {
		[STACK_EVENT] = event, [STACK_NODE] = node, [STACK_CONTEXT] = context
	};
	return add_cell(profile, PROFILE_STACK, row, COUNT_OF(row), cell);
}

int profile_add_edge(struct profile *profile, uint32_t event, uint32_t context, uint64_t origin,
		     const struct profile_frame *from, const struct profile_frame *to,
		     uint64_t count, uint64_t mispredicted)
{
	const uint64_t row[] = {
		[EDGE_EVENT] = event,
		[EDGE_CONTEXT] = context,
		[EDGE_ORIGIN] = origin,
		[EDGE_FROM_IMAGE] = from->image,
		[EDGE_FROM_VADDR] = from->vaddr,
		[EDGE_FROM_NAME] = from->name,
		[EDGE_TO_IMAGE] = to->image,
		[EDGE_TO_VADDR] = to->vaddr,
		[EDGE_TO_NAME] = to->name,
	};
	const uint64_t values[] = { count, mispredicted };
	return profile_add_row(profile, PROFILE_EDGE, row, COUNT_OF(row), values, COUNT_OF(values),
			       NULL);
}

int profile_add_range(struct profile *profile, uint32_t event, uint32_t context, uint64_t origin,
		      uint32_t image, uint64_t first, uint64_t last, uint64_t count)
{
	const uint64_t row[] = {
		[RANGE_EVENT] = event, [RANGE_CONTEXT] = context, [RANGE_ORIGIN] = origin,
		[RANGE_IMAGE] = image, [RANGE_FIRST] = first,	  [RANGE_LAST] = last,
	};
	return profile_add_row(profile, PROFILE_RANGE, row, COUNT_OF(row), &count, 1, NULL);
}

int profile_add_counter(struct profile *profile, uint32_t event, uint32_t context,
			const struct cell *cell)
{
	const uint64_t row[] = { [COUNTER_EVENT] = event, [COUNTER_CONTEXT] = context };
	return add_cell(profile, PROFILE_COUNTER, row, COUNT_OF(row), cell);
}

int profile_add_value(struct profile *profile, uint32_t event, uint32_t context, uint32_t image,
		      uint64_t vaddr, uint64_t kind, uint64_t bucket, const struct cell *cell)
{
	const uint64_t row[] = {
		[VALUE_EVENT] = event, [VALUE_CONTEXT] = context, [VALUE_IMAGE] = image,
		[VALUE_VADDR] = vaddr, [VALUE_KIND] = kind,	  [VALUE_BUCKET] = bucket
	};
	return add_cell(profile, PROFILE_VALUE, row, COUNT_OF(row), cell);
}

int profile_add_strip(struct profile *profile, uint64_t second, uint32_t event, uint32_t context,
		      uint64_t samples)
{
	const uint64_t row[] = {
		[STRIP_SECOND] = second, [STRIP_EVENT] = event, [STRIP_CONTEXT] = context
	};
	return profile_add_row(profile, PROFILE_STRIP, row, COUNT_OF(row), &samples, 1, NULL);
}

int profile_add_bill(struct profile *profile, uint32_t event, uint64_t optional_cpu,
		     const char *item, uint64_t amount)
{
	uint32_t id;
	int ret = profile_add_text(profile, item, &id);
	if (ret < 0)
		return ret;
	const uint64_t row[] = {
		[BILL_EVENT] = event, [BILL_CPU] = optional_cpu, [BILL_ITEM] = id
	};
	return profile_add_row(profile, PROFILE_BILL, row, COUNT_OF(row), &amount, 1, NULL);
}
