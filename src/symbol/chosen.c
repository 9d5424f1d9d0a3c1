#include "symbol/chosen.h"

#include <errno.h>
#include <stdlib.h>

#include "base/sorted.h"
#include "symbol/record.h"
#include "symbol/symbol_table.h"

#define GRAINS_SPAN_MAX ((uint64_t)4 << 30) /* 8 MiB of bits */

uint64_t chosen_whole(const struct symbol *symbol)
{
	return symbol->flags & FUNCTION_COLD ? symbol->parent : symbol->start;
}

static int mark_grains(struct chosen *chosen)
{
	uint64_t span = chosen->high - chosen->low;
	if (span >= GRAINS_SPAN_MAX)
		return 0;
	chosen->grains = calloc(span / 512 + 1, 1);
	if (!chosen->grains)
		return -ENOMEM;
	uint64_t next = 0; /* grains below are marked */
	for (size_t i = 0; i < chosen->count; i++) {
		uint64_t grain = (chosen->list[i].first - chosen->low) / 64;
		uint64_t last = (chosen->list[i].last - chosen->low) / 64;
		for (grain = grain < next ? next : grain; grain <= last; grain++)
			chosen->grains[grain / 8] |= (uint8_t)(1u << grain % 8);
		next = next > last ? next : last + 1;
	}
	return 0;
}

int chosen_build(const struct symbol_table *table, const bool *marks, struct chosen *chosen)
{
	*chosen = (struct chosen){ .low = UINT64_MAX };
	chosen->list = calloc(table->count ? table->count : 1, sizeof(*chosen->list));
	if (!chosen->list)
		return -ENOMEM;
	for (size_t i = 0; i < table->count; i++) {
		const struct symbol *symbol = &table->list[i];
		if (!marks[i] || (symbol->flags & FUNCTION_PLT))
			continue;
		uint64_t last = symbol->start + (symbol->size_bytes - 1);
		if (last < symbol->start)
			continue;
		if (symbol->start < chosen->low)
			chosen->low = symbol->start;
		if (last > chosen->high)
			chosen->high = last;
		chosen->list[chosen->count++] =
			(struct chosen_function){ symbol->start, last, chosen_whole(symbol),
						  chosen->high };
	}
	return chosen->count ? mark_grains(chosen) : 0;
}

void chosen_release(struct chosen *chosen)
{
	free(chosen->list);
	free(chosen->grains);
	*chosen = (struct chosen){ 0 };
}

const struct chosen_function *chosen_next(const struct chosen *chosen, uint64_t vaddr, size_t *at)
{
	if (*at == SIZE_MAX)
		*at = SORTED_BEHIND(chosen->list, chosen->count, first, vaddr);
	while (*at > 0 && chosen->list[*at - 1].reach >= vaddr) {
		const struct chosen_function *function = &chosen->list[--*at];
		if (function->last >= vaddr)
			return function;
	}
	*at = 0;
	return NULL;
}
