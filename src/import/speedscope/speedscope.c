/*
 * speedscope - files of speedscope.app (its file-format-schema.json): stacks with
 * weights, or frames that open and close; several profiles in a file.
 *
 * Frames are names: their files and lines have no address to be kept at. A profile
 * of several is a thread; in a file of our own export it is an event.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/utf8.h"
#include "import/formats.h"
#include "import/speedscope/speedscope_document.h"
#include "import/whole_file.h"
#include "profile/profile.h"

struct open_frame {
	uint64_t frame;
	uint32_t node;
};

struct speedscope {
	const struct import_options *options;
	struct profile *profile;
	struct speedscope_document document;
	size_t endless; /* parts that end with frames open, and before their last event */
	struct open_frame *stack;
	size_t depth, stack_capacity;
	unsigned decimals, decimals_kept; /* that values have, but for times */
	uint64_t scale;			  /* 10 to the power of those kept */
	/* of the part that is read */
	uint32_t event, context;
	uint64_t factor; /* of its values */
	uint64_t total;
	size_t cells;
};

static void reader_close(void *context)
{
	struct speedscope *reader = context;
	if (!reader)
		return;
	profile_free(reader->profile);
	speedscope_document_release(&reader->document);
	free(reader->stack);
	free(reader);
}

static int reader_open(const struct import_options *options, void **out)
{
	struct speedscope *reader = calloc(1, sizeof(*reader));
	if (!reader)
		return -ENOMEM;
	reader->options = options;
	reader->profile = profile_new();
	if (!reader->profile) {
		reader_close(reader);
		return -ENOMEM;
	}
	reader->document.profile = reader->profile;
	*out = reader;
	return 0;
}

static int reader_feed(void *context, const void *bytes, size_t size, struct error *err)
{
	struct speedscope *reader = context;
	return whole_file_feed(&reader->document.file, bytes, size, err);
}

static int out_of_memory(struct error *err)
{
	return error_set(err, -ENOMEM, "out of memory");
}

/* ---- the scale of the values: they keep their decimals, but times become ns */

struct frame_event {
	bool opens, closes;
	uint64_t frame;
	struct decimal at;
};

static bool read_event(struct speedscope_document *document, struct json_reader *json,
		       struct frame_event *event)
{
	bool some = false, framed = false, timed = false;
	struct span number;
	*event = (struct frame_event){ 0 };
	json_enter(json, '{');
	while (!json->fault && json_next_member(json, &some, &document->text)) {
		if (speedscope_key_is(document, "type")) {
			json_read_text(json, &document->text);
			event->opens = speedscope_key_is(document, "O");
			event->closes = speedscope_key_is(document, "C");
		} else if (speedscope_key_is(document, "frame")) {
			framed = json_read_u64(json, &event->frame);
		} else if (speedscope_key_is(document, "at")) {
			timed = json_read_number(json, &number) &&
				decimal_parse(number, &event->at);
		} else {
			json_skip(json);
		}
	}
	return !json->fault && framed && timed && (event->opens || event->closes) &&
	       event->frame < document->frame_count;
}

static void note_decimals(struct speedscope *reader, struct decimal number)
{
	unsigned places = decimal_places(number);
	if (places > reader->decimals)
		reader->decimals = places;
}

static void note_weights(struct speedscope *reader, struct json_reader *json)
{
	bool some = false;
	struct span text;
	struct decimal number;
	json_enter(json, '[');
	while (!json->fault && json_next(json, &some) && json_read_number(json, &text))
		if (decimal_parse(text, &number))
			note_decimals(reader, number);
}

static void note_events(struct speedscope *reader, struct json_reader *json)
{
	bool some = false;
	struct frame_event event;
	json_enter(json, '[');
	while (!json->fault && json_next(json, &some) &&
	       read_event(&reader->document, json, &event))
		note_decimals(reader, event.at);
}

/* The most decimals of all parts, as far as their sums fit. */
static void find_scale(struct speedscope *reader)
{
	uint64_t end = 1;
	for (size_t i = 0; i < reader->document.part_count; i++) {
		const struct speedscope_part *part = &reader->document.parts[i];
		struct json_reader json = speedscope_at(
			&reader->document, part->evented ? part->events : part->weights);
		if (part->ns)
			continue;
		if (part->evented)
			note_events(reader, &json);
		else
			note_weights(reader, &json);
		if (__builtin_add_overflow(end, part->end.whole, &end))
			end = UINT64_MAX;
	}
	uint64_t most = UINT64_MAX / end;
	for (reader->scale = 1;
	     reader->scale <= most / 10 && reader->decimals_kept < reader->decimals;
	     reader->decimals_kept++)
		reader->scale *= 10;
}

static int begin_part(struct speedscope *reader, const struct speedscope_part *part)
{
	const struct import_options *options = reader->options;
	const char *unit = part->ns	   ? "ns"
			   : part->bytes   ? "bytes"
			   : options->unit ? options->unit
					   : "samples";
	const char *name = options->event ? options->event
			   : part->ns	  ? "time"
			   : part->bytes  ? "bytes"
					  : "samples";
	struct profile_event event = {
		.name = span_of_text(name),
		.unit = span_of_text(unit),
		.scale = part->ns ? 0 : reader->decimals_kept,
		.origin = ORIGIN_IMPORTED,
	};
	struct span own = profile_bytes(reader->profile, part->name);
	if (reader->document.ours && own.size && !options->event)
		event.name = own;
	reader->factor = part->ns ? part->ns : reader->scale;
	reader->context = 0;
	reader->total = 0;
	const struct profile_context context = { .thread = own };
	int ret = profile_add_event(reader->profile, &event, &reader->event);
	if (ret == 0 && !reader->document.ours && reader->document.part_count > 1 && own.size)
		ret = profile_add_context(reader->profile, &context, &reader->context);
	return ret;
}

/* ---- samples and events */

static bool node_of(struct speedscope *reader, uint64_t frame, uint32_t parent, uint32_t *node)
{
	struct profile_frame place = { .kind = FRAME_IP, .name = reader->document.frames[frame] };
	return profile_add_node(reader->profile, parent, &place, node) == 0;
}

static int add_weight(struct speedscope *reader, uint32_t node, struct decimal weight,
		      struct json_reader *json, struct error *err)
{
	struct cell cell = { 0 };
	if (!decimal_times(weight, reader->factor, &cell.estimate) ||
	    __builtin_add_overflow(reader->total, cell.estimate, &reader->total))
		return error_set(err, -EOVERFLOW, "at byte %zu: the weights pass 64 bits",
				 json->at);
	if (!cell.estimate)
		return 0;
	struct profile_frame leaf = { 0 };
	if (node)
		leaf = profile_node(reader->profile, node, NULL);
	else if (profile_add_text(reader->profile, "[no stack]", &leaf.name) < 0)
		return out_of_memory(err);
	reader->cells++;
	if ((node &&
	     profile_add_stack(reader->profile, reader->event, reader->context, node, &cell) < 0) ||
	    profile_add_flat(reader->profile, reader->event, reader->context, &leaf, &cell) < 0)
		return out_of_memory(err);
	return 0;
}

/* [frame, frame, ...], the outermost first. */
static int read_stack(struct speedscope *reader, struct json_reader *json, uint32_t *node,
		      struct error *err)
{
	bool some = false;
	*node = 0;
	json_enter(json, '[');
	while (!json->fault && json_next(json, &some)) {
		uint64_t frame;
		if (!json_read_u64(json, &frame))
			break;
		if (frame >= reader->document.frame_count)
			return speedscope_damaged(json, err,
						  "the sample has a frame that is not there");
		if (!node_of(reader, frame, *node, node))
			return out_of_memory(err);
	}
	return json->fault ? speedscope_damaged(json, err, "") : 0;
}

static bool next_number(struct json_reader *json, bool *some, struct decimal *number)
{
	struct span text;
	return json_next(json, some) && json_read_number(json, &text) &&
	       decimal_parse(text, number);
}

static int read_samples(struct speedscope *reader, const struct speedscope_part *part,
			struct error *err)
{
	struct json_reader samples = speedscope_at(&reader->document, part->samples);
	struct json_reader weights = speedscope_at(&reader->document, part->weights);
	bool some_samples = false, some_weights = false;
	json_enter(&samples, '[');
	json_enter(&weights, '[');
	while (!samples.fault && json_next(&samples, &some_samples)) {
		struct decimal weight;
		uint32_t node;
		int ret = read_stack(reader, &samples, &node, err);
		if (ret < 0)
			return ret;
		if (!next_number(&weights, &some_weights, &weight))
			return speedscope_damaged(&weights, err,
						  "the sample has no weight of 0 or more");
		ret = add_weight(reader, node, weight, &weights, err);
		if (ret < 0)
			return ret;
	}
	if (samples.fault)
		return speedscope_damaged(&samples, err, "");
	if (weights.fault || json_next(&weights, &some_weights) || weights.fault)
		return speedscope_damaged(&weights, err, "there are more weights than samples");
	return 0;
}

static int apply_event(struct speedscope *reader, const struct frame_event *event,
		       struct json_reader *json, struct error *err)
{
	struct open_frame *top = reader->depth ? &reader->stack[reader->depth - 1] : NULL;
	if (event->closes) {
		if (!top || top->frame != event->frame)
			return speedscope_damaged(json, err,
						  "a frame closes that is not the last one open");
		reader->depth--;
		return 0;
	}
	if (array_reserve(&reader->stack, &reader->stack_capacity, reader->depth,
			  sizeof(*reader->stack)) < 0)
		return out_of_memory(err);
	uint32_t parent = reader->depth ? reader->stack[reader->depth - 1].node : 0;
	struct open_frame *opened = &reader->stack[reader->depth];
	opened->frame = event->frame;
	if (!node_of(reader, event->frame, parent, &opened->node))
		return out_of_memory(err);
	reader->depth++;
	return 0;
}

/* The time between two events belongs to the innermost frame that is open. */
static int add_time(struct speedscope *reader, struct decimal from, struct decimal to,
		    struct json_reader *json, struct error *err)
{
	struct decimal weight;
	if (!reader->depth)
		return 0;
	if (!decimal_subtract(to, from, &weight))
		return speedscope_damaged(json, err,
					  "an event comes before the one in front of it");
	return add_weight(reader, reader->stack[reader->depth - 1].node, weight, json, err);
}

static int read_events(struct speedscope *reader, const struct speedscope_part *part,
		       struct error *err)
{
	struct json_reader json = speedscope_at(&reader->document, part->events);
	struct decimal last = { 0 };
	bool some = false;
	reader->depth = 0;
	json_enter(&json, '[');
	while (!json.fault && json_next(&json, &some)) {
		struct frame_event event;
		if (!read_event(&reader->document, &json, &event))
			return speedscope_damaged(
				&json, err,
				"the event has no type, no frame that is there, or no time");
		int ret = add_time(reader, last, event.at, &json, err);
		if (ret == 0)
			ret = apply_event(reader, &event, &json, err);
		if (ret < 0)
			return ret;
		last = event.at;
	}
	if (json.fault)
		return speedscope_damaged(&json, err, "");
	struct decimal left;
	if (decimal_subtract(part->end, last, &left))
		return add_time(reader, last, part->end, &json, err);
	reader->endless += reader->depth > 0; /* there is no end to count to */
	return 0;
}

static int read_all(struct speedscope *reader, struct error *err)
{
	find_scale(reader);
	for (size_t i = 0; i < reader->document.part_count; i++) {
		const struct speedscope_part *part = &reader->document.parts[i];
		if (begin_part(reader, part) < 0)
			return out_of_memory(err);
		int ret = part->evented ? read_events(reader, part, err)
					: read_samples(reader, part, err);
		if (ret < 0)
			return ret;
	}
	return 0;
}

static int reader_finish(void *context, struct profile **out, struct error *err)
{
	struct speedscope *reader = context;
	const struct profile_source source = { .tool = span_of_text("speedscope format") };
	struct error fault = { 0 };
	int ret = speedscope_document_read(&reader->document, &fault);
	bool whole = ret == 0;
	if (whole || (ret == -EBADMSG && reader->options->force)) {
		int read = read_all(reader, whole ? &fault : NULL);
		ret = whole || read == -ENOMEM || read == -EOVERFLOW ? read : ret;
	}
	if (ret == -EBADMSG)
		ret = import_fault(reader->options, ret, err, "%s", fault.text);
	else if (ret < 0)
		error_set(err, ret, "%s", fault.text);
	if (ret == 0 && reader->cells == 0)
		return error_set(err, -ENODATA, "the file has no weights");
	if (ret == 0 && profile_add_source(reader->profile, &source) < 0)
		return out_of_memory(err);
	if (ret < 0)
		return ret;
	if (reader->endless)
		import_report(
			reader->options, IMPORT_WARNING,
			"%zu of %zu profiles end before their last event, with frames still open: "
			"what these took from there on is missing",
			reader->endless, reader->document.part_count);
	*out = reader->profile;
	reader->profile = NULL; /* the caller's from here on */
	return 0;
}

/* An object whose beginning names the schema. */
static bool recognise(const void *bytes, size_t size)
{
	static const char schema[] = "speedscope.app/file-format-schema.json";
	struct json_reader json = json_reader_of((struct span){ bytes, size });
	json.at = utf8_mark_size(bytes, size);
	return json_peek(&json) == '{' && memmem(bytes, size, schema, sizeof(schema) - 1);
}

const struct importer importer_speedscope = {
	.name = "speedscope",
	.what = "a file of speedscope.app",
	.recognise = recognise,
	.open = reader_open,
	.feed = reader_feed,
	.finish = reader_finish,
	.close = reader_close,
};
