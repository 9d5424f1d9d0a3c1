#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "base/buffer.h"
#include "image/writer.h"
#include "render/listing_parts.h"
#include "render/quantity.h"
#include "symbol/record.h"

static void print_build_id(const struct profile_image *image, struct buffer *out)
{
	char who[WRITER_TEXT_BYTES];
	writer_text(image->writer, who);
	if (image->build_id.size) {
		buffer_append_text(out, ", build-id ");
		buffer_append_hex(out, image->build_id.data, image->build_id.size);
	}
	if (*who)
		buffer_printf(out, ", in a file that %s can write", who);
}

static void print_event(const struct listing *listing, const struct figure_column *column)
{
	struct buffer *out = listing->out;
	const struct event_column *event = column->event;
	char text[QUANTITY_SIZE];
	text_append_safe(out, event->name.data, event->name.size);
	buffer_append_text(out, ": ");
	if (event->sampled) {
		quantity_count(column->total.samples, text);
		buffer_printf(out, "%s sample%s, ", text, column->total.samples == 1 ? "" : "s");
	}
	double total = (double)column->total.estimate / column->divisor;
	if (column->scale.divisor == 1)
		quantity_format(&column->scale, total, text);
	else
		quantity_describe(total, event->unit, text);
	buffer_append_text(out, text);
	if (!span_equal(event->unit, span_of_text("ns"))) {
		buffer_append_u8(out, ' ');
		text_append_safe(out, event->unit.data, event->unit.size);
	}
	quantity_percent((double)column->total.estimate,
			 (double)listing->index->whole[column->index].estimate, text);
	buffer_printf(out, ", %s of all\n", text);
}

/* Where samples stand relative to what they waited for. */
static void print_skid(const struct event_column *event, struct buffer *out)
{
	if (!event->sampled)
		return;
	text_append_safe(out, event->name.data, event->name.size);
	if (event->skid == 0 && event->clock == EVENT_CLOCK)
		buffer_append_text(out, ": a clock's samples usually are at the instruction after "
					"the one that waited\n");
	else if (event->skid == 0)
		buffer_append_text(out, ": how late its addresses are is not known; look at an "
					"instruction's neighbours too\n");
	else if (event->skid == 1)
		buffer_append_text(out, ": samples are at the very instruction\n");
	else if (event->skid == 2)
		buffer_append_text(out, ": samples stand at the instruction after the one that "
					"waited\n");
	else
		buffer_printf(out,
			      ": samples stand at an instruction up to %" PRIu64
			      " after the one that waited\n",
			      event->skid - 1);
}

static void print_late(const struct annotation *annotation, struct buffer *out)
{
	if (annotation->late_samples)
		buffer_printf(out,
			      "late: %" PRIu64 " of %" PRIu64 " samples waited until interrupts "
			      "came back on; the code before took the time\n",
			      annotation->late_samples, annotation->late_of);
}

static const char *space_note(uint64_t space)
{
	switch (space) {
	case SPACE_TEXT:
		return "addresses count from the start of its text";
	case SPACE_OFFSET:
		return "addresses are offsets in the file";
	case SPACE_PROCESS:
		return "addresses are those of the process";
	}
	return NULL;
}

static void print_too_few(const struct procedure_cycles *procedure, struct buffer *out)
{
	const struct cycles_events *events = cycles_events(procedure->cycles);
	const struct event_columns *columns = cycles_index(procedure->cycles)->columns;
	if (procedure->model == FREQUENCY_COUNTS) {
		buffer_append_text(out, "executions are not known: branch stacks saw none\n");
		return;
	}
	struct span event = columns->list[events->model == FREQUENCY_EXECUTIONS ? events->executions
										: events->time]
				    .name;
	buffer_append_text(out, "executions are not known: it has too few samples of ");
	text_append_safe(out, event.data, event.size);
	buffer_append_u8(out, '\n');
}

/* Of the procedure as a whole. */
static void print_cycles(const struct listing *listing)
{
	const struct procedure_cycles *procedure = listing->cycles.procedure;
	struct buffer *out = listing->out;
	if (!procedure) {
		if (listing->subject->no_cycles)
			buffer_printf(out, "executions are not known: %s\n",
				      listing->subject->no_cycles);
		else if (listing->subject->cycles)
			print_too_few(listing->subject->cycles, out);
		return;
	}
	const struct cycles_cost *cost = &procedure->whole;
	const char *unit = cycles_unit(procedure);
	char best[CYCLES_TEXT], actual[CYCLES_TEXT], interval[CYCLES_TEXT];
	cycles_text_cpi(cost->best_cpi, best);
	cycles_text_cpi(cost->cpi, actual);
	cycles_text_interval(cost->low, cost->high, interval);
	if (procedure->scale == CYCLES_RELATIVE) {
		buffer_append_text(out, "cost: relative, 1 for the average instruction; how many "
					"cycles that is these events do not tell\n");
		return;
	}
	bool bound = listing->cycles.has_cpi && cycles_best_is_bound(procedure);
	buffer_printf(out, "best case %s%s %s", bound ? "at most " : "", best, unit);
	if (listing->cycles.has_cpi) {
		buffer_printf(out, ", actual %s %s", actual, unit);
		if (strcmp(interval, "-") != 0)
			buffer_printf(out, " (%s)", interval);
	}
	buffer_append_u8(out, '\n');
}

void listing_put_command(const struct listing_options *options, const char *image_name,
			 uint64_t vaddr, struct buffer *out)
{
	buffer_append_text(out, "culprit annotate '");
	listing_put_name(out, image_name);
	buffer_printf(out, "+0x%" PRIx64 "'", vaddr);
	if (!options->profile)
		return;
	buffer_append_text(out, " '");
	listing_put_name(out, options->profile);
	buffer_append_u8(out, '\'');
}

static void print_unknown_extent(const struct procedure *procedure, struct buffer *out)
{
	buffer_append_text(out, "extent unknown");
	if (procedure->flags & FUNCTION_WINDOW)
		buffer_printf(out, ": the code at 0x%" PRIx64 "-0x%" PRIx64 ", %s",
			      procedure->first, procedure->last,
			      procedure->flags & FUNCTION_NEAREST
				      ? "behind a symbol whose size is not known"
				      : "where no function is known");
}

void listing_print_head(const struct listing *listing)
{
	const struct annotation *annotation = listing->annotation;
	const struct procedure *procedure = annotation->procedure->procedure;
	struct buffer *out = listing->out;
	text_append_style(out, listing->options->colour, TEXT_BOLD);
	listing_put_name(out, procedure->name);
	if (annotation->procedure->image_name[0]) {
		buffer_append_text(out, " in ");
		listing_put_name(out, annotation->procedure->image_name);
	}
	text_append_style(out, listing->options->colour, TEXT_PLAIN);
	buffer_append_u8(out, '\n');
	if (procedure->image) {
		struct profile_image image =
			profile_image(listing->index->profile, procedure->image);
		if (procedure->extent_known)
			buffer_printf(out, "0x%" PRIx64 "-0x%" PRIx64, procedure->first,
				      procedure->last);
		else
			print_unknown_extent(procedure, out);
		if (annotation->instructions)
			buffer_printf(out, ", %zu instructions", annotation->instructions);
		print_build_id(&image, out);
		if (space_note(image.space))
			buffer_printf(out, "; %s", space_note(image.space));
		buffer_append_u8(out, '\n');
	}
	for (size_t c = 0; c < listing->figures.count; c++)
		print_event(listing, &listing->figures.columns[c]);
	for (size_t c = 0; c < listing->figures.count; c++)
		print_skid(listing->figures.columns[c].event, out);
	print_late(annotation, out);
	print_cycles(listing);
	if (annotation->no_code)
		buffer_printf(out, "no instructions: %s\n", annotation->no_code);
	else if (!annotation->has_source)
		buffer_append_text(out, "no source lines: neither the profile nor a file here has "
					"them\n");
	buffer_append_u8(out, '\n');
}
