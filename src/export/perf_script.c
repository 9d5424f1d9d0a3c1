#include "export/perf_script.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "analyze/names/resolve.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/visible_text.h"
#include "export/dso.h"
#include "export/figure.h"
#include "export/sink.h"
#include "export/stacks.h"

/* The kernel gives no PID above (PID_MAX_LIMIT): those stand for PIDs that were not kept. */
#define FIRST_MADE_UP_PID 4194305u

enum blocks { ONE_PER_STACK, ONE_PER_SAMPLE };

/* Where the lines of a frame are in `frames` below; size 0: not spelled yet. */
struct piece {
	size_t at, size;
};

struct writer {
	const struct export_input *input;
	struct stacks *stacks;
	struct sink *sink;
	enum blocks blocks;
	struct dso_names dsos;
	struct buffer frames;	  /* the lines of frames, each frame once */
	struct piece *pieces;	  /* by number of the frame */
	struct buffer head, body; /* of the block that is being written */
};

static void writer_release(struct writer *writer)
{
	dso_names_release(&writer->dsos);
	buffer_release(&writer->frames);
	free(writer->pieces);
	buffer_release(&writer->head);
	buffer_release(&writer->body);
}

static void append_line(struct buffer *out, struct span text)
{
	text_append_safe(out, text.data, text.size);
}

/* Appends text as one word: '_' for blanks, which would end it. */
static void append_word(struct buffer *out, struct span text)
{
	size_t from = out->size;
	append_line(out, text);
	for (size_t i = from; i < out->size; i++)
		if (out->data[i] == ' ')
			out->data[i] = '_';
}

/* ---- the head of the file */

static void append_fact(struct buffer *out, const char *key, struct span text)
{
	if (!text.size)
		return;
	buffer_printf(out, "# %s : ", key);
	append_line(out, text);
	buffer_append_u8(out, '\n');
}

/* The header of perf's own text, by which readers recognise the format. Facts are written only when
 * there is one source. */
static void write_header(struct writer *writer)
{
	const struct profile *profile = writer->input->profile;
	struct buffer *out = &writer->sink->buffer;
	struct profile_source source = { 0 };
	char date[64] = "unknown";
	struct tm parts;
	if (profile_table(profile, PROFILE_SOURCE)->count == 1)
		source = profile_source(profile, 0);
	time_t start = (time_t)(source.start_ns / 1000000000u);
	if (start && gmtime_r(&start, &parts))
		strftime(date, sizeof(date), "%a %b %e %H:%M:%S %Y", &parts);
	buffer_printf(out, "# ========\n# captured on    : %s\n", date);
	append_fact(out, "hostname", source.host);
	append_fact(out, "os release", source.kernel);
	append_fact(out, "arch", source.machine);
	if (source.cpus)
		buffer_printf(out, "# nrcpus online : %" PRIu64 "\n", source.cpus);
	append_fact(out, "cpudesc", source.cpu_name);
	append_fact(out, "cmdline", source.command);
	for (size_t c = 0; c < writer->input->chosen_count; c++) {
		const struct event_column *event =
			&writer->input->columns->list[writer->input->chosen[c]];
		if (!event->scale)
			continue;
		buffer_printf(out, "# periods : in steps of 10^-%" PRIu64 " of ", event->scale);
		append_line(out, event->name);
		buffer_append_u8(out, '\n');
	}
	buffer_append_text(out, "# ========\n#\n");
}

/* ---- blocks */

static uint64_t number_of(const struct writer *writer, uint64_t optional, uint32_t context)
{
	if (optional != OPTIONAL_ABSENT)
		return optional - 1;
	return writer->blocks == ONE_PER_SAMPLE ? FIRST_MADE_UP_PID + (uint64_t)context : 0;
}

/* "gcc 12/13 [003] " */
static void spell_head(struct writer *writer, uint32_t id)
{
	struct profile_context context = { 0 };
	struct buffer *head = &writer->head;
	if (id)
		context = profile_context(writer->input->profile, id);
	uint64_t pid = number_of(writer, context.pid, id);
	uint64_t tid = context.tid == OPTIONAL_ABSENT ? pid : context.tid - 1;
	struct span command = profile_context_command(&context);
	buffer_empty(head);
	if (command.size)
		append_line(head, command);
	else
		buffer_append_text(head, "[unknown]");
	buffer_printf(head, "  %" PRIu64 "/%" PRIu64 " ", pid, tid);
	if (context.cpu != OPTIONAL_ABSENT)
		buffer_printf(head, "[%03" PRIu64 "] ", context.cpu - 1);
}

/* The inlined functions at a place, innermost first, as perf marks them. */
static void spell_inlined(struct writer *writer, const struct place *place)
{
	const struct source_frame *sources;
	size_t count = resolver_source(writer->input->resolver, place, &sources);
	for (size_t i = 0; i < count; i++) {
		if (!sources[i].function)
			continue;
		buffer_printf(&writer->frames, "\t%16" PRIx64 " ", place->vaddr);
		append_line(&writer->frames, span_of_text(sources[i].function));
		buffer_append_text(&writer->frames, " (inlined)\n");
	}
}

/* Whether a name ends like perf's own offset. Readers would cut that off, so another one follows
 * it. */
static bool ends_in_offset(const char *name)
{
	const char *plus = strrchr(name, '+');
	return plus && strncmp(plus, "+0x", 3) == 0 && plus[3] &&
	       strspn(plus + 3, "0123456789abcdef") == strlen(plus + 3);
}

static void spell_frame(struct writer *writer, const struct stack_frame *frame)
{
	const struct procedure *procedure = frame->place->procedure;
	struct buffer *body = &writer->frames;
	const char *dso = writer->dsos.names[frame->address.image];
	bool nameless = !procedure->named && !procedure->extent_known;
	if (writer->input->options.marks & EXPORT_INLINED)
		spell_inlined(writer, frame->place);
	uint64_t vaddr =
		resolver_vaddr(writer->input->resolver, frame->address.image, frame->address.vaddr);
	buffer_printf(body, "\t%16" PRIx64 " ", vaddr);
	if (nameless && strcmp(dso, "[unknown]") != 0)
		buffer_append_text(body, "[unknown]"); /* readers show the DSO's name then */
	else
		append_line(body, span_of_text(procedure->name));
	if (procedure->extent_known)
		buffer_printf(body, "+0x%" PRIx64, vaddr - procedure->first);
	else if (!nameless && ends_in_offset(procedure->name))
		buffer_append_text(body, "+0x0");
	buffer_printf(body, " (%s)\n", dso);
}

static void append_frame(struct writer *writer, uint32_t number)
{
	struct piece *piece = &writer->pieces[number];
	if (!piece->size) {
		piece->at = writer->frames.size;
		spell_frame(writer, &writer->stacks->frames[number]);
		piece->size = writer->frames.size - piece->at;
	}
	if (!buffer_failed(&writer->frames))
		buffer_append(&writer->body, writer->frames.data + piece->at, piece->size);
}

/* Fills head (when the context is another one) and body. */
static void spell_stack(struct writer *writer, size_t i, uint32_t *context)
{
	size_t depth;
	const uint32_t *path = stacks_path(writer->stacks, i, &depth);
	uint32_t id = 0;
	buffer_empty(&writer->body);
	for (size_t at = depth; at-- > 0;) {
		const struct stack_frame *frame = &writer->stacks->frames[path[at]];
		if (frame->kind == STACK_COMMAND)
			id = frame->context;
		else
			append_frame(writer, path[at]);
	}
	if (id != *context)
		spell_head(writer, id);
	*context = id;
}

static int write_block(struct writer *writer, const struct event_column *event, uint64_t time_us,
		       uint64_t period)
{
	struct buffer *out = &writer->sink->buffer;
	buffer_append(out, writer->head.data, writer->head.size);
	buffer_printf(out, "%" PRIu64 ".%06" PRIu64 ": %10" PRIu64 " ", time_us / 1000000,
		      time_us % 1000000, period);
	append_word(out, event->name);
	buffer_append_text(out, ": \n");
	buffer_append(out, writer->body.data, writer->body.size);
	buffer_append_u8(out, '\n');
	if (buffer_failed(&writer->head) || buffer_failed(&writer->body) ||
	    buffer_failed(&writer->frames))
		return -ENOMEM;
	return sink_flush_some(writer->sink);
}

/* How many blocks a stack has that has `part` of `all` samples (or events). */
static uint64_t blocks_of(uint64_t part, uint64_t all, uint64_t estimate)
{
	uint64_t count = part;
	if (all > PERF_SCRIPT_MOST_BLOCKS)
		count = (uint64_t)((unsigned __int128)part * PERF_SCRIPT_MOST_BLOCKS / all);
	if (count == 0)
		count = 1;
	return count < estimate ? count : estimate; /* readers take a period of 0 for 1 */
}

/* Writes the samples of a stack, 1 ms apart, with periods as equal as whole numbers can be. */
static int write_samples(struct writer *writer, const struct event_column *event, uint64_t estimate,
			 uint64_t count, uint64_t *time_us)
{
	int ret = 0;
	for (uint64_t block = 0; ret == 0 && block < count; block++) {
		uint64_t period = estimate / count + (block < estimate % count);
		*time_us += 1000;
		ret = write_block(writer, event, *time_us, period);
	}
	return ret;
}

static int write_event(struct writer *writer, size_t c, const struct export_sums *sums)
{
	const struct event_column *event = &writer->input->columns->list[writer->input->chosen[c]];
	uint64_t all = event->sampled ? sums->written.samples : sums->written.estimate;
	uint64_t time_us = 0;
	uint32_t context = STACK_NONE, last = STACK_NONE;
	int ret = 0;
	for (size_t i = 0; ret == 0 && i < writer->stacks->line_count; i++) {
		const struct cell *cell = &stacks_cells(writer->stacks, i)[c];
		if (!cell->estimate)
			continue;
		spell_stack(writer, i, &context);
		if (context != last)
			time_us = 0;
		last = context;
		uint64_t part = event->sampled ? cell->samples : cell->estimate;
		if (writer->blocks == ONE_PER_STACK)
			ret = write_block(writer, event, 0, cell->estimate);
		else
			ret = write_samples(writer, event, cell->estimate,
					    blocks_of(part, all, cell->estimate), &time_us);
	}
	return ret;
}

static int write_text(const struct export_input *input, enum blocks blocks, struct sink *sink,
		      struct export_sums *sums, struct error *err)
{
	CLEANUP(stacks_freep) struct stacks *stacks = NULL;
	CLEANUP(writer_release)
	struct writer writer = { .input = input, .sink = sink, .blocks = blocks };
	int ret = stacks_new(input, STACKS_BY_ADDRESS, sums, &stacks);
	writer.stacks = stacks;
	if (ret == 0) {
		writer.pieces = calloc(stacks->frame_count + 1, sizeof(*writer.pieces));
		ret = writer.pieces ? 0 : -ENOMEM;
	}
	if (ret == 0)
		ret = dso_names_init(&writer.dsos, input->profile, input->resolver);
	if (ret == 0)
		write_header(&writer);
	for (size_t c = 0; ret == 0 && c < input->chosen_count; c++)
		ret = write_event(&writer, c, &sums[c]);
	return ret == -ENOMEM ? error_set(err, ret, "out of memory writing stacks") : ret;
}

static int write_perf_script(const struct export_input *input, struct sink *sink,
			     struct export_sums *sums, struct error *err)
{
	return write_text(input, ONE_PER_STACK, sink, sums, err);
}

static int write_firefox(const struct export_input *input, struct sink *sink,
			 struct export_sums *sums, struct error *err)
{
	return write_text(input, ONE_PER_SAMPLE, sink, sums, err);
}

const struct exporter exporter_perf_script = {
	.name = "perf-script",
	.what = "as perf script prints it, one block a stack",
	.most_events = EXPORT_ANY_EVENTS,
	.uses = EXPORT_USES_INLINED,
	.write = write_perf_script,
};

const struct exporter exporter_firefox = {
	.name = "firefox",
	.what = "for profiler.firefox.com: as perf script prints it, one block a sample",
	.most_events = 1,
	.uses = EXPORT_USES_INLINED,
	.write = write_firefox,
};
