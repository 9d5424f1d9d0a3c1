/*
 * speedscope - files of speedscope.app (its file-format-schema.json): stacks with
 * weights, or frames that open and close; several profiles in a file. Members of
 * objects come in any order, so the file's bytes are kept and read more than once;
 * there is never a tree of them.
 *
 * Frames are names: their files and lines have no address to be kept at. A profile
 * of several is a thread; in a file of our own export it is an event.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/count_of.h"
#include "base/error.h"
#include "base/json_read.h"
#include "base/utf8.h"
#include "import/formats.h"
#include "import/javascript/speedscope_number.h"
#include "import/whole_file.h"
#include "profile/profile.h"

/* One of the file's profiles: where its parts are. */
struct part {
	uint32_t name; /* in the byte pool, or 0 */
	bool evented;
	uint64_t ns;			 /* of its unit, for a time */
	bool bytes;			 /* its unit */
	struct decimal end;		 /* endValue */
	size_t samples, weights, events; /* positions; 0: not there */
};

struct open_frame {
	uint64_t frame;
	uint32_t node;
};

struct speedscope {
	const struct import_options *options;
	struct buffer file, text;
	struct profile *profile;
	uint32_t *frames; /* names in the byte pool */
	size_t frame_count, frame_capacity;
	struct part *parts;
	size_t part_count, part_capacity;
	size_t endless; /* parts that end with frames open, and before their last event */
	struct open_frame *stack;
	size_t depth, stack_capacity;
	bool ours;			  /* written by our own export */
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
	buffer_release(&reader->file);
	buffer_release(&reader->text);
	free(reader->frames);
	free(reader->parts);
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
	*out = reader;
	return 0;
}

static int reader_feed(void *context, const void *bytes, size_t size, struct error *err)
{
	struct speedscope *reader = context;
	return whole_file_feed(&reader->file, bytes, size, err);
}

static int out_of_memory(struct error *err)
{
	return error_set(err, -ENOMEM, "out of memory");
}

/* What the document's reader says, or that it is no such document. */
static int damaged(const struct json_reader *json, struct error *err, const char *what)
{
	return error_set(err, json->fault == json_no_memory ? -ENOMEM : -EBADMSG, "at byte %zu: %s",
			 json->at, json->fault ? json->fault : what);
}

/* The empty text is one too. */
static struct span text_of(const struct buffer *text)
{
	return text->size ? (struct span){ text->data, text->size } : span_of_text("");
}

static bool key_is(const struct speedscope *reader, const char *key)
{
	return span_equal((struct span){ reader->text.data, reader->text.size }, span_of_text(key));
}

static struct json_reader reader_at(const struct speedscope *reader, size_t position)
{
	struct json_reader json =
		json_reader_of((struct span){ reader->file.data, reader->file.size });
	json.at = position;
	return json;
}

/* ---- frames */

static int read_frame(struct speedscope *reader, struct json_reader *json, struct error *err)
{
	CLEANUP(buffer_release) struct buffer name = { 0 };
	bool some = false, named = false;
	json_enter(json, '{');
	while (!json->fault && json_next_member(json, &some, &reader->text))
		if (key_is(reader, "name"))
			named = json_read_text(json, &name);
		else
			json_skip(json);
	if (json->fault || !named)
		return damaged(json, err, "the frame has no name");
	if (array_reserve(&reader->frames, &reader->frame_capacity, reader->frame_count,
			  sizeof(*reader->frames)) < 0 ||
	    profile_add_bytes(reader->profile, text_of(&name),
			      &reader->frames[reader->frame_count]) < 0)
		return out_of_memory(err);
	reader->frame_count++;
	return 0;
}

static int read_frames(struct speedscope *reader, struct json_reader *json, struct error *err)
{
	bool some = false;
	json_enter(json, '[');
	while (!json->fault && json_next(json, &some)) {
		int ret = read_frame(reader, json, err);
		if (ret < 0)
			return ret;
	}
	return json->fault ? damaged(json, err, "") : 0;
}

static int read_shared(struct speedscope *reader, struct json_reader *json, struct error *err)
{
	bool some = false;
	json_enter(json, '{');
	while (!json->fault && json_next_member(json, &some, &reader->text)) {
		int ret = 0;
		if (key_is(reader, "frames"))
			ret = read_frames(reader, json, err);
		else
			json_skip(json);
		if (ret < 0)
			return ret;
	}
	return json->fault ? damaged(json, err, "") : 0;
}

/* ---- the parts of a profile */

static void take_unit(const struct speedscope *reader, struct part *part)
{
	static const struct {
		const char *unit;
		uint64_t ns;
	} units[] = { { "nanoseconds", 1 },
		      { "microseconds", 1000 },
		      { "milliseconds", 1000000 },
		      { "seconds", 1000000000 } };
	for (size_t i = 0; i < COUNT_OF(units); i++)
		if (key_is(reader, units[i].unit))
			part->ns = units[i].ns;
	part->bytes = key_is(reader, "bytes");
}

/* Keeps where an array starts, or what a plain member says. */
static int take_member(struct speedscope *reader, struct json_reader *json, struct part *part)
{
	const struct {
		const char *key;
		size_t *position;
	} arrays[] = { { "samples", &part->samples },
		       { "weights", &part->weights },
		       { "events", &part->events } };
	struct span number;
	for (size_t i = 0; i < COUNT_OF(arrays); i++)
		if (key_is(reader, arrays[i].key)) {
			*arrays[i].position = json->at;
			json_skip(json);
			return 0;
		}
	if (key_is(reader, "endValue")) {
		if (json_read_number(json, &number))
			decimal_parse(number, &part->end);
	} else if (key_is(reader, "type")) {
		if (json_read_text(json, &reader->text))
			part->evented = key_is(reader, "evented");
	} else if (key_is(reader, "unit")) {
		if (json_read_text(json, &reader->text))
			take_unit(reader, part);
	} else if (key_is(reader, "name")) {
		if (!json_read_text(json, &reader->text))
			return 0;
		if (profile_add_bytes(reader->profile, text_of(&reader->text), &part->name) < 0)
			return -ENOMEM;
	} else {
		json_skip(json);
	}
	return 0;
}

static int read_part(struct speedscope *reader, struct json_reader *json, struct error *err)
{
	struct part part = { 0 };
	bool some = false;
	json_enter(json, '{');
	while (!json->fault && json_next_member(json, &some, &reader->text))
		if (take_member(reader, json, &part) < 0)
			return out_of_memory(err);
	if (json->fault || (part.evented ? !part.events : !part.samples || !part.weights))
		return damaged(json, err, "the profile has no samples and weights, and no events");
	if (array_reserve(&reader->parts, &reader->part_capacity, reader->part_count,
			  sizeof(*reader->parts)) < 0)
		return out_of_memory(err);
	reader->parts[reader->part_count++] = part;
	return 0;
}

static int read_parts(struct speedscope *reader, struct json_reader *json, struct error *err)
{
	bool some = false;
	json_enter(json, '[');
	while (!json->fault && json_next(json, &some)) {
		int ret = read_part(reader, json, err);
		if (ret < 0)
			return ret;
	}
	return json->fault ? damaged(json, err, "") : 0;
}

/* The document, but for the samples and events that its profiles have. */
static int read_document(struct speedscope *reader, struct error *err)
{
	struct json_reader json = reader_at(reader, 0);
	bool some = false;
	json.at = utf8_mark_size(json.start, json.size);
	json_enter(&json, '{');
	while (!json.fault && json_next_member(&json, &some, &reader->text)) {
		int ret = 0;
		if (key_is(reader, "shared"))
			ret = read_shared(reader, &json, err);
		else if (key_is(reader, "profiles"))
			ret = read_parts(reader, &json, err);
		else if (key_is(reader, "exporter") && json_peek(&json) == '"') {
			json_read_text(&json, &reader->text);
			reader->ours = span_starts_with(text_of(&reader->text), "culprit");
		} else
			json_skip(&json);
		if (ret < 0)
			return ret;
	}
	return json.fault || !json_at_end(&json) ? damaged(&json, err, "") : 0;
}

/* ---- the scale of the values: decimals stay, unless they are of a time */

struct frame_event {
	bool opens, closes;
	uint64_t frame;
	struct decimal at;
};

static bool read_event(struct speedscope *reader, struct json_reader *json,
		       struct frame_event *event)
{
	bool some = false, framed = false, timed = false;
	struct span number;
	*event = (struct frame_event){ 0 };
	json_enter(json, '{');
	while (!json->fault && json_next_member(json, &some, &reader->text)) {
		if (key_is(reader, "type")) {
			json_read_text(json, &reader->text);
			event->opens = key_is(reader, "O");
			event->closes = key_is(reader, "C");
		} else if (key_is(reader, "frame")) {
			framed = json_read_u64(json, &event->frame);
		} else if (key_is(reader, "at")) {
			timed = json_read_number(json, &number) &&
				decimal_parse(number, &event->at);
		} else {
			json_skip(json);
		}
	}
	return !json->fault && framed && timed && (event->opens || event->closes) &&
	       event->frame < reader->frame_count;
}

static void see_decimals(struct speedscope *reader, struct decimal number)
{
	unsigned places = decimal_places(number);
	if (places > reader->decimals)
		reader->decimals = places;
}

static void see_weights(struct speedscope *reader, struct json_reader *json)
{
	bool some = false;
	struct span text;
	struct decimal number;
	json_enter(json, '[');
	while (!json->fault && json_next(json, &some) && json_read_number(json, &text))
		if (decimal_parse(text, &number))
			see_decimals(reader, number);
}

static void see_events(struct speedscope *reader, struct json_reader *json)
{
	bool some = false;
	struct frame_event event;
	json_enter(json, '[');
	while (!json->fault && json_next(json, &some) && read_event(reader, json, &event))
		see_decimals(reader, event.at);
}

/* The most decimals of all parts, as far as their sums fit. */
static void find_scale(struct speedscope *reader)
{
	uint64_t end = 1;
	for (size_t i = 0; i < reader->part_count; i++) {
		const struct part *part = &reader->parts[i];
		struct json_reader json =
			reader_at(reader, part->evented ? part->events : part->weights);
		if (part->ns)
			continue;
		if (part->evented)
			see_events(reader, &json);
		else
			see_weights(reader, &json);
		if (__builtin_add_overflow(end, part->end.whole, &end))
			end = UINT64_MAX;
	}
	uint64_t most = UINT64_MAX / end;
	for (reader->scale = 1;
	     reader->scale <= most / 10 && reader->decimals_kept < reader->decimals;
	     reader->decimals_kept++)
		reader->scale *= 10;
}

static int begin_part(struct speedscope *reader, const struct part *part)
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
	if (reader->ours && own.size && !options->event)
		event.name = own;
	reader->factor = part->ns ? part->ns : reader->scale;
	reader->context = 0;
	reader->total = 0;
	const struct profile_context context = { .thread = own };
	int ret = profile_add_event(reader->profile, &event, &reader->event);
	if (ret == 0 && !reader->ours && reader->part_count > 1 && own.size)
		ret = profile_add_context(reader->profile, &context, &reader->context);
	return ret;
}

/* ---- samples and events */

static bool node_of(struct speedscope *reader, uint64_t frame, uint32_t parent, uint32_t *node)
{
	struct profile_frame place = { .kind = FRAME_IP, .name = reader->frames[frame] };
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
		if (frame >= reader->frame_count)
			return damaged(json, err, "the sample has a frame that is not there");
		if (!node_of(reader, frame, *node, node))
			return out_of_memory(err);
	}
	return json->fault ? damaged(json, err, "") : 0;
}

static bool next_number(struct json_reader *json, bool *some, struct decimal *number)
{
	struct span text;
	return json_next(json, some) && json_read_number(json, &text) &&
	       decimal_parse(text, number);
}

static int read_samples(struct speedscope *reader, const struct part *part, struct error *err)
{
	struct json_reader samples = reader_at(reader, part->samples);
	struct json_reader weights = reader_at(reader, part->weights);
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
			return damaged(&weights, err, "the sample has no weight of 0 or more");
		ret = add_weight(reader, node, weight, &weights, err);
		if (ret < 0)
			return ret;
	}
	if (samples.fault)
		return damaged(&samples, err, "");
	if (weights.fault || json_next(&weights, &some_weights) || weights.fault)
		return damaged(&weights, err, "there are more weights than samples");
	return 0;
}

static int apply_event(struct speedscope *reader, const struct frame_event *event,
		       struct json_reader *json, struct error *err)
{
	struct open_frame *top = reader->depth ? &reader->stack[reader->depth - 1] : NULL;
	if (event->closes) {
		if (!top || top->frame != event->frame)
			return damaged(json, err, "a frame closes that is not the last one open");
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

/* Between two events the time is the frame's that is open. */
static int pass_time(struct speedscope *reader, struct decimal from, struct decimal to,
		     struct json_reader *json, struct error *err)
{
	struct decimal weight;
	if (!reader->depth)
		return 0;
	if (!decimal_subtract(to, from, &weight))
		return damaged(json, err, "an event comes before the one in front of it");
	return add_weight(reader, reader->stack[reader->depth - 1].node, weight, json, err);
}

static int read_events(struct speedscope *reader, const struct part *part, struct error *err)
{
	struct json_reader json = reader_at(reader, part->events);
	struct decimal last = { 0 };
	bool some = false;
	reader->depth = 0;
	json_enter(&json, '[');
	while (!json.fault && json_next(&json, &some)) {
		struct frame_event event;
		if (!read_event(reader, &json, &event))
			return damaged(&json, err,
				       "the event has no type, no frame that is there, or no time");
		int ret = pass_time(reader, last, event.at, &json, err);
		if (ret == 0)
			ret = apply_event(reader, &event, &json, err);
		if (ret < 0)
			return ret;
		last = event.at;
	}
	if (json.fault)
		return damaged(&json, err, "");
	struct decimal left;
	if (decimal_subtract(part->end, last, &left))
		return pass_time(reader, last, part->end, &json, err);
	reader->endless += reader->depth > 0; /* there is no end to count to */
	return 0;
}

static int read_all(struct speedscope *reader, struct error *err)
{
	find_scale(reader);
	for (size_t i = 0; i < reader->part_count; i++) {
		const struct part *part = &reader->parts[i];
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
	int ret = read_document(reader, &fault);
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
		import_tell(
			reader->options, IMPORT_WARNING,
			"%zu of %zu profiles end before their last event, with frames still open: "
			"what these took from there on is missing",
			reader->endless, reader->part_count);
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
