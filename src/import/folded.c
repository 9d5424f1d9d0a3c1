#include "import/folded.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/span.h"
#include "import/folded_line.h"
#include "import/folded_stacks.h"
#include "import/formats.h"
#include "profile/profile.h"

#define FRACTION_ONE UINT64_C(1000000000) /* 10^FOLDED_MAX_DECIMALS */

struct folded_reader {
	const struct folded_options *options;
	struct profile *profile;
	struct folded_counts counts;
	bool begun;	       /* the first bytes were looked at */
	bool skipping;	       /* inside a line that is too long */
	struct buffer pending; /* a line that has not come whole */

	struct folded_stacks stacks;
	uint64_t two_counts; /* lines that end in two numbers */
	unsigned decimals;   /* most that a count had */
};

int folded_reader_new(const struct folded_options *options, struct folded_reader **out)
{
	CLEANUP(folded_reader_freep) struct folded_reader *reader = calloc(1, sizeof(*reader));
	if (!reader)
		return -ENOMEM;
	reader->options = options;
	reader->profile = profile_new();
	if (!reader->profile)
		return -ENOMEM;
	*out = reader;
	reader = NULL; /* the caller's from here on */
	return 0;
}

void folded_reader_free(struct folded_reader *reader)
{
	if (!reader)
		return;
	profile_free(reader->profile);
	buffer_release(&reader->pending);
	folded_stacks_release(&reader->stacks);
	free(reader);
}

void folded_reader_freep(struct folded_reader **reader)
{
	folded_reader_free(*reader);
}

static void count_bad(struct folded_reader *reader)
{
	if (reader->counts.bad < FOLDED_SHOWN_LINES)
		reader->counts.bad_lines[reader->counts.bad] = reader->counts.lines;
	reader->counts.bad++;
}

static int take_line(struct folded_reader *reader, const char *line, size_t size, struct error *err)
{
	struct folded_line parsed;
	reader->counts.lines++;
	switch (folded_line_parse(line, size, &parsed)) {
	case FOLDED_BLANK:
		reader->counts.blank++;
		return 0;
	case FOLDED_COMMENT:
		reader->counts.comments++;
		return 0;
	case FOLDED_BAD:
		count_bad(reader);
		return 0;
	case FOLDED_STACK:
		break;
	}
	struct folded_stack *stack;
	if (folded_stacks_find(&reader->stacks, reader->profile, parsed.stack, &stack) < 0)
		return error_set(err, -ENOMEM, "out of memory at line %llu of folded text",
				 (unsigned long long)reader->counts.lines);
	uint64_t fraction = stack->fraction + (uint64_t)parsed.fraction;
	if (__builtin_add_overflow(stack->whole, parsed.whole, &stack->whole) ||
	    __builtin_add_overflow(stack->whole, fraction / FRACTION_ONE, &stack->whole))
		return error_set(err, -EOVERFLOW,
				 "line %llu of folded text: the counts of its stack pass 64 bits",
				 (unsigned long long)reader->counts.lines);
	stack->fraction = (uint32_t)(fraction % FRACTION_ONE);
	reader->counts.taken++;
	reader->counts.rounded += parsed.rounded;
	reader->two_counts += parsed.second_number;
	if (parsed.decimals > reader->decimals)
		reader->decimals = parsed.decimals;
	return 0;
}

/* What can be told from the first bytes; skips UTF-8's mark. */
static int look_at_start(const uint8_t **bytes, size_t *size, struct error *err)
{
	const uint8_t *b = *bytes;
	if (*size >= 2 && ((b[0] == 0xff && b[1] == 0xfe) || (b[0] == 0xfe && b[1] == 0xff)))
		return error_set(err, -EPROTO,
				 "this is UTF-16 text; convert it first: iconv -f UTF-16 -t UTF-8");
	if (*size >= 2 && b[0] == 0x1f && b[1] == 0x8b)
		return error_set(err, -EPROTO,
				 "this is compressed; unpack it first: gzip -dc FILE | culprit "
				 "import -");
	if (*size >= 4 && memcmp(b, "\x28\xb5\x2f\xfd", 4) == 0)
		return error_set(err, -EPROTO,
				 "this is compressed; unpack it first: zstd -dc FILE | culprit "
				 "import -");
	if (*size >= 3 && memcmp(b, "\xef\xbb\xbf", 3) == 0) {
		*bytes += 3;
		*size -= 3;
	}
	return 0;
}

static int keep_pending(struct folded_reader *reader, const char *text, size_t size,
			struct error *err)
{
	if (reader->skipping)
		return 0;
	if (size > FOLDED_MAX_LINE - reader->pending.size) {
		reader->skipping = true;
		reader->pending.size = 0;
		return 0;
	}
	buffer_append(&reader->pending, text, size);
	return buffer_failed(&reader->pending)
		       ? error_set(err, -ENOMEM, "out of memory for a line of folded text")
		       : 0;
}

static int refuse_line(struct folded_reader *reader)
{
	reader->counts.lines++;
	count_bad(reader);
	return 0;
}

/* The end of a line that began in an earlier piece: `text` is its last part. */
static int end_pending(struct folded_reader *reader, const char *text, size_t size,
		       struct error *err)
{
	int ret = keep_pending(reader, text, size, err);
	if (ret < 0)
		return ret;
	if (reader->skipping)
		ret = refuse_line(reader);
	else
		ret = take_line(reader, (const char *)reader->pending.data, reader->pending.size,
				err);
	reader->skipping = false;
	reader->pending.size = 0;
	return ret;
}

static int feed_lines(struct folded_reader *reader, const char *text, size_t size,
		      struct error *err)
{
	while (size) {
		const char *end = memchr(text, '\n', size);
		if (!end)
			return keep_pending(reader, text, size, err);
		size_t length = (size_t)(end - text);
		int ret;
		if (reader->pending.size || reader->skipping)
			ret = end_pending(reader, text, length, err);
		else if (length > FOLDED_MAX_LINE)
			ret = refuse_line(reader);
		else
			ret = take_line(reader, text, length, err);
		if (ret < 0)
			return ret;
		text = end + 1;
		size -= length + 1;
	}
	return 0;
}

int folded_reader_feed(struct folded_reader *reader, const void *bytes, size_t size,
		       struct error *err)
{
	const uint8_t *text = bytes;
	if (!reader->begun) {
		/* marks are up to four bytes long: wait for them */
		if (reader->pending.size + size < 4)
			return keep_pending(reader, bytes, size, err);
		reader->begun = true;
		if (reader->pending.size) {
			CLEANUP(buffer_release) struct buffer start = reader->pending;
			reader->pending = (struct buffer){ 0 };
			buffer_append(&start, bytes, size);
			if (buffer_failed(&start))
				return error_set(err, -ENOMEM, "out of memory for folded text");
			text = start.data;
			size = start.size;
			int ret = look_at_start(&text, &size, err);
			return ret < 0 ? ret : feed_lines(reader, (const char *)text, size, err);
		}
		int ret = look_at_start(&text, &size, err);
		if (ret < 0)
			return ret;
	}
	return feed_lines(reader, (const char *)text, size, err);
}

static uint64_t power_of_ten(unsigned exponent)
{
	uint64_t power = 1;
	while (exponent--)
		power *= 10;
	return power;
}

/* The most decimals with which the sum of all counts stays below 2^64; -1: not even without. */
static int decimals_that_fit(const struct folded_reader *reader)
{
	unsigned __int128 total = 0;
	for (size_t i = 0; i < reader->stacks.count; i++)
		total += (unsigned __int128)reader->stacks.list[i].whole + 1;
	int decimals = (int)reader->decimals;
	while (decimals >= 0 && total * power_of_ten((unsigned)decimals) > UINT64_MAX)
		decimals--;
	return decimals;
}

static int add_cells(struct folded_reader *reader, uint32_t event, unsigned decimals)
{
	uint64_t scale = power_of_ten(decimals);
	uint64_t step = FRACTION_ONE / scale;
	for (size_t i = 0; i < reader->stacks.count; i++) {
		const struct folded_stack *stack = &reader->stacks.list[i];
		const struct cell cell = { .estimate = stack->whole * scale +
						       (stack->fraction + step / 2) / step };
		struct profile_frame leaf = profile_node(reader->profile, stack->node, NULL);
		int ret = profile_add_stack(reader->profile, event, 0, stack->node, &cell);
		if (ret == 0)
			ret = profile_add_flat(reader->profile, event, 0, &leaf, &cell);
		if (ret < 0)
			return ret;
	}
	return 0;
}

static int add_event(struct folded_reader *reader, unsigned decimals, uint32_t *event)
{
	const struct folded_options *options = reader->options;
	const struct profile_event row = {
		.name = span_of_text(options->event ? options->event : "samples"),
		.unit = span_of_text(options->unit ? options->unit : "samples"),
		.scale = decimals,
		.origin = ORIGIN_IMPORTED,
	};
	const struct profile_source source = { .tool = span_of_text("folded text") };
	int ret = profile_add_event(reader->profile, &row, event);
	return ret < 0 ? ret : profile_add_source(reader->profile, &source);
}

int folded_reader_finish(struct folded_reader *reader, struct profile **out,
			 struct folded_counts *counts, struct error *err)
{
	int ret = 0;
	if (!reader->begun && reader->pending.size) { /* the whole text is shorter than a mark */
		const uint8_t *text = reader->pending.data;
		size_t size = reader->pending.size;
		ret = look_at_start(&text, &size, err);
	}
	if (ret == 0 && (reader->pending.size || reader->skipping))
		ret = end_pending(reader, NULL, 0, err);
	if (ret < 0)
		return ret;
	if (reader->counts.taken == 0)
		return error_set(err, -ENODATA,
				 "no line is folded text, which is 'frame;frame;frame COUNT'");
	if (reader->two_counts == reader->counts.taken && !reader->options->one_count)
		return error_set(err, -ENOTSUP,
				 "every line ends in two counts, as a comparison of two profiles "
				 "does; one count a line is needed");
	int decimals = decimals_that_fit(reader);
	if (decimals < 0)
		return error_set(err, -EOVERFLOW, "the counts add up to more than 64 bits");
	uint32_t event;
	if (add_event(reader, (unsigned)decimals, &event) < 0 ||
	    add_cells(reader, event, (unsigned)decimals) < 0)
		return error_set(err, -ENOMEM, "out of memory for %zu stacks",
				 reader->stacks.count);
	reader->counts.decimals = (unsigned)decimals;
	*counts = reader->counts;
	*out = reader->profile;
	reader->profile = NULL; /* the caller's from here on */
	return 0;
}

/* ---- as one format among others */

struct folded_import {
	const struct import_options *options;
	struct folded_options folded;
	struct folded_reader *reader;
};

static void import_close(void *context)
{
	struct folded_import *import = context;
	if (import)
		folded_reader_free(import->reader);
	free(import);
}

static int import_open(const struct import_options *options, void **out)
{
	struct folded_import *import = calloc(1, sizeof(*import));
	if (!import)
		return -ENOMEM;
	import->options = options;
	import->folded = (struct folded_options){ .event = options->event,
						  .unit = options->unit,
						  .one_count = options->one_count };
	if (folded_reader_new(&import->folded, &import->reader) < 0) {
		free(import);
		return -ENOMEM;
	}
	*out = import;
	return 0;
}

static int import_feed(void *context, const void *bytes, size_t size, struct error *err)
{
	struct folded_import *import = context;
	return folded_reader_feed(import->reader, bytes, size, err);
}

static void tell_counts(const struct import_options *options, const struct folded_counts *counts)
{
	if (counts->bad) {
		char lines[FOLDED_SHOWN_LINES * 24] = "";
		size_t at = 0;
		for (size_t i = 0; i < FOLDED_SHOWN_LINES && i < counts->bad; i++)
			at += (size_t)snprintf(lines + at, sizeof(lines) - at, "%s%llu",
					       i ? ", " : "",
					       (unsigned long long)counts->bad_lines[i]);
		import_tell(options, IMPORT_WARNING,
			    "%llu of %llu lines have no count and are left out (line %s%s)",
			    (unsigned long long)counts->bad, (unsigned long long)counts->lines,
			    lines, counts->bad > FOLDED_SHOWN_LINES ? ", ..." : "");
	}
	if (counts->rounded)
		import_tell(options, IMPORT_NOTE,
			    "%llu counts had more than %u decimals and were rounded",
			    (unsigned long long)counts->rounded, counts->decimals);
}

static int import_finish(void *context, struct profile **out, struct error *err)
{
	struct folded_import *import = context;
	struct folded_counts counts;
	int ret = folded_reader_finish(import->reader, out, &counts, err);
	if (ret == 0)
		tell_counts(import->options, &counts);
	return ret;
}

const struct importer importer_folded = {
	.name = "folded",
	.what = "folded stacks",
	.recognise = folded_recognise,
	.open = import_open,
	.feed = import_feed,
	.finish = import_finish,
	.close = import_close,
};
