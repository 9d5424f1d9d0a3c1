#include "render/cfg_svg.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/visible_text.h"
#include "render/cfg_cards.h"
#include "render/cfg_words.h"
#include "render/flame_colour.h"
#include "render/flame_palette.h"
#include "render/flame_text.h"
#include "render/graph_layout.h"
#include "render/listing_cycles.h"

#define MARGIN		16.0
#define LINE_HEIGHT	14.0
#define CHARACTER	6.62 /* of 11 px DejaVu Sans Mono; what is narrower leaves room */
#define HEAD_CHARACTER	6.6  /* of the 12 px above, at most on average */
#define TITLE_CHARACTER 10.5 /* of the 16 px of the title, likewise */
#define PADDING		8.0
#define LOOP_BAR	4.0 /* for each loop around a block */
#define MOST_BARS	8
#define LEAST_WIDTH	800.0
#define LEGEND_HEIGHT	96.0
#define SWATCH		46.0
#define WIDEST_LINE	5.0
#define ARROW		8.0 /* the height of its head */

static const struct layout_gaps gaps = { .across = 28, .down = 52, .line = 12 };

struct painter {
	const struct cfg_picture *picture;
	const struct procedure_cycles *procedure;
	struct flame_scale scale;
	struct cfg_cards cards;
	struct layout_box *boxes;
	struct layout_edge *edges;
	size_t *flow_edges; /* by edge of the layout: of the graph */
	size_t edge_count;
	struct graph_layout layout;
	double most;	      /* executions of the widest line */
	double most_executed; /* of the procedure's blocks */
	double head_width;    /* of the lines above */
};

static void painter_release(struct painter *painter)
{
	cfg_cards_release(&painter->cards);
	free(painter->boxes);
	free(painter->edges);
	free(painter->flow_edges);
	graph_layout_release(&painter->layout);
}

enum cfg_colour cfg_default_colour(const struct procedure_cycles *procedure)
{
	return procedure->scale == CYCLES_RELATIVE || isnan(procedure->whole.cpi)
		       ? CFG_COLOUR_CYCLES
		       : CFG_COLOUR_CPI;
}

/* ---- where things are */

static uint32_t bars_of(const struct painter *painter, uint32_t block)
{
	uint32_t loop = painter->procedure->loops.of_block[block];
	uint32_t depth = loop == FLOW_NO_LOOP ? 0 : painter->procedure->loops.list[loop].depth;
	return depth < MOST_BARS ? depth : MOST_BARS;
}

static int make_boxes(struct painter *painter)
{
	const struct cfg_view *view = painter->picture->view;
	painter->boxes = calloc((size_t)view->count + 1, sizeof(*painter->boxes));
	if (!painter->boxes || cfg_cards_init(&painter->cards, painter->picture) < 0)
		return -1;
	for (uint32_t i = 0; i < view->count; i++) {
		const struct cfg_card *card = &painter->cards.list[i];
		painter->boxes[i].width = 2 * PADDING +
					  LOOP_BAR * bars_of(painter, view->blocks[i]) +
					  CHARACTER * (double)card->columns;
		painter->boxes[i].height = PADDING + LINE_HEIGHT * (double)card->count;
	}
	return 0;
}

static int make_edges(struct painter *painter)
{
	const struct flow_graph *graph = &painter->procedure->cfg.graph;
	const struct cfg_view *view = painter->picture->view;
	painter->edges = calloc(graph->edge_count + 1, sizeof(*painter->edges));
	painter->flow_edges = calloc(graph->edge_count + 1, sizeof(*painter->flow_edges));
	if (!painter->edges || !painter->flow_edges)
		return -1;
	for (size_t e = 0; e < graph->edge_count; e++) {
		const struct flow_edge *edge = &graph->edges[e];
		double value = painter->procedure->frequencies.edges[e].value;
		if (edge->from == FLOW_OUTSIDE || edge->to == FLOW_OUTSIDE ||
		    view->position[edge->from] == CFG_NO_BLOCK ||
		    view->position[edge->to] == CFG_NO_BLOCK)
			continue;
		painter->flow_edges[painter->edge_count] = e;
		painter->edges[painter->edge_count++] =
			(struct layout_edge){ .from = view->position[edge->from],
					      .to = view->position[edge->to] };
		if (value > painter->most)
			painter->most = value;
	}
	return graph_layout_run(painter->boxes, view->count, painter->edges, painter->edge_count,
				&gaps, &painter->layout);
}

/* ---- style */

static void put_theme(struct buffer *out, const char *before, enum flame_theme theme)
{
	static const char *const inks[2][5] = {
		{ "#101418", "#59636e", "#ffffff", "#9a3412", "#1d4ed8" },
		{ "#f2f4f5", "#a3acb6", "#16181b", "#fdba74", "#93b4fd" },
	};
	const char *const *ink = inks[theme];
	buffer_printf(out,
		      "%s.page{fill:%s}\n%stext{fill:%s}\n%s.muted{fill:%s}\n"
		      "%s.warn{fill:%s;font-weight:600}\n%s.box{stroke:%s}\n%s.bar{fill:%s}\n"
		      "%s.way{stroke:%s}\n%s.head{fill:%s}\n%s.back{stroke:%s}\n"
		      "%s.backhead{fill:%s}\n%s.halo{stroke:%s}\n",
		      before, ink[2], before, ink[0], before, ink[1], before, ink[3], before,
		      ink[1], before, ink[0], before, ink[1], before, ink[1], before, ink[4],
		      before, ink[4], before, ink[2]);
	for (int c = 0; c < FLAME_CLASSES; c++)
		buffer_printf(out, "%s.%s{fill:#%06x}\n", before, flame_class_css(c),
			      flame_class_rgb(c, theme));
	buffer_printf(out, "%s.nv{fill:#%06x}\n", before,
		      flame_class_rgb(FLAME_CLASS_ABSENT, theme));
	buffer_printf(out, "%s.ground{fill:#%06x}\n%s.stroke{stroke:#%06x}\n", before,
		      flame_class_rgb(FLAME_CLASS_UNSURE, theme), before, flame_hatch_rgb(theme));
}

static void put_style(struct buffer *out)
{
	buffer_append_text(
		out,
		"<style>\n#culprit-cfg{font-family:system-ui,-apple-system,\"Segoe UI\",Roboto,"
		"\"DejaVu Sans\",sans-serif;font-size:12px}\n"
		".code text{font-family:\"DejaVu Sans Mono\",Menlo,Consolas,monospace;"
		"font-size:11px;white-space:pre}\n"
		".title{font-size:16px;font-weight:600}\n.bold{font-weight:700}\n"
		".small{font-style:italic}\n.box{stroke-width:1.2}\n"
		".unsure{stroke-dasharray:5 3}\n.way{fill:none}\n.bar{opacity:.45}\n"
		".figure{font-size:10px;paint-order:stroke}\n.halo{stroke-width:3}\n"
		".ns{fill:url(#hatch)}\n");
	put_theme(out, "#culprit-cfg ", FLAME_LIGHT);
	buffer_append_text(out, "@media (prefers-color-scheme:dark){\n");
	put_theme(out, "#culprit-cfg:not([data-theme=light]) ", FLAME_DARK);
	buffer_append_text(out, "}\n");
	put_theme(out, "#culprit-cfg[data-theme=dark] ", FLAME_DARK);
	buffer_append_text(
		out,
		"</style>\n<defs>\n"
		"<pattern id=\"hatch\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" "
		"patternTransform=\"rotate(45)\"><rect class=\"ground\" width=\"6\" height=\"6\"/>"
		"<path class=\"stroke\" d=\"M0 0v6\" stroke-width=\"3\"/></pattern>\n"
		"<marker id=\"arrow\" viewBox=\"0 0 8 8\" refX=\"0\" refY=\"4\" markerWidth=\"8\" "
		"markerHeight=\"8\" markerUnits=\"userSpaceOnUse\" orient=\"auto\">"
		"<path class=\"head\" d=\"M0 0.5L8 4L0 7.5z\"/></marker>\n"
		"<marker id=\"back\" viewBox=\"0 0 8 8\" refX=\"0\" refY=\"4\" markerWidth=\"8\" "
		"markerHeight=\"8\" markerUnits=\"userSpaceOnUse\" orient=\"auto\">"
		"<path class=\"backhead\" d=\"M0 0.5L8 4L0 7.5z\"/></marker>\n</defs>\n");
}

/* ---- drawing */

static void put_text(struct buffer *out, double x, double y, const char *class, const char *text)
{
	buffer_printf(out, "<text x=\"%.1f\" y=\"%.1f\"%s%s%s>", x, y, *class ? " class=\"" : "",
		      class, *class ? "\"" : "");
	flame_put_escaped(out, text, strlen(text));
	buffer_append_text(out, "</text>\n");
}

static struct estimate colour_value(const struct painter *painter, uint32_t block, double *samples)
{
	const struct cycles_cost *cost = &painter->procedure->blocks[block];
	double whole = painter->procedure->whole.cycles;
	*samples = -1;
	if (painter->picture->colour == CFG_COLOUR_CYCLES)
		return (struct estimate){ whole > 0 && !isnan(cost->cycles) ? ESTIMATE_VALUE
									    : ESTIMATE_ABSENT,
					  cost->cycles / whole, 0, 0 };
	*samples = cost->samples;
	if (isnan(cost->cpi))
		return (struct estimate){ ESTIMATE_ABSENT, 0, 0, 0 };
	if (isnan(cost->low) || isnan(cost->high))
		return (struct estimate){ ESTIMATE_VALUE, cost->cpi, 0, 0 };
	return (struct estimate){ ESTIMATE_INTERVAL, cost->cpi, cost->low, cost->high };
}

/* The intervals of a block's figures, which the box itself has no room for. */
static void put_block_title(const struct painter *painter, uint32_t block, struct buffer *out)
{
	const struct frequency *frequency = &painter->procedure->frequencies.blocks[block];
	const struct cycles_cost *cost = &painter->procedure->blocks[block];
	char low[QUANTITY_SIZE], high[QUANTITY_SIZE], interval[CYCLES_TEXT];
	buffer_append_text(out, "<title>");
	cfg_executions_text(painter->procedure, painter->most_executed, frequency->low, low);
	cfg_executions_text(painter->procedure, painter->most_executed, frequency->high, high);
	buffer_printf(out, "executions: confidence %s", cfg_confidence(frequency));
	if (!isnan(frequency->low) && !isnan(frequency->high)) {
		buffer_append_text(out, ", 95 % ");
		flame_put_escaped(out, low, strlen(low));
		buffer_append_text(out, " to ");
		flame_put_escaped(out, high, strlen(high));
	}
	cycles_text_interval(cost->low, cost->high, interval);
	if (strcmp(interval, "-") != 0)
		buffer_printf(out, "\n%s: 95 %% %s",
			      cfg_is_relative(painter->procedure) ? "relative cost" : "CPI",
			      interval);
	cfg_count_text(cost->samples, low);
	buffer_printf(out, "\nsamples: %s</title>", low);
}

static void put_block(struct painter *painter, uint32_t position, struct buffer *out)
{
	static const char *const styles[] = { [CFG_LINE_PLAIN] = "",
					      [CFG_LINE_BOLD] = "bold",
					      [CFG_LINE_SMALL] = "small",
					      [CFG_LINE_WARN] = "warn" };
	const struct layout_box *box = &painter->boxes[position];
	const struct cfg_card *card = &painter->cards.list[position];
	uint32_t block = painter->picture->view->blocks[position];
	const struct frequency *frequency = &painter->procedure->frequencies.blocks[block];
	double samples;
	struct estimate value = colour_value(painter, block, &samples);
	bool unsure = isnan(frequency->value) || frequency->confidence == FREQUENCY_LOW;
	uint32_t bars = bars_of(painter, block);
	buffer_append_text(out, "<g class=\"block\">");
	put_block_title(painter, block, out);
	buffer_printf(out,
		      "<rect class=\"box %s%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
		      "height=\"%.1f\" rx=\"3\"/>\n",
		      flame_class_css(flame_class(&painter->scale, value, samples)),
		      unsure ? " unsure" : "", box->x, box->y, box->width, box->height);
	for (uint32_t i = 0; i < bars; i++)
		buffer_printf(out,
			      "<rect class=\"bar\" x=\"%.1f\" y=\"%.1f\" width=\"2\" "
			      "height=\"%.1f\"/>\n",
			      box->x + 2 + LOOP_BAR * i, box->y + 2, box->height - 4);
	for (size_t i = 0; i < card->count; i++)
		put_text(out, box->x + PADDING + LOOP_BAR * bars,
			 box->y + PADDING / 2 + LINE_HEIGHT * (double)(i + 1) - 3,
			 styles[card->lines[i].style], card->lines[i].text);
	buffer_append_text(out, "</g>\n");
}

static void put_path(const struct layout_edge *edge, struct buffer *out)
{
	const struct layout_point *points = edge->points;
	buffer_printf(out, "M%.1f %.1f", points[0].x, points[0].y);
	for (size_t i = 1; i < edge->point_count; i++) {
		const struct layout_point *from = &points[i - 1], *to = &points[i];
		/* the head of the arrow is behind the end */
		double y = to->y - (i + 1 == edge->point_count ? ARROW : 0);
		if (i % 2)
			buffer_printf(out, "V%.1f", y);
		else
			buffer_printf(out, "C%.1f %.1f %.1f %.1f %.1f %.1f", from->x,
				      from->y + from->pull, to->x, y + to->pull, to->x, y);
	}
}

static const char *edge_words(enum flow_edge_kind kind)
{
	return kind == FLOW_NEXT     ? "not taken, or no branch"
	       : kind == FLOW_BRANCH ? "branch"
				     : "jump table";
}

static void put_edge(struct painter *painter, size_t number, struct buffer *out)
{
	const struct layout_edge *edge = &painter->edges[number];
	const struct procedure_cycles *procedure = painter->procedure;
	const struct flow_edge *flow = &procedure->cfg.graph.edges[painter->flow_edges[number]];
	const struct frequency *frequency =
		&procedure->frequencies.edges[painter->flow_edges[number]];
	double block = procedure->frequencies.blocks[flow->from].value;
	bool unsure = isnan(frequency->value) || frequency->confidence == FREQUENCY_LOW;
	double width = frequency->value > 0
			       ? 1 + (WIDEST_LINE - 1) * sqrt(frequency->value / painter->most)
			       : 0.8;
	char count[QUANTITY_SIZE], share[QUANTITY_SIZE], words[4 * QUANTITY_SIZE];
	cfg_executions_text(procedure, painter->most_executed, frequency->value, count);
	cfg_share_text(frequency->value, block, share);
	snprintf(words, sizeof(words), "%s: %s %s (%s), %s of the block's", edge_words(flow->kind),
		 count, cfg_times_word(procedure), cfg_confidence(frequency), share);
	buffer_append_text(out, "<g class=\"edge\"><title>");
	flame_put_escaped(out, words, strlen(words));
	buffer_printf(out,
		      "</title><path class=\"way%s%s\" marker-end=\"url(#%s)\" "
		      "stroke-width=\"%.2f\" d=\"",
		      edge->is_back ? " back" : "", unsure ? " unsure" : "",
		      edge->is_back ? "back" : "arrow", width);
	put_path(edge, out);
	buffer_append_text(out, "\"/></g>\n");
	/* one way out alone says nothing new */
	if (flow_graph_out_of(&procedure->cfg.graph, flow->from).count > 1)
		put_text(out, edge->points[1].x + 4, edge->points[1].y + 11, "figure halo muted",
			 procedure->scale == CYCLES_ABSOLUTE ? count : share);
}

/* ---- around it */

static void put_head_text(struct painter *painter, double y, const char *class, double character,
			  const char *text, struct buffer *out)
{
	CLEANUP(buffer_release) struct buffer safe = { 0 }; /* what is measured is what is shown */
	text_append_safe(&safe, text, strlen(text));
	double width = character * (double)flame_text_length((const char *)safe.data, safe.size);
	painter->head_width = fmax(painter->head_width, width);
	put_text(out, MARGIN, y, class, buffer_text(&safe));
}

static void put_head_line(struct painter *painter, double y, const char *class, const char *text,
			  struct buffer *out)
{
	put_head_text(painter, y, class, HEAD_CHARACTER, text, out);
}

static double put_head(struct painter *painter, struct buffer *out)
{
	const struct cfg_picture *picture = painter->picture;
	const struct procedure_cycles *procedure = painter->procedure;
	const struct cfg_view *view = picture->view;
	const struct procedure *of = procedure->procedure->procedure;
	const char *const *notes;
	size_t count = cycles_notes(procedure->cycles, &notes);
	char share[QUANTITY_SIZE], cpi[CYCLES_TEXT], line[512];
	double y = MARGIN + 14;
	painter->head_width = 0;
	put_head_text(painter, y, "title", TITLE_CHARACTER, of->name, out);
	snprintf(line, sizeof(line), "control flow in %s, of %s; samples of '%s', processor %s",
		 procedure->procedure->image_name, picture->source, picture->event,
		 procedure->pipeline->name);
	put_head_line(painter, y += 18, "muted", line, out);
	cycles_text_cpi(procedure->whole.cpi, cpi);
	cfg_count_text(procedure->whole.samples, share);
	snprintf(line, sizeof(line), "%" PRIu32 " blocks, %zu ways; %s samples; %s%s%s",
		 procedure->cfg.graph.block_count, procedure->cfg.graph.edge_count, share,
		 cfg_is_relative(procedure) ? "no CPI: costs are relative, 1 on average" : "CPI ",
		 cfg_is_relative(procedure) ? "" : cpi,
		 procedure->cfg.graph.missing_edges ? "; ways are missing, see the marked blocks"
						    : "");
	put_head_line(painter, y += 15, "muted", line, out);
	if (view->count + view->padding < procedure->cfg.graph.block_count) {
		cfg_share_text(view->hidden_share, 1, share);
		snprintf(line, sizeof(line),
			 "shown: the %" PRIu32 " blocks with most cycles and around them; the "
			 "others have %s of the cycles",
			 view->count, share);
		put_head_line(painter, y += 15, "warn", line, out);
	}
	for (size_t i = 0; i < count; i++)
		put_head_line(painter, y += 15, "muted", notes[i], out);
	return y + 12;
}

static void put_swatches(const struct painter *painter, double y, struct buffer *out)
{
	struct flame_legend legend;
	bool cpi = painter->picture->colour == CFG_COLOUR_CPI;
	flame_legend_init(&legend, &painter->scale, (struct span){ "cycles", 6 },
			  (struct span){ "cycles of the procedure", 23 });
	put_text(out, MARGIN, y, "",
		 cpi ? legend.title : "colour: the block's share of the procedure's cycles");
	for (int i = 0; i < FLAME_CLASSES; i++) {
		int class = flame_scale_range_class(&painter->scale, i);
		double x = MARGIN + SWATCH * i;
		buffer_printf(out,
			      "<rect class=\"%s\" x=\"%.0f\" y=\"%.0f\" width=\"%.0f\" "
			      "height=\"12\"/>\n",
			      flame_class_css(class), x, y + 6, SWATCH);
		if (i + 1 == FLAME_CLASSES)
			continue;
		char tick[FLAME_LEGEND_TEXT];
		double edge = flame_scale_edge(&painter->scale, i);
		if (cpi)
			snprintf(tick, sizeof(tick), "%.2g", edge);
		else
			snprintf(tick, sizeof(tick), "%.2g %%", 100 * edge);
		buffer_printf(out,
			      "<text class=\"muted\" x=\"%.0f\" y=\"%.0f\" font-size=\"9\" "
			      "text-anchor=\"middle\">%s</text>\n",
			      x + SWATCH, y + 28, tick);
	}
	if (cpi)
		put_text(out, MARGIN + SWATCH * FLAME_CLASSES + 12, y + 16, "muted",
			 "hatched: too few samples; grey: not known");
}

static void put_legend(const struct painter *painter, double y, struct buffer *out)
{
	static const char *const scales[] = {
		[CYCLES_RELATIVE] =
			"relative: 1 is the most executed block, and the average instruction",
		[CYCLES_PROGRAM] = "executions and CPI are relative: for this profile",
		[CYCLES_BY_CLOCK] = "CPI is absolute; executions are divided by the clock's GHz",
		[CYCLES_ABSOLUTE] = "executions and CPI are absolute",
	};
	put_swatches(painter, y, out);
	put_text(out, MARGIN, y + 46, "muted", scales[painter->procedure->scale]);
	put_text(out, MARGIN, y + 61, "muted",
		 "dashed: of low confidence; wider: more executions; arrows that lead up close "
		 "loops; a bar for each loop around a block");
	put_text(out, MARGIN, y + 76, "muted",
		 "beside each instruction: its share of the procedure's cycles");
}

static double page_width(const struct painter *painter)
{
	double width = painter->layout.width + 60; /* figures beside the last lines */
	return 2 * MARGIN + fmax(fmax(width, painter->head_width), LEAST_WIDTH);
}

static void paint(struct painter *painter, struct buffer *out)
{
	CLEANUP(buffer_release) struct buffer head = { 0 };
	double top = put_head(painter, &head), width = page_width(painter);
	double height = top + painter->layout.height + LEGEND_HEIGHT;
	buffer_printf(out,
		      "<svg xmlns=\"http://www.w3.org/2000/svg\" id=\"culprit-cfg\" "
		      "width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\">\n<title>",
		      width, height, width, height);
	const char *name = painter->procedure->procedure->procedure->name;
	flame_put_escaped(out, name, strlen(name));
	buffer_append_text(out, "</title>\n");
	put_style(out);
	buffer_append_text(out, "<rect class=\"page\" width=\"100%\" height=\"100%\"/>\n");
	buffer_append(out, head.data, head.size);
	buffer_printf(out, "<g class=\"code\" transform=\"translate(%.0f %.0f)\">\n", MARGIN, top);
	for (size_t e = 0; e < painter->edge_count; e++)
		put_edge(painter, e, out);
	for (uint32_t i = 0; i < painter->picture->view->count; i++)
		put_block(painter, i, out);
	buffer_append_text(out, "</g>\n");
	put_legend(painter, top + painter->layout.height + 14, out);
	buffer_append_text(out, "</svg>\n");
	out->failed |= buffer_failed(&head);
}

void cfg_svg(const struct cfg_picture *picture, struct buffer *out)
{
	CLEANUP(painter_release)
	struct painter painter = { .picture = picture, .procedure = picture->view->procedure };
	painter.most_executed = cycles_most_executed(painter.procedure);
	painter.scale = flame_scale_of(FLAME_CPI);
	if (picture->colour == CFG_COLOUR_CYCLES)
		painter.scale = (struct flame_scale){ .metric = FLAME_RATIO,
						      .low = 0.005,
						      .middle = 0.05,
						      .high = 0.5,
						      .has_scale = true };
	if (make_boxes(&painter) < 0 || make_edges(&painter) < 0) {
		out->failed = true;
		return;
	}
	paint(&painter, out);
}
