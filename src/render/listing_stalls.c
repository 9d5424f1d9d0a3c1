/*
 * Lines above an instruction that stalls: the letters of what may be the cause, cycles lost
 * each time it runs, and the causes in words with the instructions that may be to blame. After
 * the bubbles of DCPI's dcpicalc (Anderson et al., SOSP 1997, 3.2).
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "analyze/culprits/culprits.h"
#include "base/buffer.h"
#include "render/listing_cycles.h"

#define WHOLE_SHARE    0.995 /* as a share of a stall this is all of it */
#define LEAST_SHARE    0.005
#define POSSIBLE_SHARE 0.1 /* of the procedure: a stall that may have taken so much is shown */

static uint64_t vaddr_of(const struct procedure_cycles *procedure, uint32_t instruction)
{
	return procedure->cfg.instructions[instruction].vaddr;
}

/* The start of a line up to where an instruction would stand: letters, and what was lost. */
static void put_bubble_text(const struct cycle_columns *columns, const char *letters,
			    const char *lost, const struct listing_margins *margins,
			    struct buffer *out)
{
	for (const char *letter = letters; columns->letters && *letter; letter++)
		columns->letters[*letter & (CYCLE_LETTERS - 1)] = true;
	buffer_printf(out, "%*s", margins->before, "");
	cycle_columns_put_bubble(columns, letters, lost, out);
	buffer_printf(out, "%*s", margins->behind, "");
}

static void put_bubble(const struct cycle_columns *columns, const char *letters, double cycles,
		       const struct listing_margins *margins, struct buffer *out)
{
	char text[CYCLES_TEXT], lost[CYCLES_TEXT + 1];
	cycles_text_cpi(fabs(cycles), text);
	snprintf(lost, sizeof(lost), "%c%s", cycles < 0 ? '-' : '+', text);
	put_bubble_text(columns, letters, lost, margins, out);
}

static void print_static(const struct cycle_columns *columns, const struct stall *stall,
			 double executed, const struct listing_margins *margins, struct buffer *out)
{
	const struct procedure_cycles *procedure = columns->procedure;
	const char letters[] = { static_cause_letter(stall->static_cause), 0 };
	put_bubble(columns, letters, stall->static_cycles / executed, margins, out);
	buffer_append_text(out, static_cause_text(stall->static_cause));
	const char *name = stall->static_register == REGISTER_NONE
				   ? NULL
				   : register_name(procedure->isa, stall->static_register);
	if (name)
		buffer_printf(out, ": %s", name);
	if (stall->static_instruction != CULPRIT_NO_INSTRUCTION)
		buffer_printf(out, " of %" PRIx64, vaddr_of(procedure, stall->static_instruction));
	buffer_append_u8(out, '\n');
}

/* How much of the stall a cause takes: at least so much of the estimated stall, at most so much of
 * the longest that it can have been. Nothing where it takes all of it, or where neither is known.
 */
static void put_share(const struct culprit *culprit, const struct stall *stall, struct buffer *out)
{
	double low = stall->dynamic_cycles > 0 ? culprit->low / stall->dynamic_cycles : 0;
	double high = culprit->high / stall->most_cycles;
	if (low >= WHOLE_SHARE || isnan(low) || isnan(high))
		return;
	bool has_low = low >= LEAST_SHARE, has_high = high < WHOLE_SHARE;
	if (has_low && has_high && high - low < LEAST_SHARE)
		buffer_printf(out, " %.0f %%", 100 * high);
	else if (has_low && has_high)
		buffer_printf(out, " %.0f to %.0f %%", 100 * low, 100 * high);
	else if (has_low)
		buffer_printf(out, " at least %.0f %%", 100 * low);
	else if (has_high)
		buffer_printf(out, " at most %.0f %%", 100 * high);
	if (has_high && culprit->bound_by_events)
		buffer_append_text(out, " by its event");
}

static void put_letters(const struct culprit *list, const struct stall *stall,
			char letters[DYNAMIC_CAUSES + 1])
{
	size_t count = 0;
	for (uint32_t i = 0; i < stall->culprit_count && count < DYNAMIC_CAUSES; i++) {
		char letter = dynamic_cause_letter(list[i].cause);
		if (count == 0 || letters[count - 1] != letter)
			letters[count++] = letter;
	}
	letters[count] = 0;
}

static void put_causes(const struct cycle_columns *columns, uint32_t instruction,
		       const struct culprit *list, struct buffer *out)
{
	const struct stall *stall = &columns->culprits->stalls[instruction];
	for (uint32_t i = 0; i < stall->culprit_count; i++) {
		buffer_append_text(out, i ? "; " : "");
		buffer_append_text(out, dynamic_cause_text(list[i].cause));
		if (list[i].instruction == instruction)
			buffer_append_text(out, " here");
		else if (list[i].instruction != CULPRIT_NO_INSTRUCTION)
			buffer_printf(out, " of %" PRIx64,
				      vaddr_of(columns->procedure, list[i].instruction));
		put_share(&list[i], stall, out);
	}
}

/* The culprits of a stall; NULL without any. */
static const struct culprit *culprits_of(const struct cycle_columns *columns,
					 const struct stall *stall)
{
	return stall->culprit_count ? columns->culprits->list + stall->culprits : NULL;
}

static void print_dynamic(const struct cycle_columns *columns, uint32_t instruction,
			  double executed, const struct listing_margins *margins,
			  struct buffer *out)
{
	const struct stall *stall = &columns->culprits->stalls[instruction];
	const struct culprit *list = culprits_of(columns, stall);
	char letters[DYNAMIC_CAUSES + 1];
	put_letters(list, stall, letters);
	put_bubble(columns, letters[0] ? letters : "?", stall->dynamic_cycles / executed, margins,
		   out);
	put_causes(columns, instruction, list, out);
	double unexplained = stall->unexplained_cycles / stall->dynamic_cycles;
	if (stall->culprit_count == 0)
		buffer_append_text(out, "no cause known");
	else if (unexplained >= LEAST_SHARE)
		buffer_printf(out, "; %.0f %% unexplained", 100 * unexplained);
	buffer_append_u8(out, '\n');
}

/* An instruction that may have stalled: no figure shows it, and none excludes it. */
static void print_possible(const struct cycle_columns *columns, uint32_t instruction,
			   const struct listing_margins *margins, struct buffer *out)
{
	const struct stall *stall = &columns->culprits->stalls[instruction];
	const struct culprit *list = culprits_of(columns, stall);
	char letters[DYNAMIC_CAUSES + 1];
	put_letters(list, stall, letters);
	put_bubble_text(columns, letters, "+?", margins, out);
	buffer_append_text(out, "not shown, but may be: ");
	put_causes(columns, instruction, list, out);
	buffer_append_u8(out, '\n');
}

/* An instruction that took less than its best case: executions, samples or the processor's table
 * are wrong. That does not follow where the best case is only a bound (cycles_best_is_bound()). */
static void print_gain(const struct cycle_columns *columns, const struct stall *stall,
		       double executed, const struct listing_margins *margins, struct buffer *out)
{
	put_bubble(columns, "g", stall->dynamic_cycles / executed, margins, out);
	buffer_append_text(out, "gain: less than the best case, unexplained\n");
}

void cycle_columns_print_stalls(const struct cycle_columns *columns, uint32_t instruction,
				const struct listing_margins *margins, struct buffer *out)
{
	if (!columns->culprits || !columns->culprits->known || instruction == CFG_NO_INSTRUCTION)
		return;
	const struct stall *stall = &columns->culprits->stalls[instruction];
	double executed = columns->procedure->instructions[instruction].executed;
	double least = columns->whole * LISTING_BLOCK_PERCENT / 100;
	if (!(executed > 0))
		return;
	if (stall->dynamic_cycles >= least && stall->dynamic_cycles > 0)
		print_dynamic(columns, instruction, executed, margins, out);
	else if (stall->dynamic_cycles == 0 && stall->culprit_count &&
		 stall->most_cycles >= columns->whole * POSSIBLE_SHARE)
		print_possible(columns, instruction, margins, out);
	else if (stall->dynamic_cycles < 0 && -stall->dynamic_cycles >= least &&
		 !cycles_best_is_bound(columns->procedure))
		print_gain(columns, stall, executed, margins, out);
	if (stall->static_cause != STATIC_NONE && stall->static_cycles > 0 &&
	    cycle_columns_block_matters(columns, cycle_columns_block(columns, instruction)))
		print_static(columns, stall, executed, margins, out);
}

static void put_letter(char letter, const char *text, bool *first, struct buffer *out)
{
	buffer_printf(out, "%s%c %s", *first ? "letters: " : ", ", letter, text);
	*first = false;
}

void cycle_columns_print_letters(const struct cycle_columns *columns, struct buffer *out)
{
	const bool *letters = columns->letters;
	bool first = true;
	if (!letters)
		return;
	for (int cause = 0; cause < DYNAMIC_CAUSES; cause++) {
		char letter = dynamic_cause_letter((enum dynamic_cause)cause);
		if (letters[(int)letter])
			put_letter(letter,
				   cause == DYNAMIC_OTHER
					   ? "other, or no cause known"
					   : dynamic_cause_text((enum dynamic_cause)cause),
				   &first, out);
	}
	for (int cause = STATIC_NONE + 1; cause < STATIC_CAUSES; cause++) {
		char letter = static_cause_letter((enum static_cause)cause);
		if (letters[(int)letter])
			put_letter(letter, static_cause_text((enum static_cause)cause), &first,
				   out);
	}
	if (letters['g'])
		put_letter('g', "gain", &first, out);
	if (!first)
		buffer_append_u8(out, '\n');
}
