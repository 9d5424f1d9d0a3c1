#include "render/cfg_cards.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/visible_text.h"
#include "render/cfg_picture.h"
#include "render/cfg_words.h"
#include "render/flame_text.h"
#include "render/listing_cycles.h"

#define MOST_COLUMNS 64 /* of an instruction; what is longer is cut */

#define MOST_ROUNDS_APART                                                                          \
	4.0		 /* quotient of an interval's ends: beyond, only the low one is shown */
#define LEAST_ROUNDS 1.5 /* a low end below is not shown alone */

/* Writes one card. */
struct writer {
	const struct cfg_picture *picture;
	const struct procedure_cycles *procedure;
	double most_executed;
	struct cfg_card *card;
	struct arena *arena;
	bool failed;
};

__attribute__((format(printf, 3, 4))) static void
say(struct writer *writer, enum cfg_line_style style, const char *format, ...)
{
	char raw[512], text[512];
	CLEANUP(buffer_release) struct buffer safe = { 0 }; /* what is measured is what is shown */
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(raw, sizeof(raw), format, arguments);
	va_end(arguments);
	text_append_safe(&safe, raw, strlen(raw));
	writer->failed |= buffer_failed(&safe);
	snprintf(text, sizeof(text), "%s", buffer_text(&safe));
	if (array_reserve(&writer->card->lines, &writer->card->capacity, writer->card->count,
			  sizeof(*writer->card->lines)) < 0) {
		writer->failed = true;
		return;
	}
	size_t length = strlen(text), columns = flame_text_length(text, length);
	if (columns > MOST_COLUMNS) {
		/* cut between characters, with an ellipsis */
		size_t at = 0;
		for (size_t seen = 0; seen + 1 < MOST_COLUMNS && at < length; seen++)
			for (at++; at < length && ((uint8_t)text[at] & 0xc0) == 0x80;)
				at++;
		snprintf(text + at, sizeof(text) - at, "\xe2\x80\xa6");
		columns = MOST_COLUMNS;
	}
	const char *kept = arena_copy_text(writer->arena, text, strlen(text));
	writer->failed |= !kept;
	if (kept)
		writer->card->lines[writer->card->count++] = (struct cfg_line){ style, kept };
	if (columns > writer->card->columns)
		writer->card->columns = columns;
}

static void say_ways(struct writer *writer, uint32_t block, bool into)
{
	const struct procedure_cycles *procedure = writer->procedure;
	const struct flow_graph *graph = &procedure->cfg.graph;
	struct flow_ends ends =
		into ? flow_graph_into(graph, block) : flow_graph_out_of(graph, block);
	char count[QUANTITY_SIZE];
	for (size_t i = 0; i < ends.count; i++) {
		const struct flow_edge *edge = &graph->edges[ends.list[i]];
		if ((into ? edge->from : edge->to) != FLOW_OUTSIDE)
			continue;
		cfg_count_text(procedure->frequencies.edges[ends.list[i]].value, count);
		say(writer, CFG_LINE_SMALL, "%s %s%s%s%s", into ? "\xe2\x96\xbc" : "\xe2\x96\xb2",
		    cfg_edge_text(edge->kind), cfg_is_relative(procedure) ? "" : ", ",
		    cfg_is_relative(procedure) ? "" : count,
		    cfg_is_relative(procedure) ? "" : " times");
	}
}

/* The rounds of a loop: "about" their number where its interval is narrow, else "at least" the low
 * end. */
static void rounds_text(const struct estimate *rounds, char text[QUANTITY_SIZE])
{
	char count[CYCLES_TEXT];
	bool narrow = rounds->kind == ESTIMATE_INTERVAL &&
		      rounds->high <= rounds->low * MOST_ROUNDS_APART;
	if (rounds->kind != ESTIMATE_INTERVAL || (!narrow && rounds->low < LEAST_ROUNDS)) {
		snprintf(text, QUANTITY_SIZE, "rounds unknown");
		return;
	}
	cycles_text_cpi(narrow ? rounds->value : rounds->low, count);
	snprintf(text, QUANTITY_SIZE, narrow ? "about %s rounds" : "at least %s rounds", count);
}

static void say_head(struct writer *writer, uint32_t block)
{
	const struct procedure_cycles *procedure = writer->procedure;
	const struct flow_loops *loops = &procedure->loops;
	const struct cfg *cfg = &procedure->cfg;
	uint64_t vaddr = cfg->instructions[cfg->blocks[block].first].vaddr;
	uint32_t loop = loops->of_block[block];
	char rounds[2 * QUANTITY_SIZE] = "";
	bool before = vaddr < cfg->first;
	say_ways(writer, block, true);
	if (loop != FLOW_NO_LOOP && loops->list[loop].header == block) {
		char count[QUANTITY_SIZE];
		const struct estimate each = cfg_view_rounds(procedure, loop);
		rounds_text(&each, count);
		snprintf(rounds, sizeof(rounds), "  loop, depth %" PRIu32 ", %s",
			 loops->list[loop].depth, count);
	}
	say(writer, CFG_LINE_BOLD, "%c0x%" PRIx64 "%s%s", before ? '-' : '+',
	    before ? cfg->first - vaddr : vaddr - cfg->first,
	    cfg->parts[cfg->blocks[block].part].is_cold ? "  cold part" : "", rounds);
}

static void say_figures(struct writer *writer, uint32_t block)
{
	const struct procedure_cycles *procedure = writer->procedure;
	const struct frequency *frequency = &procedure->frequencies.blocks[block];
	const struct cycles_cost *cost = &procedure->blocks[block];
	char count[QUANTITY_SIZE], text[CFG_COST_TEXT], share[QUANTITY_SIZE];
	cfg_executions_text(procedure, writer->most_executed, frequency->value, count);
	cfg_cost_text(procedure, cost, text);
	cfg_share_text(cost->cycles, procedure->whole.cycles, share);
	say(writer, CFG_LINE_PLAIN, "%s %s (%s)", count, cfg_times_word(procedure),
	    cfg_confidence(frequency));
	say(writer, CFG_LINE_PLAIN, "%s; %s", text, share);
}

static void say_instructions(struct writer *writer, uint32_t block)
{
	const struct procedure_cycles *procedure = writer->procedure;
	const struct cfg_block *extent = &procedure->cfg.blocks[block];
	size_t most = writer->picture->instructions;
	uint32_t shown = most && extent->count > most ? (uint32_t)most : extent->count;
	char share[QUANTITY_SIZE];
	for (uint32_t i = extent->first; i < extent->first + shown; i++) {
		double cycles = procedure->instructions[i].cycles;
		const char *text = writer->picture->view->texts[i];
		cfg_share_text(cycles, procedure->whole.cycles, share);
		say(writer, CFG_LINE_PLAIN, "%7s  %s", cycles > 0 ? share : "", text);
	}
	if (shown < extent->count)
		say(writer, CFG_LINE_SMALL, "%7s  and %" PRIu32 " more instructions", "",
		    extent->count - shown);
}

static void say_foot(struct writer *writer, uint32_t block)
{
	const struct cfg_jump *jump = cfg_unknown_jump(&writer->procedure->cfg, block);
	uint32_t hidden = cfg_view_hidden_edges(writer->picture->view, block);
	say_ways(writer, block, false);
	if (jump)
		say(writer, CFG_LINE_WARN, "ways are missing: %s", cfg_missing_text(jump->missing));
	if (hidden)
		say(writer, CFG_LINE_SMALL, "%" PRIu32 " %s blocks that are not shown", hidden,
		    hidden == 1 ? "way from or to" : "ways from and to");
}

int cfg_cards_init(struct cfg_cards *cards, const struct cfg_picture *picture)
{
	const struct cfg_view *view = picture->view;
	*cards =
		(struct cfg_cards){ .list = calloc((size_t)view->count + 1, sizeof(*cards->list)) };
	if (!cards->list)
		return -ENOMEM;
	cards->count = view->count;
	double most_executed = cycles_most_executed(view->procedure);
	for (uint32_t i = 0; i < view->count; i++) {
		struct writer writer = { .picture = picture,
					 .procedure = view->procedure,
					 .most_executed = most_executed,
					 .card = &cards->list[i],
					 .arena = &cards->arena };
		say_head(&writer, view->blocks[i]);
		say_figures(&writer, view->blocks[i]);
		say_instructions(&writer, view->blocks[i]);
		say_foot(&writer, view->blocks[i]);
		if (writer.failed)
			return -ENOMEM;
	}
	return 0;
}

void cfg_cards_release(struct cfg_cards *cards)
{
	for (size_t i = 0; i < cards->count; i++)
		free(cards->list[i].lines);
	free(cards->list);
	arena_release(&cards->arena);
}
