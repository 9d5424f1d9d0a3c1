/*
 * listing_cycles - what a listing shows of executions and cycles: columns beside the
 * samples, a line above each block that matters, lines above instructions that stall.
 *
 * Executions that are right up to a factor are shown relative to the block of the
 * procedure that ran most, so that nobody takes them for counts. A mark behind them says how sure
 * they are. What is not known is "-".
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/cycles/cycles.h"

struct buffer;
struct culprits;
struct quantity_scale;

#define LISTING_BLOCK_PERCENT 1 /* of the procedure's cycles: less is no block that matters */

struct cycle_columns {
	const struct procedure_cycles *procedure; /* NULL: there are no columns */
	const struct culprits *culprits;	  /* NULL: not known */
	double most_executed;			  /* of its blocks */
	double whole;	  /* cycles, or executions where these are unknown */
	bool has_cpi;	  /* cycles are known */
	bool has_charged; /* samples are charged to others than they are at */
	int width;
	bool *letters; /* by letter: those that were printed above instructions; NULL: not kept */
};

#define CYCLE_LETTERS 128

/* Both may be NULL. Where nothing is known of a procedure's executions it has no columns. */
void cycle_columns_init(struct cycle_columns *columns, const struct procedure_cycles *procedure,
			const struct culprits *culprits);
/* The two lines of the columns' head: appended to what stands above, and to what stands beside. */
void cycle_columns_head(const struct cycle_columns *columns, struct buffer *above,
			struct buffer *beside);

/* The instruction of the graph that starts there, or CFG_NO_INSTRUCTION; and its block, or
 * CFG_NO_BLOCK. */
uint32_t cycle_columns_instruction(const struct cycle_columns *columns, uint64_t vaddr);
uint32_t cycle_columns_block(const struct cycle_columns *columns, uint32_t instruction);
/*
 * Prints the columns of one instruction; blanks for CFG_NO_INSTRUCTION, and where nothing was
 * charged. Executions are those of its block: blanks when that is `shown_block`.
 */
void cycle_columns_print(const struct cycle_columns *columns, uint32_t instruction,
			 uint32_t shown_block, struct buffer *out);
/* Source lines have the column of CPI alone; blanks for NULL. */
void cycle_columns_line_head(const struct cycle_columns *columns, struct buffer *above,
			     struct buffer *beside);
void cycle_columns_print_line(const struct cycle_columns *columns, const struct cycles_cost *cost,
			      struct buffer *out);
void cycle_columns_print_blank(const struct cycle_columns *columns, struct buffer *out);

/* A line about a block, when the instruction is its first and it matters. */
void cycle_columns_print_block(const struct cycle_columns *columns, uint32_t instruction,
			       struct buffer *out);
/* Blanks around the columns: of the figures before, of the address behind them. */
struct listing_margins {
	int before, behind;
};
/* Lines about what an instruction lost cycles to, where these matter; none where nothing is
 * known. */
void cycle_columns_print_stalls(const struct cycle_columns *columns, uint32_t instruction,
				const struct listing_margins *margins, struct buffer *out);
/* `lost` in the column of CPI, `letters` before it. */
void cycle_columns_put_bubble(const struct cycle_columns *columns, const char *letters,
			      const char *lost, struct buffer *out);
/* "letters: d D-cache miss, o operand chain", of those that were printed; nothing without any. */
void cycle_columns_print_letters(const struct cycle_columns *columns, struct buffer *out);
/* Whether the block takes LISTING_BLOCK_PERCENT of the procedure. */
bool cycle_columns_block_matters(const struct cycle_columns *columns, uint32_t block);

/* ---- texts, also of other views */

#define CYCLES_TEXT 64

/* "12.3 M =", "0.251 ~", "-": with the mark of its confidence. */
void cycles_text_executions(const struct cycle_columns *columns, const struct frequency *frequency,
			    char text[CYCLES_TEXT]);
/* Executions of the block that ran most; 0 when none are known. */
double cycles_most_executed(const struct procedure_cycles *procedure);
/* "0.251", "<0.001": relative executions beside the `most` of the procedure; "-" when not known. */
void cycles_text_relative(double value, double most, char text[CYCLES_TEXT]);
/* "0.25", "18.0", "114"; "-" when not known. */
void cycles_text_cpi(double cpi, char text[CYCLES_TEXT]);
/* "1.30 to 1.40"; "-" when not known. */
void cycles_text_interval(double low, double high, char text[CYCLES_TEXT]);
/* Whether best cases are upper bounds, as the processor's cycles are only bounded in the unit of
 * the procedure's CPI. */
bool cycles_best_is_bound(const struct procedure_cycles *procedure);
/* "CPI", "ns"; "cost" where it is relative. */
const char *cycles_unit(const struct procedure_cycles *procedure);
/* Of all procedures of that scale. */
const char *cycles_unit_of(const struct cycles_events *events, enum cycles_scale scale);
/* "in the loop at 100a, inside the one at 1000"; nothing outside of loops. */
void cycles_put_loops(const struct procedure_cycles *procedure, uint32_t loop, struct buffer *out);
