#include <inttypes.h>
#include <string.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "render/listing_parts.h"

#define MAX_GAP_LINES 5 /* source lines without code that are shown between two with code */

static void print_blank(const struct listing *listing)
{
	figures_print_blank(&listing->figures, listing->out);
	cycle_columns_print_line(&listing->cycles, NULL, listing->out);
}

static void print_line_row(struct listing *listing, const struct annotated_line *line,
			   uint32_t number)
{
	struct buffer *out = listing->out;
	enum text_colour colour = listing->options->colour;
	bool hot = line && figures_share(&listing->figures, line->cells) >= LISTING_HOT_PERCENT;
	text_append_style(out, colour, hot ? TEXT_BOLD : line ? TEXT_PLAIN : TEXT_DIM);
	if (line) {
		const struct cycles_cost *costs = listing->subject->lines;
		figures_print(&listing->figures, line->cells, out);
		cycle_columns_print_line(&listing->cycles,
					 costs ? &costs[line - listing->annotation->lines] : NULL,
					 out);
	} else {
		print_blank(listing);
	}
	if (number)
		buffer_printf(out, "%7" PRIu32, number);
	else
		buffer_printf(out, "%7s", "-");
	if (line && line->function) {
		buffer_append_text(out, "  [");
		listing_put_folded(out, line->function);
		buffer_append_text(out, " inlined]");
	}
	if (!number)
		buffer_append_text(out,
				   line && line->file ? "  (no line)" : "  (source not known)");
	listing_print_source_text(listing, line ? line->file : listing->file, number);
	listing_end_line(out);
	text_append_style(out, colour, TEXT_PLAIN);
}

/* Lines between two with code, when they are few and their text can be had. */
static void print_gap(struct listing *listing, const struct annotated_line *before,
		      const struct annotated_line *line)
{
	const struct listing_options *options = listing->options;
	if (!before || !before->file || !line->file || strcmp(before->file, line->file) != 0 ||
	    !before->line || line->line <= before->line + 1)
		return;
	if (!options->source ||
	    !options->source(options->source_context, line->file, before->line + 1).data)
		return;
	if (line->line - before->line > MAX_GAP_LINES + 1) {
		print_blank(listing);
		buffer_append_text(listing->out, "    ...\n");
		return;
	}
	for (uint32_t number = before->line + 1; number < line->line; number++)
		print_line_row(listing, NULL, number);
}

static void print_columns_head(const struct listing *listing)
{
	CLEANUP(buffer_release) struct buffer above = { 0 }, beside = { 0 };
	cycle_columns_line_head(&listing->cycles, &above, &beside);
	buffer_append_text(&beside, "   line  source");
	listing->out->failed |= buffer_failed(&above) || buffer_failed(&beside);
	figures_print_head(&listing->figures, buffer_text(&above), buffer_text(&beside),
			   listing->out);
}

void listing_print_lines(const struct listing_subject *subject, const struct annotate_index *index,
			 const struct listing_options *options, struct buffer *out)
{
	struct listing listing;
	if (!listing_begin(&listing, subject, index, options, out))
		return;
	if (subject->annotation->lines_charged)
		buffer_append_text(out, "lines have the samples that are charged to them, as CPI "
					"has: of the instruction that waited\n\n");
	print_columns_head(&listing);
	const struct annotation *annotation = subject->annotation;
	const struct annotated_line *before = NULL;
	for (size_t i = 0; i < annotation->line_count; i++) {
		const struct annotated_line *line = &annotation->lines[i];
		if (line->file && (!listing.file || strcmp(listing.file, line->file) != 0)) {
			print_blank(&listing);
			listing_put_name(out, line->file);
			buffer_append_u8(out, '\n');
			listing.file = line->file;
			before = NULL;
		}
		print_gap(&listing, before, line);
		print_line_row(&listing, line, line->line);
		before = line;
	}
	listing_end(&listing);
}
