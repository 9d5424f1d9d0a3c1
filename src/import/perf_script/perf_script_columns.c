#include "import/perf_script/perf_script_columns.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/count_of.h"
#include "import/perf_script/perf_script_line.h"
#include "import/text/text_lines.h"

#define TERMINAL_LINES 20 /* that may stand before perf's first */

/* Lines of perf and others; blank ones and comments are neither. */
struct shares {
	size_t samples, frames, others;
};

static bool is_indented(struct span line)
{
	const char *text = line.data;
	return line.size && (*text == ' ' || *text == '\t');
}

static bool is_comment(struct span line)
{
	return line.size && *(const char *)line.data == '#';
}

static bool is_most(const struct shares *shares)
{
	return shares->samples && shares->others <= (shares->samples + shares->frames) / 2;
}

/* ---- a time or an event begins a sample */

/* Brackets end lines of many texts; DSOs begin in one of these ways. */
static bool is_dso(struct span dso)
{
	static const char *const starts[] = { "/", "[", "inlined", "bpf_", "anon" };
	for (size_t i = 0; i < COUNT_OF(starts); i++)
		if (span_starts_with(dso, starts[i]))
			return true;
	return false;
}

static bool is_frame(struct span line, const struct perf_script_frame *frame)
{
	return perf_script_is_chain_frame(line) || (frame->dso.data && is_dso(frame->dso));
}

/* Words that end in a colon, and brackets at a line's end, are in many texts. */
static bool is_place(const struct perf_script_sample *sample)
{
	struct perf_script_frame leaf;
	if (!perf_script_parse_leaf(sample->fields, &leaf))
		return false;
	return !leaf.dso.data || sample->timed || is_dso(leaf.dso);
}

/* Whether what follows a line that begins a sample looks like more of the same. */
static bool goes_on(const struct perf_script_sample *sample, struct span rest)
{
	struct perf_script_frame frame;
	struct perf_script_sample next;
	if (sample->is_record || is_place(sample))
		return true;
	struct span line;
	if (!text_lines_cut(&rest, &line))
		return sample->timed && sample->event.size;
	if (text_line_is_blank(line)) /* an empty chain */
		text_lines_cut(&rest, &line);
	return (perf_script_parse_frame(line.data, line.size, &frame) &&
		(is_frame(line, &frame) || rest.size == 0 /* perhaps cut */)) ||
	       (perf_script_parse_sample(line.data, line.size, &next) &&
		(sample->timed || sample->tid || sample->period ||
		 span_equal(sample->event, next.event)));
}

static bool has_words(struct span text)
{
	struct shares shares = { 0 };
	struct span line;
	size_t before = 0; /* what a terminal showed */
	bool open = false;
	while (text_lines_cut(&text, &line)) {
		struct perf_script_sample sample;
		struct perf_script_frame frame;
		if (text_line_is_blank(line) || is_comment(line)) {
			open = false;
		} else if (perf_script_parse_sample(line.data, line.size, &sample) &&
			   goes_on(&sample, text)) {
			shares.samples += !sample.is_record;
			shares.frames += sample.is_record;
			open = true;
		} else if (open && perf_script_parse_frame(line.data, line.size, &frame) &&
			   is_frame(line, &frame)) {
			shares.frames++;
		} else if (!shares.samples) {
			before++;
		} else {
			shares.others += !open || !is_indented(line);
			open &= is_indented(line);
		}
	}
	return is_most(&shares) && before <= TERMINAL_LINES + shares.samples + shares.frames;
}

/* ---- chains between blank lines */

static enum perf_script_layout find_chains(struct span text)
{
	struct shares shares = { 0 };
	struct span line;
	size_t head = 0; /* lines since a blank one */
	bool headed = false;
	bool open = false;
	while (text_lines_cut(&text, &line)) {
		if (text_line_is_blank(line)) {
			shares.others += open ? 0 : head;
			head = 0;
			open = false;
		} else if (perf_script_is_chain_frame(line)) {
			shares.samples += !open;
			shares.frames++;
			shares.others += !open && head > 1 ? head - 1 : 0;
			headed |= head > 0;
			open = true;
		} else if (!is_comment(line) && !memmem(line.data, line.size, "PERF_RECORD_", 12)) {
			head += !open;
			shares.others += open && !is_indented(line);
		}
	}
	return !is_most(&shares) ? PERF_SCRIPT_NONE
	       : headed		 ? PERF_SCRIPT_CHAINS
				 : PERF_SCRIPT_BARE;
}

/* ---- lines that end in a place */

/* Places are in memory: some address is no decimal number, and not small. */
static bool has_lines(struct span text)
{
	struct shares shares = { 0 };
	struct span line;
	bool addresses = false;
	while (text_lines_cut(&text, &line)) {
		struct perf_script_sample sample;
		struct perf_script_frame leaf;
		if (text_line_is_blank(line) || is_comment(line))
			continue;
		if (!perf_script_parse_columns(line, &sample, &leaf)) {
			shares.others++;
			continue;
		}
		shares.samples++;
		if (sample.is_record)
			continue;
		for (uint64_t left = leaf.address; left > 0xffff; left >>= 4)
			addresses |= (left & 15) > 9;
	}
	return addresses && is_most(&shares);
}

enum perf_script_layout perf_script_layout(struct span head)
{
	if (has_words(head))
		return PERF_SCRIPT_WORDS;
	enum perf_script_layout layout = find_chains(head);
	if (layout == PERF_SCRIPT_NONE && has_lines(head))
		layout = PERF_SCRIPT_LINES;
	return layout;
}
