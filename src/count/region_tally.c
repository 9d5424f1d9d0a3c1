#include "count/region_tally.h"

#include <sched.h>
#include <stdlib.h>

#define PAGE_BYTES	4096 /* the least there is */
#define READER_PATIENCE 64   /* tries before the writer, who may not be running, gets the CPU */

struct region_cells *region_cells_new(size_t quantities)
{
	size_t bytes = sizeof(struct region_cells) + quantities * sizeof(struct region_tally);
	struct region_cells *cells = calloc(1, bytes);
	if (!cells)
		return NULL;
	/* calloc() gets large blocks from the kernel as pages that do not exist before they are
	   written */
	for (size_t at = 0; at < bytes; at += PAGE_BYTES)
		((volatile char *)cells)[at] = 0;
	for (size_t i = 0; i < quantities; i++)
		atomic_init(&cells->tallies[i].min, UINT64_MAX);
	return cells;
}

void region_cells_free(struct region_cells *cells)
{
	free(cells);
}

static uint64_t acquire(const _Atomic uint64_t *field)
{
	return atomic_load_explicit(field, memory_order_acquire);
}

void tally_read(const struct region_cells *cells, size_t quantity, struct tally_head *head)
{
	const struct region_tally *tally = &cells->tallies[quantity];
	for (unsigned tries = 1;; tries++) {
		uint64_t sequence = acquire(&cells->sequence);
		*head = (struct tally_head){
			.count = sequence / 2,
			.absent = acquire(&tally->absent),
			.total = acquire(&tally->total),
			.inner = acquire(&tally->inner),
			.min = acquire(&tally->min),
			.max = acquire(&tally->max),
			.flags = acquire(&tally->flags),
		};
		if (!(sequence & 1) && tally_get(&cells->sequence) == sequence) {
			head->count -= head->absent;
			return;
		}
		if (tries % READER_PATIENCE == 0)
			sched_yield();
	}
}
