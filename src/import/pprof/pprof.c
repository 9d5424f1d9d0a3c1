/*
 * pprof - profiles in google/pprof's format (profile.proto), unpacked already
 * (import/reading/unpack.h). Its messages come in any order, so the file's bytes are
 * kept until the last has come.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/budget.h"
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/count_of.h"
#include "base/error.h"
#include "base/protobuf.h"
#include "import/formats.h"
#include "import/pprof/pprof_events.h"
#include "import/pprof/pprof_labels.h"
#include "import/pprof/pprof_places.h"
#include "import/pprof/pprof_wire.h"
#include "import/whole_file.h"
#include "profile/profile.h"

struct pprof_reader {
	const struct import_options *options;
	struct buffer bytes;
	size_t good;  /* bytes that are whole fields */
	bool stopped; /* at a fault in them, with options->force */
	struct profile *profile;
	struct pprof_places places;
	struct pprof_events events;
	struct pprof_sample sample;
	struct pprof_labels labels;
	uint64_t time_ns, duration_ns;
	struct pprof_value_type period_type;
	uint64_t period;
	uint64_t drop, keep; /* texts */
	size_t samples;	     /* that were read */
	uint64_t frames;     /* of all of them */
};

static void reader_close(void *context)
{
	struct pprof_reader *reader = context;
	if (!reader)
		return;
	profile_free(reader->profile);
	buffer_release(&reader->bytes);
	pprof_places_release(&reader->places);
	pprof_sample_release(&reader->sample);
	pprof_labels_release(&reader->labels);
	free(reader);
}

static int reader_open(const struct import_options *options, void **out)
{
	struct pprof_reader *reader = calloc(1, sizeof(*reader));
	if (!reader)
		return -ENOMEM;
	reader->options = options;
	reader->profile = profile_new();
	if (!reader->profile) {
		reader_close(reader);
		return -ENOMEM;
	}
	*out = reader;
	return 0;
}

static int reader_feed(void *context, const void *bytes, size_t size, struct error *err)
{
	struct pprof_reader *reader = context;
	return whole_file_feed(&reader->bytes, bytes, size, err);
}

/* How far the file consists of whole fields. */
static void find_end(struct pprof_reader *reader)
{
	struct cursor cursor = cursor_of(reader->bytes.data, reader->bytes.size);
	struct protobuf_field field;
	while (pprof_next_field(&cursor, &field))
		reader->good = cursor.at;
}

/* Reports a file that does not end with a whole field, unless reading has stopped before. */
static int check_end(const struct pprof_reader *reader, struct error *err)
{
	if (reader->good == reader->bytes.size || reader->stopped)
		return 0;
	return import_fault(reader->options, -EBADMSG, err,
			    "at byte %zu: the field is damaged, or the file is cut off",
			    reader->good);
}

static int damaged(const struct pprof_reader *reader, struct span message, struct error *err,
		   const char *what)
{
	return error_set(err, -EBADMSG, "at byte %zu: %s",
			 (size_t)((const uint8_t *)message.data - reader->bytes.data), what);
}

/* ---- everything but samples */

static int take_type(struct pprof_reader *reader, struct span message, struct error *err)
{
	struct pprof_value_type type;
	if (!pprof_get_value_type(message, &type))
		return damaged(reader, message, err, "this is no type of values");
	if (reader->events.count == PPROF_MAX_TYPES)
		return damaged(reader, message, err, "there are too many types of values");
	struct pprof_column *column = &reader->events.columns[reader->events.count++];
	bool known = pprof_text(&reader->places, type.type, &column->type);
	known &= pprof_text(&reader->places, type.unit, &column->unit);
	return known || pprof_dangling(&reader->places) == 0
		       ? 0
		       : damaged(reader, message, err,
				 "the type of values has a text that is not there");
}

static int take_field(struct pprof_reader *reader, const struct protobuf_field *field,
		      struct error *err)
{
	const struct {
		uint32_t number;
		uint64_t *value;
	} numbers[] = {
		{ PPROF_DROP_FRAMES, &reader->drop },
		{ PPROF_KEEP_FRAMES, &reader->keep },
		{ PPROF_TIME_NANOS, &reader->time_ns },
		{ PPROF_DURATION_NANOS, &reader->duration_ns },
		{ PPROF_PERIOD, &reader->period },
	};
	for (size_t i = 0; i < COUNT_OF(numbers); i++)
		if (field->number == numbers[i].number)
			*numbers[i].value = (int64_t)field->value < 0 ? 0 : field->value;
	if (field->number == PPROF_SAMPLE_TYPE)
		return take_type(reader, field->bytes, err);
	if (field->number == PPROF_PERIOD_TYPE &&
	    !pprof_get_value_type(field->bytes, &reader->period_type))
		return damaged(reader, field->bytes, err, "this is no type of values");
	return 0;
}

static int take_fields(struct pprof_reader *reader, struct error *err)
{
	struct cursor cursor = cursor_of(reader->bytes.data, reader->good);
	struct protobuf_field field;
	while (protobuf_next(&cursor, &field)) {
		int ret = take_field(reader, &field, err);
		if (ret < 0)
			return ret;
	}
	struct pprof_period period = { .period = reader->period };
	pprof_text(&reader->places, reader->period_type.type, &period.type);
	pprof_text(&reader->places, reader->period_type.unit, &period.unit);
	if (reader->events.count == 0)
		return error_set(err, -ENODATA, "the profile has no type of values");
	return pprof_events_add(&reader->events, reader->profile, &period) < 0
		       ? error_set(err, -ENOMEM, "out of memory")
		       : 0;
}

/* ---- samples */

/* The node of the sample's stack, and its leaf; 0: a sample without frames. */
static int add_stack(struct pprof_reader *reader, struct span message, uint32_t *node,
		     struct profile_frame *leaf, struct error *err)
{
	const struct pprof_sample *sample = &reader->sample;
	uint64_t depth = 0;
	*node = 0;
	for (size_t i = sample->location_count; i-- > 0;) {
		size_t count = 0;
		const struct profile_frame *frames =
			pprof_frames(&reader->places, sample->locations[i], &count);
		if (!frames && pprof_dangling(&reader->places) < 0)
			return damaged(reader, message, err,
				       "the sample has a location that is not there");
		depth += count;
		int ret = budget_check_depth(depth, err);
		if (ret < 0)
			return ret;
		for (size_t f = 0; f < count; f++)
			if (profile_add_node(reader->profile, *node, &frames[f], node) < 0)
				return error_set(err, -ENOMEM, "out of memory");
		if (count)
			*leaf = frames[count - 1];
	}
	reader->frames += depth; /* two bytes of a sample may be a location of 64 frames */
	return budget_check_frames(reader->frames, err);
}

static int unknown_leaf(struct pprof_reader *reader, struct profile_frame *leaf)
{
	const struct profile_image image = { .kind = IMAGE_UNKNOWN,
					     .space = SPACE_PROCESS,
					     .name = span_of_text("a sample without a stack") };
	*leaf = (struct profile_frame){ 0 };
	return profile_add_image(reader->profile, &image, &leaf->image);
}

static int add_cells(struct pprof_reader *reader, struct span message, uint32_t context,
		     uint32_t node, const struct profile_frame *leaf, struct error *err)
{
	for (size_t i = 0; i < reader->events.count; i++) {
		uint32_t event = reader->events.columns[i].event;
		struct cell cell;
		if (!event)
			continue;
		if (pprof_events_cell(&reader->events, i, reader->sample.values, &cell) < 0)
			return error_set(
				err, -EOVERFLOW, "at byte %zu: the values pass 64 bits",
				(size_t)((const uint8_t *)message.data - reader->bytes.data));
		if (!cell.estimate && !cell.samples)
			continue;
		if ((node && profile_add_stack(reader->profile, event, context, node, &cell) < 0) ||
		    profile_add_flat(reader->profile, event, context, leaf, &cell) < 0)
			return error_set(err, -ENOMEM, "out of memory");
	}
	return 0;
}

static int take_sample(struct pprof_reader *reader, struct span message, struct error *err)
{
	struct pprof_sample *sample = &reader->sample;
	uint32_t context, node;
	struct profile_frame leaf;
	budget_place("sample", reader->samples + 1);
	int ret = pprof_get_sample(message, sample);
	if (ret == -EBADMSG)
		return damaged(reader, message, err, "this is no sample");
	if (ret < 0)
		return error_set(err, ret, "out of memory");
	if (sample->value_count != reader->events.count)
		return damaged(reader, message, err,
			       "the sample has more or fewer values than the profile has types");
	for (size_t i = 0; i < sample->value_count; i++)
		if (sample->values[i] < 0)
			return damaged(reader, message, err,
				       "a value is below 0: this is the difference of two "
				       "profiles, not a profile");
	ret = pprof_labels_context(&reader->labels, &reader->places, message, sample->label_count,
				   &context);
	if (ret == -EBADMSG)
		return damaged(reader, message, err, "the sample has a damaged label");
	if (ret < 0)
		return error_set(err, ret, "out of memory");
	ret = add_stack(reader, message, &node, &leaf, err);
	if (ret == 0 && !node && unknown_leaf(reader, &leaf) < 0)
		return error_set(err, -ENOMEM, "out of memory");
	if (ret == 0)
		ret = add_cells(reader, message, context, node, &leaf, err);
	reader->samples++;
	return ret;
}

static int take_samples(struct pprof_reader *reader, struct error *err)
{
	struct cursor cursor = cursor_of(reader->bytes.data, reader->good);
	struct protobuf_field field;
	while (protobuf_next(&cursor, &field)) {
		if (field.number != PPROF_SAMPLE)
			continue;
		struct error fault = { 0 };
		int ret = take_sample(reader, field.bytes, &fault);
		if (ret == -EBADMSG) {
			reader->stopped = true;
			return import_fault(reader->options, ret, err, "%s", fault.text);
		}
		if (ret < 0)
			return error_set(err, ret, "%s", fault.text);
	}
	return 0;
}

/* ---- the end */

static void append_label(struct buffer *out, const char *key, struct span value)
{
	if (value.size == 0)
		return;
	buffer_printf(out, "%s%s=", out->size ? "\n" : "", key);
	for (size_t i = 0; i < value.size; i++) {
		char c = ((const char *)value.data)[i];
		buffer_append_u8(out, c == '\n' ? ' ' : (uint8_t)c);
	}
}

struct comments {
	const struct pprof_places *places;
	struct buffer *out;
};

static int take_comment(void *context, uint64_t number)
{
	struct span text;
	const struct comments *comments = context;
	if (pprof_text(comments->places, number, &text))
		append_label(comments->out, "comment", text);
	return 0;
}

/* The profile's comments and filters, as labels in the order of their names. */
static void append_labels(struct pprof_reader *reader, struct buffer *out)
{
	struct cursor cursor = cursor_of(reader->bytes.data, reader->good);
	struct protobuf_field field;
	struct span text;
	struct comments comments = { &reader->places, out };
	while (protobuf_next(&cursor, &field))
		if (field.number == PPROF_COMMENT)
			protobuf_numbers(&field, take_comment, &comments);
	if (pprof_text(&reader->places, reader->drop, &text))
		append_label(out, "drop_frames", text);
	if (text.size)
		import_report(
			reader->options, IMPORT_NOTE,
			"the profile asks to leave out frames that match '%.*s'; they are kept",
			(int)text.size, (const char *)text.data);
	if (pprof_text(&reader->places, reader->keep, &text))
		append_label(out, "keep_frames", text);
}

static int add_source(struct pprof_reader *reader)
{
	CLEANUP(buffer_release) struct buffer labels = { 0 };
	append_labels(reader, &labels);
	const struct profile_source source = {
		.tool = span_of_text("pprof format"),
		.labels = { labels.data, labels.size },
		.start_ns = reader->time_ns,
		.duration_ns = reader->duration_ns,
	};
	return buffer_failed(&labels) ? -ENOMEM : profile_add_source(reader->profile, &source);
}

static void report_losses(const struct pprof_reader *reader)
{
	const struct pprof_places *places = &reader->places;
	if (places->skipped)
		import_report(reader->options, IMPORT_WARNING,
			      "%zu damaged functions, mappings or locations are left out",
			      places->skipped);
	if (places->dangling)
		import_report(reader->options, IMPORT_WARNING,
			      "%zu references to texts, functions, mappings or locations that are "
			      "not there are left out",
			      places->dangling);
}

static int reader_finish(void *context, struct profile **out, struct error *err)
{
	struct pprof_reader *reader = context;
	bool lenient = reader->options->force;
	find_end(reader);
	int ret = lenient ? 0 : check_end(reader, err);
	if (ret < 0)
		return ret;
	ret = pprof_places_read(&reader->places, reader->profile,
				(struct span){ reader->bytes.data, reader->good }, lenient, err);
	if (ret == 0)
		ret = take_fields(reader, err);
	if (ret == -EBADMSG && lenient) { /* without types no value means anything */
		ret = -ENODATA;
		if (err)
			err->code = ret;
	}
	pprof_labels_init(&reader->labels, reader->profile);
	if (ret == 0)
		ret = take_samples(reader, err);
	if (ret == 0)
		ret = check_end(reader, err);
	report_losses(reader);
	if (ret == 0 && reader->samples == 0)
		ret = error_set(err, -ENODATA, "the profile has no sample");
	if (ret == 0)
		ret = code_lines_finish(&reader->places.lines, reader->profile, err);
	if (ret < 0)
		return ret;
	if (add_source(reader) < 0)
		return error_set(err, -ENOMEM, "out of memory");
	*out = reader->profile;
	reader->profile = NULL; /* the caller's from here on */
	return 0;
}

const struct importer importer_pprof = {
	.name = "pprof",
	.what = "a profile of google/pprof's format",
	.density = 31,
	.recognise = pprof_looks_like,
	.open = reader_open,
	.feed = reader_feed,
	.finish = reader_finish,
	.close = reader_close,
};
