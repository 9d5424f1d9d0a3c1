#include "import/speedscope/speedscope_document.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/count_of.h"
#include "base/error.h"
#include "base/utf8.h"
#include "profile/profile.h"

void speedscope_document_release(struct speedscope_document *document)
{
	buffer_release(&document->file);
	buffer_release(&document->text);
	free(document->frames);
	free(document->parts);
	*document = (struct speedscope_document){ 0 };
}

static int out_of_memory(struct error *err)
{
	return error_set(err, -ENOMEM, "out of memory");
}

int speedscope_damaged(const struct json_reader *json, struct error *err, const char *what)
{
	return error_set(err, json->fault == json_no_memory ? -ENOMEM : -EBADMSG, "at byte %zu: %s",
			 json->at, json->fault ? json->fault : what);
}

/* What a buffer holds; the empty text too has data. */
static struct span text_of(const struct buffer *text)
{
	return text->size ? (struct span){ text->data, text->size } : span_of_text("");
}

struct json_reader speedscope_at(const struct speedscope_document *document, size_t position)
{
	struct json_reader json =
		json_reader_of((struct span){ document->file.data, document->file.size });
	json.at = position;
	return json;
}

/* ---- frames */

static int read_frame(struct speedscope_document *document, struct json_reader *json,
		      struct error *err)
{
	CLEANUP(buffer_release) struct buffer name = { 0 };
	bool some = false, named = false;
	json_enter(json, '{');
	while (!json->fault && json_next_member(json, &some, &document->text))
		if (speedscope_key_is(document, "name"))
			named = json_read_text(json, &name);
		else
			json_skip(json);
	if (json->fault || !named)
		return speedscope_damaged(json, err, "the frame has no name");
	if (array_reserve(&document->frames, &document->frame_capacity, document->frame_count,
			  sizeof(*document->frames)) < 0 ||
	    profile_add_bytes(document->profile, text_of(&name),
			      &document->frames[document->frame_count]) < 0)
		return out_of_memory(err);
	document->frame_count++;
	return 0;
}

static int read_frames(struct speedscope_document *document, struct json_reader *json,
		       struct error *err)
{
	bool some = false;
	json_enter(json, '[');
	while (!json->fault && json_next(json, &some)) {
		int ret = read_frame(document, json, err);
		if (ret < 0)
			return ret;
	}
	return json->fault ? speedscope_damaged(json, err, "") : 0;
}

static int read_shared(struct speedscope_document *document, struct json_reader *json,
		       struct error *err)
{
	bool some = false;
	json_enter(json, '{');
	while (!json->fault && json_next_member(json, &some, &document->text)) {
		int ret = 0;
		if (speedscope_key_is(document, "frames"))
			ret = read_frames(document, json, err);
		else
			json_skip(json);
		if (ret < 0)
			return ret;
	}
	return json->fault ? speedscope_damaged(json, err, "") : 0;
}

/* ---- the parts of a profile */

static void take_unit(const struct speedscope_document *document, struct speedscope_part *part)
{
	static const struct {
		const char *unit;
		uint64_t ns;
	} units[] = { { "nanoseconds", 1 },
		      { "microseconds", 1000 },
		      { "milliseconds", 1000000 },
		      { "seconds", 1000000000 } };
	for (size_t i = 0; i < COUNT_OF(units); i++)
		if (speedscope_key_is(document, units[i].unit))
			part->ns = units[i].ns;
	part->bytes = speedscope_key_is(document, "bytes");
}

/* Notes where an array starts, or the value of another member. */
static int take_member(struct speedscope_document *document, struct json_reader *json,
		       struct speedscope_part *part)
{
	const struct {
		const char *key;
		size_t *position;
	} arrays[] = { { "samples", &part->samples },
		       { "weights", &part->weights },
		       { "events", &part->events } };
	struct span number;
	for (size_t i = 0; i < COUNT_OF(arrays); i++)
		if (speedscope_key_is(document, arrays[i].key)) {
			*arrays[i].position = json->at;
			json_skip(json);
			return 0;
		}
	if (speedscope_key_is(document, "endValue")) {
		if (json_read_number(json, &number))
			decimal_parse(number, &part->end);
	} else if (speedscope_key_is(document, "type")) {
		if (json_read_text(json, &document->text))
			part->evented = speedscope_key_is(document, "evented");
	} else if (speedscope_key_is(document, "unit")) {
		if (json_read_text(json, &document->text))
			take_unit(document, part);
	} else if (speedscope_key_is(document, "name")) {
		if (!json_read_text(json, &document->text))
			return 0;
		if (profile_add_bytes(document->profile, text_of(&document->text), &part->name) < 0)
			return -ENOMEM;
	} else {
		json_skip(json);
	}
	return 0;
}

static int read_part(struct speedscope_document *document, struct json_reader *json,
		     struct error *err)
{
	struct speedscope_part part = { 0 };
	bool some = false;
	json_enter(json, '{');
	while (!json->fault && json_next_member(json, &some, &document->text))
		if (take_member(document, json, &part) < 0)
			return out_of_memory(err);
	if (json->fault || (part.evented ? !part.events : !part.samples || !part.weights))
		return speedscope_damaged(json, err,
					  "the profile has no samples and weights, and no events");
	if (array_reserve(&document->parts, &document->part_capacity, document->part_count,
			  sizeof(*document->parts)) < 0)
		return out_of_memory(err);
	document->parts[document->part_count++] = part;
	return 0;
}

static int read_parts(struct speedscope_document *document, struct json_reader *json,
		      struct error *err)
{
	bool some = false;
	json_enter(json, '[');
	while (!json->fault && json_next(json, &some)) {
		int ret = read_part(document, json, err);
		if (ret < 0)
			return ret;
	}
	return json->fault ? speedscope_damaged(json, err, "") : 0;
}

int speedscope_document_read(struct speedscope_document *document, struct error *err)
{
	struct json_reader json = speedscope_at(document, 0);
	bool some = false;
	json.at = utf8_mark_size(json.start, json.size);
	json_enter(&json, '{');
	while (!json.fault && json_next_member(&json, &some, &document->text)) {
		int ret = 0;
		if (speedscope_key_is(document, "shared"))
			ret = read_shared(document, &json, err);
		else if (speedscope_key_is(document, "profiles"))
			ret = read_parts(document, &json, err);
		else if (speedscope_key_is(document, "exporter") && json_peek(&json) == '"') {
			json_read_text(&json, &document->text);
			document->ours = span_starts_with(text_of(&document->text), "culprit");
		} else
			json_skip(&json);
		if (ret < 0)
			return ret;
	}
	return json.fault || !json_at_end(&json) ? speedscope_damaged(&json, err, "") : 0;
}
