#include "render/listing.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/names/fold_name.h"
#include "base/buffer.h"
#include "base/cleanup.h"
#include "render/listing_parts.h"

#define MAX_CODE_CHARACTERS 100 /* of an instruction in a listing; --json has all */
#define INLINED_WIDTH	    50	/* of the names of inlined functions */
#define MIN_STRETCH	    4	/* rows; fewer below min_percent are shown as they are */

void listing_put_name(struct buffer *out, const char *name)
{
	text_append_safe(out, name, strlen(name));
}

void listing_put_folded(struct buffer *out, const char *name)
{
	CLEANUP(buffer_release) struct buffer folded = { 0 };
	fold_name(name, INLINED_WIDTH, &folded);
	out->failed |= buffer_failed(&folded);
	text_append_safe(out, (const char *)folded.data, folded.size);
}

void listing_put_place(struct buffer *out, const char *file, uint32_t line)
{
	if (!file) {
		buffer_append_text(out, "(source not known)");
		return;
	}
	listing_put_name(out, file);
	if (line)
		buffer_printf(out, ":%" PRIu32, line);
	else
		buffer_append_text(out, " (no line)");
}

/* A file in full when it is another one than before, else its last part. */
static void print_place(struct listing *listing, const struct source_frame *frame)
{
	const char *file = frame->file;
	bool again = file && listing->file && strcmp(listing->file, file) == 0;
	listing_put_place(listing->out, again ? basename(file) : file, frame->line);
	if (file)
		listing->file = file;
}

void listing_print_source_text(const struct listing *listing, const char *file, uint32_t line)
{
	if (!listing->options->source || !file || !line)
		return;
	struct span text = listing->options->source(listing->options->source_context, file, line);
	const char *bytes = text.data;
	size_t column = 0;
	if (!bytes)
		return;
	buffer_append_text(listing->out, "  ");
	for (size_t i = 0, start = 0; i <= text.size; i++) {
		if (i < text.size && bytes[i] != '\t')
			continue;
		text_append_safe(listing->out, bytes + start, i - start);
		column += i - start;
		start = i + 1;
		if (i < text.size) {
			size_t blanks = 4 - column % 4;
			buffer_printf(listing->out, "%*s", (int)blanks, "");
			column += blanks;
		}
	}
}

/* Before the first instruction of a source line: file, line, what was inlined where, its text. */
static void print_source(struct listing *listing, uint32_t position)
{
	const struct annotated_source *source = &listing->annotation->sources[position];
	struct buffer *out = listing->out;
	text_append_style(out, listing->options->colour, TEXT_DIM);
	figures_print_blank(&listing->figures, out);
	cycle_columns_print_blank(&listing->cycles, out);
	buffer_printf(out, "%*s  ", listing->address_width, "");
	print_place(listing, &source->frames[0]);
	for (size_t i = 0; i + 1 < source->count; i++) {
		const struct source_frame *caller = &source->frames[i + 1];
		buffer_append_text(out, i ? ", in " : " (");
		if (source->frames[i].function)
			listing_put_folded(out, source->frames[i].function);
		buffer_append_text(out, " inlined at ");
		listing_put_place(out, caller->file ? basename(caller->file) : NULL, caller->line);
	}
	if (source->count > 1)
		buffer_append_u8(out, ')');
	listing_print_source_text(listing, source->frames[0].file, source->frames[0].line);
	text_append_style(out, listing->options->colour, TEXT_PLAIN);
	buffer_append_u8(out, '\n');
}

static void print_target(const struct annotated_row *row, struct buffer *out)
{
	if (row->has_target && row->target_here) {
		buffer_printf(out, " <+0x%" PRIx64 ">", row->target_offset_bytes);
	} else if (row->has_target && row->target_name) {
		buffer_append_text(out, " <");
		listing_put_folded(out, row->target_name);
		if (row->target_offset_bytes)
			buffer_printf(out, "+0x%" PRIx64, row->target_offset_bytes);
		buffer_append_u8(out, '>');
	} else if (row->has_reference) {
		buffer_printf(out, " # 0x%" PRIx64, row->reference);
	}
}

static const char *no_code_text(enum annotated_kind kind)
{
	switch (kind) {
	case ANNOTATED_INSIDE:
		return "(inside the instruction above)";
	case ANNOTATED_ADDRESS:
		return "(no code)";
	case ANNOTATED_NAME:
		return "(no address)";
	case ANNOTATED_INSTRUCTION:
		break;
	}
	return NULL;
}

static void cut_code(struct buffer *text)
{
	if (text->size <= MAX_CODE_CHARACTERS)
		return;
	text->size = MAX_CODE_CHARACTERS - 3;
	while (text->size && (text->data[text->size] & 0xc0) == 0x80)
		text->size--; /* not inside a character */
	buffer_append_text(text, "...");
}

static void put_code(const struct annotated_row *row, struct buffer *text)
{
	const char *instead = no_code_text(row->kind);
	if (instead) {
		buffer_append_text(text, instead);
		return;
	}
	buffer_printf(text, row->operands[0] ? "%-7s %s" : "%s%s", row->mnemonic, row->operands);
	print_target(row, text);
}

void listing_put_code(const struct annotated_row *row, struct buffer *out)
{
	CLEANUP(buffer_release) struct buffer text = { 0 };
	put_code(row, &text);
	cut_code(&text);
	out->failed |= buffer_failed(&text);
	buffer_append(out, text.data, text.size);
}

static void print_code(const struct listing *listing, const struct annotated_row *row)
{
	CLEANUP(buffer_release) struct buffer text = { 0 };
	if (row->kind == ANNOTATED_INSTRUCTION && listing->options->bytes) {
		for (uint32_t i = 0; i < row->length_bytes; i++)
			buffer_printf(&text, "%02x ", row->bytes[i]);
		int missing = listing->bytes_width - (int)text.size;
		buffer_printf(&text, "%*s", missing > 0 ? missing : 0, "");
	}
	put_code(row, &text);
	cut_code(&text);
	listing->out->failed |= buffer_failed(&text);
	buffer_append(listing->out, text.data, text.size);
}

void listing_end_line(struct buffer *out)
{
	while (out->size && out->data[out->size - 1] == ' ')
		out->size--;
	buffer_append_u8(out, '\n');
}

void listing_print_block(const struct listing *listing, uint32_t instruction)
{
	size_t before = listing->out->size;
	text_append_style(listing->out, listing->options->colour, TEXT_BOLD);
	size_t styled = listing->out->size;
	cycle_columns_print_block(&listing->cycles, instruction, listing->out);
	if (listing->out->size == styled)
		listing->out->size = before;
	else
		text_append_style(listing->out, listing->options->colour, TEXT_PLAIN);
}

static void print_stalls(const struct listing *listing, uint32_t instruction)
{
	const struct listing_margins margins = { listing->figures.width,
						 listing->address_width + 2 };
	size_t before = listing->out->size;
	text_append_style(listing->out, listing->options->colour, TEXT_DIM);
	size_t styled = listing->out->size;
	cycle_columns_print_stalls(&listing->cycles, instruction, &margins, listing->out);
	if (listing->out->size == styled)
		listing->out->size = before;
	else
		text_append_style(listing->out, listing->options->colour, TEXT_PLAIN);
}

void listing_print_row(struct listing *listing, const struct annotated_row *row)
{
	struct buffer *out = listing->out;
	enum text_colour colour = listing->options->colour;
	bool hot = figures_share(&listing->figures, row->cells) >= LISTING_HOT_PERCENT;
	uint32_t instruction = CFG_NO_INSTRUCTION;
	if (row->kind == ANNOTATED_INSTRUCTION)
		instruction = cycle_columns_instruction(&listing->cycles, row->vaddr);
	uint32_t block = cycle_columns_block(&listing->cycles, instruction);
	listing_print_block(listing, instruction);
	if (row->source != ANNOTATED_NO_SOURCE && row->source != listing->source)
		print_source(listing, row->source);
	listing->source = row->source;
	print_stalls(listing, instruction);
	text_append_style(out, colour, hot ? TEXT_BOLD : TEXT_PLAIN);
	figures_print(&listing->figures, row->cells, out);
	cycle_columns_print(&listing->cycles, instruction, listing->block, out);
	if (block != CFG_NO_BLOCK)
		listing->block = block;
	if (row->kind == ANNOTATED_NAME)
		buffer_printf(out, "%*s  ", listing->address_width, "-");
	else
		buffer_printf(out, "%*" PRIx64 "  ", listing->address_width, row->vaddr);
	print_code(listing, row);
	listing_end_line(out);
	text_append_style(out, colour, TEXT_PLAIN);
}

/* How many rows from `first` on are below the limit. */
static size_t stretch(const struct listing *listing, size_t first)
{
	size_t count = 0;
	if (listing->options->min_percent <= 0)
		return 0;
	while (first + count < listing->annotation->row_count &&
	       figures_share(&listing->figures, listing->annotation->rows[first + count].cells) <
		       listing->options->min_percent)
		count++;
	return count < MIN_STRETCH ? 0 : count;
}

/* One line for `count` rows from `first` on, with their sum: nothing gets lost. `what` tells
 * which: "12 rows WHAT". */
static void print_stretch(struct listing *listing, size_t first, size_t count, const char *what)
{
	size_t columns = listing->index->columns->count;
	CLEANUP(free_pointer) struct cell *sum = calloc(columns + 1, sizeof(*sum));
	if (!sum) {
		listing->out->failed = true;
		return;
	}
	for (size_t i = first; i < first + count; i++)
		for (size_t c = 0; c < columns; c++)
			cell_add(&sum[c], &listing->annotation->rows[i].cells[c]);
	figures_print(&listing->figures, sum, listing->out);
	cycle_columns_print_blank(&listing->cycles, listing->out);
	buffer_printf(listing->out, "%*s  %zu row%s %s\n", listing->address_width, "...", count,
		      count == 1 ? "" : "s", what);
	listing_forget(listing);
}

void listing_forget(struct listing *listing)
{
	listing->source = ANNOTATED_NO_SOURCE;
	listing->block = CFG_NO_BLOCK;
}

static int hex_width(uint64_t value)
{
	int width = 1;
	while (value >>= 4)
		width++;
	return width;
}

bool listing_begin(struct listing *listing, const struct listing_subject *subject,
		   const struct annotate_index *index, const struct listing_options *options,
		   struct buffer *out)
{
	const struct annotation *annotation = subject->annotation;
	*listing = (struct listing){ .subject = subject,
				     .annotation = annotation,
				     .index = index,
				     .options = options,
				     .source = ANNOTATED_NO_SOURCE,
				     .block = CFG_NO_BLOCK,
				     .out = out };
	if (figures_init(&listing->figures, annotation->procedure, index->columns) < 0) {
		out->failed = true;
		return false;
	}
	cycle_columns_init(&listing->cycles, subject->cycles, subject->culprits);
	listing->cycles.letters = listing->letters;
	listing->address_width = 8;
	for (size_t i = 0; i < annotation->row_count; i++) {
		int width = hex_width(annotation->rows[i].vaddr);
		int bytes = (int)annotation->rows[i].length_bytes * 3 + 1;
		if (width > listing->address_width)
			listing->address_width = width;
		if (bytes > listing->bytes_width)
			listing->bytes_width = bytes < 8 * 3 + 1 ? bytes : 8 * 3 + 1;
	}
	listing_print_head(listing);
	return true;
}

void listing_end(struct listing *listing)
{
	listing_print_remarks(listing);
	figures_release(&listing->figures);
}

void listing_print_columns_head(const struct listing *listing)
{
	CLEANUP(buffer_release) struct buffer above = { 0 }, beside = { 0 };
	cycle_columns_head(&listing->cycles, &above, &beside);
	buffer_printf(&beside, "%*s  instruction", listing->address_width, "address");
	listing->out->failed |= buffer_failed(&above) || buffer_failed(&beside);
	figures_print_head(&listing->figures, buffer_text(&above), buffer_text(&beside),
			   listing->out);
}

void listing_print(const struct listing_subject *subject, const struct annotate_index *index,
		   const struct listing_options *options, struct buffer *out)
{
	struct listing listing;
	char what[32];
	if (!listing_begin(&listing, subject, index, options, out))
		return;
	listing_print_columns_head(&listing);
	snprintf(what, sizeof(what), "below %g %%", options->min_percent);
	for (size_t i = 0; i < listing.annotation->row_count;) {
		size_t skipped = stretch(&listing, i);
		if (skipped)
			print_stretch(&listing, i, skipped, what);
		else
			listing_print_row(&listing, &listing.annotation->rows[i]);
		i += skipped ? skipped : 1;
	}
	listing_end(&listing);
}
