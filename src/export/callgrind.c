#include "export/callgrind.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "export/estimates.h"
#include "export/figure.h"
#include "export/origins.h"
#include "export/sink.h"

#define MOST_TOTAL 9007199254740992.0 /* 2^53: above that a double no longer counts by one */
#define NAME_BYTES 64		      /* of an event's name; longer ones are cut */
#define NO_IMAGE   UINT32_MAX

/* The columns that are estimates; behind them stand the profile's other events. */
enum fixed_column { COLUMN_EXECUTIONS, COLUMN_TIME, COLUMN_STALLS, FIXED_COLUMNS };

/* Counts of events are written as whole numbers that add up: the rest of rounding is added to the
 * next line. */
struct cost_column {
	char name[NAME_BYTES];
	size_t event;	  /* of the profile's other events: column in the index */
	double exact;	  /* sum so far */
	uint64_t written; /* sum of the whole numbers so far */
};

struct writer {
	const struct estimates *estimates;
	struct sink *sink;
	struct cost_column *columns;
	size_t column_count;
	double *costs; /* of one line, by column */
	struct origins origins;
	bool *image_written; /* by id */
	uint32_t image;	     /* that the next line is in, or NO_IMAGE */
	uint32_t own_file;   /* of the procedure */
	uint32_t file;	     /* that the next line is in */
	uint64_t procedures; /* written so far, which is the number of the last one's name */
	uint64_t without_code;
};

static void writer_release(struct writer *writer)
{
	free(writer->columns);
	free(writer->costs);
	free(writer->image_written);
	origins_release(&writer->origins);
}

/* ---- lines */

static void append_position(struct buffer *out, uint64_t vaddr, uint32_t line)
{
	buffer_append_text(out, "0x");
	char digits[17];
	snprintf(digits, sizeof(digits), "%" PRIx64, vaddr);
	buffer_append_text(out, digits);
	buffer_append_u8(out, ' ');
	buffer_append_decimal(out, line);
}

/* Adds `value` to the column and returns how much of its whole sum is not written yet; of
 * executions the value itself, so that a block's instructions agree. */
static uint64_t whole_part(struct cost_column *column, bool executions, double value)
{
	column->exact += value;
	if (column->exact >= MOST_TOTAL || !(value > 0))
		return 0; /* the first is reported at the end */
	uint64_t whole = (uint64_t)llround(column->exact);
	uint64_t left = executions		  ? (uint64_t)llround(value)
			: whole > column->written ? whole - column->written
						  : 0;
	column->written += left;
	return left;
}

/* Writes that the next lines are of this file, unless they are already. */
static void enter_file(struct writer *writer, uint32_t file)
{
	if (file != writer->file)
		origins_append_file(&writer->origins, file == writer->own_file ? "fe" : "fi", file,
				    &writer->sink->buffer);
	writer->file = file;
}

/* Writes the line of writer->costs; none when all are 0. */
static void append_costs(struct writer *writer, uint64_t vaddr, const struct origin *origin)
{
	struct buffer *out = &writer->sink->buffer;
	size_t last = 0, zeros = 0;
	for (size_t c = 0; c < writer->column_count; c++)
		if (writer->costs[c] > 0)
			last = c + 1;
	if (!last)
		return;
	enter_file(writer, origin->file);
	append_position(out, vaddr, origin->line);
	for (size_t c = 0; c < last; c++) {
		uint64_t whole =
			whole_part(&writer->columns[c], c == COLUMN_EXECUTIONS, writer->costs[c]);
		if (!whole && c) { /* zeros at the end are left out */
			zeros++;
			continue;
		}
		for (; zeros; zeros--)
			buffer_append_text(out, " 0");
		buffer_append_u8(out, ' ');
		buffer_append_decimal(out, whole);
	}
	buffer_append_u8(out, '\n');
}

static double events_of(const struct writer *writer, size_t column, const struct cell *cell)
{
	return (double)cell->estimate /
	       event_column_divisor(&writer->estimates->index->columns->list[column]);
}

/* Adds the counts of the profile's events at an address to writer->costs; that of the time event
 * only with `raw_time`. */
static void add_samples(struct writer *writer, const struct annotate_sample *samples, size_t count,
			uint64_t vaddr, bool raw_time)
{
	size_t time = cycles_events(writer->estimates->cycles)->time;
	for (size_t i = 0; i < count && samples[i].vaddr == vaddr; i++) {
		double events = events_of(writer, samples[i].column, &samples[i].cell);
		if (samples[i].column == time && raw_time)
			writer->costs[COLUMN_TIME] += events;
		for (size_t c = FIXED_COLUMNS; c < writer->column_count; c++)
			if (writer->columns[c].event == samples[i].column)
				writer->costs[c] += events;
	}
}

static void clear_costs(struct writer *writer)
{
	memset(writer->costs, 0, writer->column_count * sizeof(*writer->costs));
}

/* ---- the instructions of a procedure */

/* A list of samples by address, read from its start on. */
struct sample_reader {
	const struct annotate_sample *samples;
	size_t count, next;
};

static struct sample_reader reader_of(const struct annotate_procedure *procedure)
{
	return procedure ? (struct sample_reader){ procedure->samples, procedure->sample_count, 0 }
			 : (struct sample_reader){ NULL, 0, 0 };
}

/* Writes the lines of sampled addresses below `end`, which are not the start of an instruction. */
static int append_addresses(struct writer *writer, struct sample_reader *reader, uint32_t image,
			    uint64_t end)
{
	int ret = 0;
	while (ret == 0 && reader->next < reader->count &&
	       reader->samples[reader->next].vaddr < end) {
		const struct annotate_sample *first = &reader->samples[reader->next];
		struct origin origin;
		ret = origins_find(&writer->origins, image, first->vaddr, DEPTH_INNERMOST, &origin);
		clear_costs(writer);
		add_samples(writer, first, reader->count - reader->next, first->vaddr, true);
		if (ret == 0)
			append_costs(writer, first->vaddr, &origin);
		while (reader->next < reader->count &&
		       reader->samples[reader->next].vaddr == first->vaddr)
			reader->next++;
	}
	return ret;
}

static void set_estimates(struct writer *writer, const struct procedure_cycles *procedure,
			  uint32_t i)
{
	const struct cycles_cost *cost = &procedure->instructions[i];
	double stall = cost->cycles - cost->best_cycles;
	clear_costs(writer);
	if (cost->executed > 0)
		writer->costs[COLUMN_EXECUTIONS] = cost->executed;
	if (cost->cycles > 0)
		writer->costs[COLUMN_TIME] = cost->cycles;
	if (stall > 0)
		writer->costs[COLUMN_STALLS] = stall;
}

static int append_jump(struct writer *writer, const struct procedure_cycles *procedure,
		       uint32_t edge, const struct origin *origins)
{
	struct buffer *out = &writer->sink->buffer;
	const struct flow_edge *flow = &procedure->cfg.graph.edges[edge];
	const struct cfg_block *from = &procedure->cfg.blocks[flow->from];
	uint32_t source = from->first + from->count - 1;
	uint32_t target = procedure->cfg.blocks[flow->to].first;
	bool conditional = procedure->cfg.instructions[source].kind == INSTRUCTION_CONDITIONAL;
	double all = procedure->frequencies.blocks[flow->from].value;
	double taken = procedure->frequencies.edges[edge].value;
	if (!(taken >= 0 && all >= 0.5 && all < MOST_TOTAL) || (!conditional && taken < 0.5))
		return 0; /* not known, or never there */
	taken = fmin(taken, all);
	enter_file(writer, origins[source].file);
	if (origins[target].file != writer->file)
		origins_append_file(&writer->origins, "jfi", origins[target].file,
				    &writer->sink->buffer);
	if (conditional)
		buffer_printf(out, "jcnd=%lld/%lld ", llround(taken), llround(all));
	else
		buffer_printf(out, "jump=%lld ", llround(taken));
	append_position(out, procedure->cfg.instructions[target].vaddr, origins[target].line);
	buffer_append_u8(out, '\n');
	append_position(out, procedure->cfg.instructions[source].vaddr, origins[source].line);
	buffer_append_u8(out, '\n');
	return sink_flush_some(writer->sink);
}

static int append_jumps(struct writer *writer, const struct procedure_cycles *procedure,
			uint32_t block, const struct origin *origins)
{
	const struct flow_graph *graph = &procedure->cfg.graph;
	struct flow_ends ends = flow_graph_out_of(graph, block);
	int ret = 0;
	for (size_t i = 0; ret == 0 && i < ends.count; i++) {
		enum flow_edge_kind kind = graph->edges[ends.list[i]].kind;
		if (kind == FLOW_BRANCH || kind == FLOW_INDIRECT)
			ret = append_jump(writer, procedure, ends.list[i], origins);
	}
	return ret;
}

/* Writes the instructions of a procedure. They and the samples of both parts are sorted by address;
 * the cold part lies before or behind the other one as a whole. */
static int append_code(struct writer *writer, const struct procedure_cycles *procedure,
		       struct origin *origins)
{
	const struct cfg *cfg = &procedure->cfg;
	uint32_t image = procedure->procedure->procedure->image;
	struct sample_reader readers[] = { reader_of(procedure->procedure),
					   reader_of(procedure->cold) };
	int ret = 0;
	for (uint32_t i = 0; ret == 0 && i < cfg->instruction_count; i++)
		ret = origins_find(&writer->origins, image, cfg->instructions[i].vaddr,
				   DEPTH_INNERMOST, &origins[i]);
	for (uint32_t b = 0; ret == 0 && b < cfg->graph.block_count; b++) {
		const struct cfg_block *block = &cfg->blocks[b];
		for (uint32_t i = block->first; ret == 0 && i < block->first + block->count; i++) {
			uint64_t vaddr = cfg->instructions[i].vaddr;
			for (size_t r = 0; ret == 0 && r < 2; r++)
				ret = append_addresses(writer, &readers[r], image, vaddr);
			set_estimates(writer, procedure, i);
			for (size_t r = 0; r < 2; r++) {
				struct sample_reader *reader = &readers[r];
				if (reader->next < reader->count)
					add_samples(writer, reader->samples + reader->next,
						    reader->count - reader->next, vaddr, false);
				while (reader->next < reader->count &&
				       reader->samples[reader->next].vaddr == vaddr)
					reader->next++;
			}
			append_costs(writer, vaddr, &origins[i]);
			if (ret == 0)
				ret = sink_flush_some(writer->sink);
		}
		if (ret == 0)
			ret = append_jumps(writer, procedure, b, origins);
	}
	for (size_t r = 0; ret == 0 && r < 2; r++)
		ret = append_addresses(writer, &readers[r], image, UINT64_MAX);
	return ret;
}

static int append_procedure(struct writer *writer, const struct annotate_procedure *annotated,
			    const struct procedure_cycles *procedure)
{
	struct buffer *out = &writer->sink->buffer;
	const struct procedure *of = annotated->procedure;
	struct sample_reader reader = reader_of(annotated);
	struct origin own;
	if (of->image != writer->image) {
		buffer_printf(out, "\nob=(%" PRIu32 ")", of->image + 1);
		if (!writer->image_written[of->image])
			buffer_printf(out, " %s", writer->estimates->images.names[of->image]);
		buffer_append_u8(out, '\n');
		writer->image_written[of->image] = true;
		writer->image = of->image;
	}
	int ret = origins_find(&writer->origins, of->image,
			       of->extent_known ? of->first
			       : reader.count	? reader.samples[0].vaddr
						: 0,
			       DEPTH_OUTERMOST, &own);
	if (ret < 0)
		return ret;
	buffer_append_u8(out, '\n');
	if (procedure)
		buffer_printf(out, "# scale: %s\n", estimates_scale(procedure));
	origins_append_file(&writer->origins, "fl", own.file, &writer->sink->buffer);
	writer->own_file = writer->file = own.file;
	buffer_printf(out, "fn=(%" PRIu64 ") ", ++writer->procedures);
	estimates_append_text(out, span_of_text(of->name));
	buffer_append_u8(out, '\n');
	if (!procedure)
		return append_addresses(writer, &reader, of->image, UINT64_MAX);
	CLEANUP(free_pointer)
	struct origin *origins = calloc(procedure->cfg.instruction_count + 1, sizeof(*origins));
	return origins ? append_code(writer, procedure, origins) : -ENOMEM;
}

/* ---- the whole file */

static bool is_named(const struct writer *writer, const char *name)
{
	for (size_t c = 0; c < writer->column_count; c++)
		if (strcmp(writer->columns[c].name, name) == 0)
			return true;
	return false;
}

/* Makes an event's name of letters, digits and '_', which all readers accept; '_' is added while
 * another event has the name. */
static void name_event(const struct writer *writer, struct span event, char *name)
{
	size_t size = 0;
	for (size_t i = 0; i < event.size && size < NAME_BYTES / 2; i++) {
		char c = ((const char *)event.data)[i];
		bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
			     (c >= '0' && c <= '9' && size);
		name[size++] = plain ? c : '_';
	}
	name[size] = 0;
	while (is_named(writer, name) && size + 1 < NAME_BYTES) {
		name[size++] = '_';
		name[size] = 0;
	}
}

static int make_columns(struct writer *writer)
{
	const struct event_columns *events = writer->estimates->index->columns;
	const struct cycles_events *chosen = cycles_events(writer->estimates->cycles);
	static const char *const fixed[][FIXED_COLUMNS] = { { "Ir", "Cycles", "Stalls" },
							    { "Ir", "Ns", "StallNs" } };
	writer->columns = calloc(events->count + FIXED_COLUMNS, sizeof(*writer->columns));
	writer->costs = calloc(events->count + FIXED_COLUMNS, sizeof(*writer->costs));
	if (!writer->columns || !writer->costs)
		return -ENOMEM;
	for (size_t c = 0; c < FIXED_COLUMNS; c++) {
		snprintf(writer->columns[c].name, NAME_BYTES, "%s",
			 fixed[chosen->time_is_clock][c]);
		writer->columns[c].event = CYCLES_NO_COLUMN;
	}
	writer->column_count = FIXED_COLUMNS;
	for (size_t e = 0; e < events->count; e++) {
		if (e == chosen->time)
			continue;
		struct cost_column *column = &writer->columns[writer->column_count];
		name_event(writer, events->list[e].name, column->name);
		column->event = e;
		writer->column_count++;
	}
	return 0;
}

static void append_header(const struct writer *writer)
{
	const struct estimates *estimates = writer->estimates;
	const struct profile *profile = estimates->input->profile;
	struct buffer *out = &writer->sink->buffer;
	bool clock = cycles_events(estimates->cycles)->time_is_clock;
	buffer_append_text(out, "# callgrind format\nversion: 1\ncreator: culprit\n");
	struct span command = { NULL, 0 };
	if (profile_table(profile, PROFILE_SOURCE)->count == 1)
		command = profile_source(profile, 0).command;
	if (command.size) {
		buffer_append_text(out, "cmd: ");
		estimates_append_text(out, command);
		buffer_append_u8(out, '\n');
	}
	estimates_append_notes(estimates, "desc: Note: ", out);
	buffer_append_text(out, "positions: instr line\n"
				"event: Ir : Instructions executed, estimated\n");
	buffer_append_text(out, clock ? "event: Ns : CPU time in ns\n"
					"event: StallNs : CPU time above the best case\n"
				      : "event: Cycles : Cycles\n"
					"event: Stalls : Cycles above the best case\n");
	buffer_append_text(out, "events:");
	for (size_t c = 0; c < writer->column_count; c++)
		buffer_printf(out, " %s", writer->columns[c].name);
	buffer_append_u8(out, '\n');
}

static int write_procedures(struct writer *writer, struct error *err)
{
	const struct estimates *estimates = writer->estimates;
	int ret = 0;
	for (size_t i = 0; ret == 0 && i < estimates->count; i++) {
		CLEANUP(procedure_cycles_freep) struct procedure_cycles *procedure = NULL;
		ret = estimates_procedure(estimates, i, &procedure, err);
		if (ret < 0)
			return ret;
		ret = append_procedure(writer, &estimates->index->procedures[estimates->order[i]],
				       procedure);
		writer->without_code += !procedure;
		if (ret == -ENOMEM)
			return error_set(err, ret, "out of memory writing procedures");
	}
	return ret;
}

static int append_totals(const struct writer *writer, struct error *err)
{
	struct buffer *out = &writer->sink->buffer;
	if (writer->without_code)
		buffer_printf(out,
			      "\n# %" PRIu64 " procedures have no known code: their Ir is not "
			      "known, and no 0\n",
			      writer->without_code);
	buffer_append_text(out, "\ntotals:");
	for (size_t c = 0; c < writer->column_count; c++) {
		if (writer->columns[c].exact >= MOST_TOTAL)
			return error_set(err, -EOVERFLOW,
					 "the sum of '%s' is more than 2^53, too large to be "
					 "counted by one",
					 writer->columns[c].name);
		buffer_append_u8(out, ' ');
		figure_append_u64(out, writer->columns[c].written);
	}
	buffer_append_u8(out, '\n');
	return 0;
}

static int write_callgrind(const struct export_input *input, struct sink *sink,
			   struct export_sums *sums, struct error *err)
{
	CLEANUP(estimates_release) struct estimates estimates;
	CLEANUP(writer_release)
	struct writer writer = { .estimates = &estimates, .sink = sink, .image = NO_IMAGE };
	int ret = estimates_init(&estimates, input, err);
	if (ret < 0)
		return ret;
	for (size_t i = 0; i < input->chosen_count; i++)
		sums[i] = (struct export_sums){ .has_stacks = false };
	size_t images = profile_table(input->profile, PROFILE_IMAGE)->count;
	writer.image_written = calloc(images + 1, sizeof(*writer.image_written));
	if (!writer.image_written || make_columns(&writer) < 0 ||
	    origins_init(&writer.origins, input->resolver) < 0)
		return error_set(err, -ENOMEM, "out of memory writing procedures");
	append_header(&writer);
	ret = write_procedures(&writer, err);
	return ret == 0 ? append_totals(&writer, err) : ret;
}

const struct exporter exporter_callgrind = {
	.name = "callgrind",
	.what = "costs of instructions, estimated, for KCachegrind",
	.most_events = EXPORT_ANY_EVENTS,
	.of_code = true,
	.write = write_callgrind,
};
