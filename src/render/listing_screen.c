/*
 * A procedure on one screen: as much of its code as fits, the dearest blocks first. Blocks are
 * shown by loop, the loop with most of what is shown first, and inside one by address.
 */
#include <stdlib.h>
#include <string.h>

#include "analyze/cycles/cycles_rank.h"
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/sorted.h"
#include "render/listing_parts.h"
#include "render/quantity.h"

#define SCREEN_ROWS   24 /* of code; the head and the lines above blocks come on top */
#define LEAST_ROWS    4	 /* of a block that does not fit whole */
#define LEAST_PERCENT 1	 /* of the procedure's time: cheaper blocks are not worth their line */

/* Rows of a block, or of a part of it. */
struct piece {
	size_t first, count; /* rows */
	uint32_t block, loop;
	bool is_narrowed; /* its block's first row is left out */
	double weight;
	double loop_weight; /* of all pieces of its loop */
};

struct screen {
	struct listing *listing;
	struct piece *pieces;
	size_t count;
	size_t rows_left;
};

/* The rows of a block in the annotation: those from its first address up to its last. */
static struct piece rows_of_block(const struct listing *listing, uint32_t number)
{
	const struct procedure_cycles *procedure = listing->subject->cycles;
	const struct cfg_block *block = &procedure->cfg.blocks[number];
	const struct cfg_instruction *first = &procedure->cfg.instructions[block->first];
	const struct cfg_instruction *last = first + block->count - 1;
	const struct annotation *annotation = listing->annotation;
	size_t from = SORTED_FROM(annotation->rows, annotation->row_count, vaddr, first->vaddr);
	size_t end = from;
	while (end < annotation->row_count &&
	       annotation->rows[end].vaddr < last->vaddr + last->length_bytes)
		end++;
	return (struct piece){ .first = from,
			       .count = end - from,
			       .block = number,
			       .weight = cycles_weight(&procedure->blocks[number]) };
}

static double weight_of_row(const struct listing *listing, size_t row)
{
	uint32_t instruction =
		cycle_columns_instruction(&listing->cycles, listing->annotation->rows[row].vaddr);
	return instruction == CFG_NO_INSTRUCTION
		       ? 0
		       : cycles_weight(&listing->subject->cycles->instructions[instruction]);
}

/* The `rows` rows in a row that cost most. */
static void narrow(const struct listing *listing, struct piece *piece, size_t rows)
{
	double sum = 0, most = -1;
	size_t best = piece->first;
	for (size_t i = piece->first; i < piece->first + piece->count; i++) {
		sum += weight_of_row(listing, i);
		if (i - piece->first + 1 < rows)
			continue;
		if (sum > most) {
			most = sum;
			best = i + 1 - rows;
		}
		sum -= weight_of_row(listing, i + 1 - rows);
	}
	piece->is_narrowed = best != piece->first;
	piece->first = best;
	piece->count = rows;
}

static int compare_weight(const void *left, const void *right)
{
	const struct piece *a = left, *b = right;
	if (a->weight != b->weight)
		return a->weight > b->weight ? -1 : 1;
	return a->block < b->block ? -1 : a->block > b->block;
}

static int compare_place(const void *left, const void *right)
{
	const struct piece *a = left, *b = right;
	if (a->loop_weight != b->loop_weight)
		return a->loop_weight > b->loop_weight ? -1 : 1;
	if (a->loop != b->loop)
		return a->loop < b->loop ? -1 : 1;
	return a->first < b->first ? -1 : a->first > b->first;
}

/* Fills pieces with what fits, in the order in which it is shown. */
static void choose(struct screen *screen)
{
	const struct listing *listing = screen->listing;
	const struct flow_loops *loops = &listing->subject->cycles->loops;
	uint32_t blocks = listing->subject->cycles->cfg.graph.block_count;
	double least = listing->cycles.whole * LEAST_PERCENT / 100;
	size_t taken = 0;
	for (uint32_t b = 0; b < blocks; b++)
		screen->pieces[b] = rows_of_block(listing, b);
	qsort(screen->pieces, blocks, sizeof(*screen->pieces), compare_weight);
	for (uint32_t i = 0; i < blocks && screen->rows_left >= LEAST_ROWS; i++) {
		struct piece piece = screen->pieces[i];
		if (piece.count == 0) /* in the procedure's other part */
			continue;
		if (taken && piece.weight < least)
			break;
		if (piece.count > screen->rows_left)
			narrow(listing, &piece, screen->rows_left);
		piece.loop = cycles_shown_loop(loops, loops->of_block[piece.block]);
		screen->rows_left -= piece.count;
		screen->pieces[taken++] = piece;
	}
	screen->count = taken;
	for (size_t i = 0; i < taken; i++)
		for (size_t j = 0; j < taken; j++)
			if (screen->pieces[j].loop == screen->pieces[i].loop)
				screen->pieces[i].loop_weight += screen->pieces[j].weight;
	qsort(screen->pieces, taken, sizeof(*screen->pieces), compare_place);
}

static void print_pieces(struct screen *screen)
{
	struct listing *listing = screen->listing;
	const struct cfg *cfg = &listing->subject->cycles->cfg;
	size_t shown = 0;
	double weight = 0;
	for (size_t i = 0; i < screen->count; i++) {
		const struct piece *piece = &screen->pieces[i];
		if (i)
			buffer_append_u8(listing->out, '\n');
		listing_forget(listing);
		if (piece->is_narrowed)
			listing_print_block(listing, cfg->blocks[piece->block].first);
		for (size_t row = piece->first; row < piece->first + piece->count; row++) {
			listing_print_row(listing, &listing->annotation->rows[row]);
			weight += weight_of_row(listing, row);
		}
		shown += piece->count;
	}
	size_t left = listing->annotation->row_count - shown;
	char percent[QUANTITY_SIZE];
	if (left == 0)
		return;
	quantity_percent(listing->cycles.whole - weight, listing->cycles.whole, percent);
	buffer_printf(listing->out, "\n%zu more row%s, %s of its %s: ", left, left == 1 ? "" : "s",
		      percent, listing->cycles.has_cpi ? "time" : "instructions");
	listing_put_command(listing->options, listing->annotation->procedure->image_name,
			    listing->annotation->procedure->procedure->first, listing->out);
	buffer_append_u8(listing->out, '\n');
}

void listing_print_screen(const struct listing_subject *subject, const struct annotate_index *index,
			  const struct listing_options *options, struct buffer *out)
{
	struct listing listing;
	struct cycle_columns columns;
	cycle_columns_init(&columns, subject->cycles, NULL);
	if (!columns.procedure || subject->annotation->row_count <= SCREEN_ROWS) {
		listing_print(subject, index, options, out);
		return;
	}
	if (!listing_begin(&listing, subject, index, options, out))
		return;
	CLEANUP(free_pointer)
	struct piece *pieces =
		calloc((size_t)subject->cycles->cfg.graph.block_count + 1, sizeof(*pieces));
	if (pieces) {
		struct screen screen = { &listing, pieces, 0, SCREEN_ROWS };
		listing_print_columns_head(&listing);
		choose(&screen);
		print_pieces(&screen);
	} else {
		out->failed = true;
	}
	listing_end(&listing);
}
