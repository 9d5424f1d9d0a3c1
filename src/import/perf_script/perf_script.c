/*
 * perf_script - what `perf script` prints of a recording, with or without call
 * chains (import/perf_script/perf_script_chains.h). Memory grows with distinct chains, lines
 * and threads.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/utf8.h"
#include "import/text/bad_lines.h"
#include "import/formats.h"
#include "import/text/known_text.h"
#include "import/perf_script/perf_script_chains.h"
#include "import/perf_script/perf_script_columns.h"
#include "import/perf_script/perf_script_events.h"
#include "import/perf_script/perf_script_header.h"
#include "import/perf_script/perf_script_line.h"
#include "import/text/text_lines.h"
#include "profile/bill.h"
#include "profile/profile.h"

struct sample {
	bool open;
	uint32_t event, context;
	uint64_t weight;
	struct profile_frame leaf; /* of a sample without chain */
};

struct perf_script {
	const struct import_options *options;
	struct buffer head; /* the first bytes, until they are enough to recognise the layout */
	enum perf_script_layout layout; /* PERF_SCRIPT_NONE: not known yet */
	struct text_lines lines;
	struct profile *profile;
	struct perf_script_header header;
	struct bad_lines bad;
	uint64_t samples, records, lost;
	bool stopped; /* at a fault, with force */

	struct sample sample;
	struct perf_script_chains chains;
	struct perf_script_events events;

	struct known_text threads;
	uint32_t *contexts; /* by number of the thread */
	size_t context_capacity;
};

static void script_close(void *reader)
{
	struct perf_script *script = reader;
	if (!script)
		return;
	buffer_release(&script->head);
	text_lines_release(&script->lines);
	profile_free(script->profile);
	perf_script_header_release(&script->header);
	perf_script_chains_release(&script->chains);
	perf_script_events_release(&script->events);
	known_text_release(&script->threads);
	free(script->contexts);
	free(script);
}

static uint64_t line_number(const struct perf_script *script)
{
	return script->lines.number;
}

static int out_of_memory(struct perf_script *script, struct error *err)
{
	return error_set(err, -ENOMEM, "out of memory at line %" PRIu64, line_number(script));
}

/* ---- threads */

static int find_context(struct perf_script *script, const struct perf_script_sample *line,
			uint32_t *context)
{
	uint32_t number;
	bool added;
	*context = 0;
	if (line->thread.size == 0) /* no such column */
		return 0;
	if (known_text_number(&script->threads, line->thread.data, line->thread.size, &number,
			      &added) < 0)
		return -ENOMEM;
	if (added) {
		const struct profile_context row = { .comm = line->comm,
						     .pid = line->pid,
						     .tid = line->tid };
		if (array_reserve(&script->contexts, &script->context_capacity, number,
				  sizeof(*script->contexts)) < 0 ||
		    profile_add_context(script->profile, &row, &script->contexts[number]) < 0)
			return -ENOMEM;
	}
	*context = script->contexts[number];
	return 0;
}

/* ---- samples */

static int store_sample(struct perf_script *script)
{
	const struct sample *sample = &script->sample;
	const struct cell cell = { 1, sample->weight,
				   (unsigned __int128)sample->weight * sample->weight };
	struct profile_frame leaf = sample->leaf;
	uint32_t event = script->events.list[sample->event].id;
	uint32_t node = 0;
	int ret = perf_script_chains_node(&script->chains, &node);
	if (ret == 0 && node) {
		leaf = profile_node(script->profile, node, NULL);
		ret = profile_add_stack(script->profile, event, sample->context, node, &cell);
	}
	return ret < 0 ? ret
		       : profile_add_flat(script->profile, event, sample->context, &leaf, &cell);
}

static int end_sample(struct perf_script *script, struct error *err)
{
	if (!script->sample.open)
		return 0;
	int ret = store_sample(script);
	script->sample.open = false;
	script->samples++;
	return ret < 0 ? out_of_memory(script, err) : 0;
}

/* Notes the place on the line of a sample, for one without chain; NULL: the line has none. */
static int take_leaf(struct perf_script *script, const struct perf_script_frame *leaf)
{
	script->sample.leaf = (struct profile_frame){ .kind = FRAME_IP };
	return leaf ? perf_script_chains_frame(&script->chains, leaf, &script->sample.leaf) : 0;
}

static void take_record(struct perf_script *script, struct span rest)
{
	static const char start[] = "PERF_RECORD_LOST";
	uint64_t lost = 0;
	script->records++;
	if (rest.size < sizeof(start) || memcmp(rest.data, start, sizeof(start) - 1) != 0)
		return;
	const char *at = memmem(rest.data, rest.size, " lost ", 6);
	const char *end = (const char *)rest.data + rest.size;
	for (at = at ? at + 6 : end; at < end && *at >= '0' && *at <= '9'; at++)
		if (__builtin_mul_overflow(lost, UINT64_C(10), &lost) ||
		    __builtin_add_overflow(lost, (uint64_t)(*at - '0'), &lost))
			lost = UINT64_MAX;
	if (__builtin_add_overflow(script->lost, lost, &script->lost))
		script->lost = UINT64_MAX;
}

static int begin_sample(struct perf_script *script, const struct perf_script_sample *line,
			const struct perf_script_frame *leaf, struct error *err)
{
	int ret = end_sample(script, err);
	if (ret < 0)
		return ret;
	if (line->is_record) {
		take_record(script, line->rest);
		return 0;
	}
	struct sample *sample = &script->sample;
	if (perf_script_events_find(&script->events, line, &sample->event) < 0 ||
	    find_context(script, line, &sample->context) < 0 || take_leaf(script, leaf) < 0)
		return out_of_memory(script, err);
	struct perf_script_event *event = &script->events.list[sample->event];
	sample->weight = line->period != OPTIONAL_ABSENT ? line->period - 1 : event->period;
	if (__builtin_add_overflow(event->total, sample->weight, &event->total))
		return error_set(err, -EOVERFLOW,
				 "line %" PRIu64 ": the periods of its event pass 64 bits",
				 line_number(script));
	sample->open = true;
	return 0;
}

static int stop(struct perf_script *script, struct error *err, const char *what)
{
	script->sample.open = false;
	perf_script_chains_drop(&script->chains);
	script->stopped = true;
	return import_fault(script->options, -EBADMSG, err, "line %" PRIu64 ": %s",
			    line_number(script), what);
}

static int take_chain_line(struct perf_script *script, struct span line, struct error *err)
{
	int ret = perf_script_chains_add(&script->chains, line);
	return ret == -E2BIG ? stop(script, err, "a call chain that does not end")
	       : ret < 0     ? out_of_memory(script, err)
			     : 0;
}

/* ---- lines */

/* Whether a line that starts with a blank can't begin a sample, as its second word is neither a
 * number nor an event. */
static bool is_surely_frame(struct span line)
{
	const char *at = line.data, *end = at + line.size;
	if (*at == '\t')
		return true;
	while (at < end && (*at == ' ' || *at == '\t'))
		at++;
	const char *word = at;
	while (at < end && ((*at >= '0' && *at <= '9') || (*at >= 'a' && *at <= 'f')))
		at++;
	if (at == word || end - at < 2 || *at != ' ' || at[1] == ' ' ||
	    (at[1] >= '0' && at[1] <= '9') || end[-1] != ')')
		return false;
	const char *blank = memchr(at + 1, ' ', (size_t)(end - at) - 1);
	return !blank || blank[-1] != ':';
}

/* A line of a text without times and events (import/perf_script/perf_script_columns.h). */
static int take_bare_line(struct perf_script *script, struct span line, struct error *err)
{
	struct perf_script_sample sample = { 0 };
	struct perf_script_frame leaf;
	if (script->layout == PERF_SCRIPT_LINES) {
		if (perf_script_parse_columns(line, &sample, &leaf))
			return begin_sample(script, &sample, sample.is_record ? NULL : &leaf, err);
	} else if (!script->sample.open) {
		bool frame = perf_script_is_chain_frame(line);
		if (!frame)
			perf_script_parse_head(line, &sample);
		int ret = begin_sample(script, &sample, NULL, err);
		if (ret < 0 || !frame)
			return ret;
	}
	if (script->sample.open)
		return take_chain_line(script, line, err);
	bad_lines_add(&script->bad, line_number(script));
	return 0;
}

/* A blank line ends a sample; in a text without columns, one begins it too. */
static int take_blank_line(struct perf_script *script, struct error *err)
{
	const struct perf_script_sample nothing = { 0 };
	if (script->layout == PERF_SCRIPT_BARE && !script->sample.open)
		return begin_sample(script, &nothing, NULL, err);
	return end_sample(script, err);
}

static int take_other_line(struct perf_script *script, struct span line, struct error *err)
{
	struct perf_script_sample sample;
	struct perf_script_frame frame;
	if (perf_script_parse_sample(line.data, line.size, &sample)) {
		bool placed = perf_script_parse_leaf(sample.fields, &frame);
		return begin_sample(script, &sample, placed ? &frame : NULL, err);
	}
	bool indented = *(const char *)line.data == ' ' || *(const char *)line.data == '\t';
	if (script->sample.open &&
	    (indented || perf_script_parse_frame(line.data, line.size, &frame)))
		return take_chain_line(script, line, err);
	bad_lines_add(&script->bad, line_number(script));
	return 0;
}

static int take_line(void *context, struct span line, struct error *err)
{
	struct perf_script *script = context;
	const char *text = line.data;
	if (script->stopped)
		return 0;
	if (!text)
		return stop(script, err, "a line that does not end");
	if (script->lines.unended && line.size && script->sample.open &&
	    text[line.size - 1] != ')' && (*text == '\t' || *text == ' '))
		return stop(script, err, "the text ends inside a call chain");
	if (line.size == 0 || text_line_is_blank(line))
		return take_blank_line(script, err);
	if (*text == '#') {
		int ret = end_sample(script, err);
		if (ret == 0 && perf_script_header_take(&script->header, text, line.size) < 0)
			ret = out_of_memory(script, err);
		return ret;
	}
	bool words = script->layout == PERF_SCRIPT_WORDS;
	if (words && script->sample.open && (*text == '\t' || *text == ' ') &&
	    is_surely_frame(line))
		return take_chain_line(script, line, err);
	if (memchr(text, 0, line.size))
		return stop(script, err, "a zero byte, which text does not have");
	return words ? take_other_line(script, line, err) : take_bare_line(script, line, err);
}

/* ---- as one format among others */

static int script_open(const struct import_options *options, void **reader)
{
	struct perf_script *script = calloc(1, sizeof(*script));
	if (!script)
		return -ENOMEM;
	script->options = options;
	script->lines =
		(struct text_lines){ .take = take_line, .context = script, .tolerant = true };
	script->profile = profile_new();
	if (!script->profile) {
		script_close(script);
		return -ENOMEM;
	}
	script->chains.profile = script->profile;
	script->events = (struct perf_script_events){ .profile = script->profile,
						      .options = options,
						      .header = &script->header };
	*reader = script;
	return 0;
}

/* Finds the layout by the first bytes, IMPORT_HEAD_BYTES or all there are, and reads their lines.
 */
static int begin_text(struct perf_script *script, struct error *err)
{
	const struct span head = { script->head.data, script->head.size };
	script->layout = head.size ? perf_script_layout(head) : PERF_SCRIPT_NONE;
	if (script->layout == PERF_SCRIPT_NONE)
		script->layout = PERF_SCRIPT_WORDS; /* the user said that it is perf's */
	int ret = text_lines_feed(&script->lines, head.data, head.size, err);
	buffer_release(&script->head);
	return ret;
}

static int script_feed(void *reader, const void *bytes, size_t size, struct error *err)
{
	struct perf_script *script = reader;
	if (script->layout != PERF_SCRIPT_NONE)
		return text_lines_feed(&script->lines, bytes, size, err);
	buffer_append(&script->head, bytes, size);
	if (buffer_failed(&script->head))
		return error_set(err, -ENOMEM, "out of memory for the text's beginning");
	return script->head.size < IMPORT_HEAD_BYTES ? 0 : begin_text(script, err);
}

static void report(const struct perf_script *script)
{
	bad_lines_report(&script->bad, script->options, script->lines.number,
			 "begin no sample and belong to none");
	if (script->chains.trailing)
		import_report(script->options, IMPORT_NOTE,
			      "what stands behind call chains and is no frame is left out");
	if (script->records)
		import_report(script->options, IMPORT_NOTE,
			      "%" PRIu64 " lines are records of other kinds than samples",
			      script->records);
	if (script->lost)
		import_report(script->options, IMPORT_WARNING,
			      "%" PRIu64 " samples were lost while recording", script->lost);
}

static int add_source(struct perf_script *script)
{
	struct profile_source source = script->header.source;
	source.tool = span_of_text("perf script");
	int ret = profile_add_source(script->profile, &source);
	if (ret == 0 && script->lost)
		ret = profile_add_bill(script->profile, 0, OPTIONAL_ABSENT, BILL_LOST_RING,
				       script->lost);
	return ret;
}

static int script_finish(void *reader, struct profile **out, struct error *err)
{
	struct perf_script *script = reader;
	int ret = script->layout == PERF_SCRIPT_NONE ? begin_text(script, err) : 0;
	if (ret == 0)
		ret = text_lines_finish(&script->lines, err);
	if (ret == 0)
		ret = end_sample(script, err);
	if (ret < 0)
		return ret;
	if (script->samples == 0)
		return error_set(err, -ENODATA, "no line of %" PRIu64 " begins a sample",
				 script->lines.number);
	if (script->options->recognised && script->bad.count > script->lines.number / 2)
		return error_set(err, -ENODATA,
				 "%" PRIu64 " of %" PRIu64
				 " lines are not what perf script prints; "
				 "--format perf-script takes the others",
				 script->bad.count, script->lines.number);
	if (add_source(script) < 0)
		return out_of_memory(script, err);
	report(script);
	if (script->lines.unended && !script->stopped)
		import_report_unended(script->options);
	*out = script->profile;
	script->profile = NULL; /* the caller's from here on */
	return 0;
}

/* ---- its marks */

/* perf's header and nothing else yet. */
static bool is_header(struct span text)
{
	struct span line;
	bool captured = false;
	while (text_lines_cut(&text, &line)) {
		if (!text_line_is_blank(line) && *(const char *)line.data != '#')
			return false;
		captured |= span_starts_with(line, "# captured on");
	}
	return captured;
}

static bool script_recognise(const void *bytes, size_t size)
{
	const size_t mark = utf8_mark_size(bytes, size);
	const struct span text = { (const char *)bytes + mark, size - mark };
	if (size && memchr(bytes, 0, size))
		return false;
	return is_header(text) || perf_script_layout(text) != PERF_SCRIPT_NONE;
}

const struct importer importer_perf_script = {
	.name = "perf-script",
	.what = "the text of perf script",
	.recognise = script_recognise,
	.open = script_open,
	.feed = script_feed,
	.finish = script_finish,
	.close = script_close,
};
