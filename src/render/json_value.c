#include "render/json_value.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/json_stream.h"
#include "image/writer.h"

enum json_kind { JSON_NULL, JSON_BOOL, JSON_U64, JSON_DOUBLE, JSON_TEXT, JSON_OBJECT, JSON_ARRAY };

struct json_object {
	const char *key;	  /* NULL in arrays and at the top */
	struct json_object *next; /* in what it belongs to */
	union {
		bool truth;
		uint64_t whole;
		double real;
		struct span text;
		struct {
			struct json_object *first, *last;
		} members;
	};
	enum json_kind kind;
};

static struct json_object *new_value(struct json_writer *writer, enum json_kind kind)
{
	struct json_object *value = arena_allocate(&writer->arena, sizeof(*value));
	writer->failed |= !value;
	if (value)
		value->kind = kind;
	return value;
}

struct json_object *json_new_object(struct json_writer *writer)
{
	return new_value(writer, JSON_OBJECT);
}

struct json_object *json_new_array(struct json_writer *writer)
{
	return new_value(writer, JSON_ARRAY);
}

void json_add(struct json_writer *writer, struct json_object *object, const char *key,
	      struct json_object *value)
{
	if (!value)
		value = new_value(writer, JSON_NULL);
	if (!object || !value) {
		writer->failed = true;
		return;
	}
	value->key = key;
	if (object->members.last)
		object->members.last->next = value;
	else
		object->members.first = value;
	object->members.last = value;
}

void json_append(struct json_writer *writer, struct json_object *array, struct json_object *value)
{
	json_add(writer, array, NULL, value);
}

void json_add_null(struct json_writer *writer, struct json_object *object, const char *key)
{
	json_add(writer, object, key, new_value(writer, JSON_NULL));
}

void json_add_bool(struct json_writer *writer, struct json_object *object, const char *key,
		   bool truth)
{
	struct json_object *value = new_value(writer, JSON_BOOL);
	if (value)
		value->truth = truth;
	json_add(writer, object, key, value);
}

void json_add_u64(struct json_writer *writer, struct json_object *object, const char *key,
		  uint64_t whole)
{
	struct json_object *value = new_value(writer, JSON_U64);
	if (value)
		value->whole = whole;
	json_add(writer, object, key, value);
}

void json_add_double(struct json_writer *writer, struct json_object *object, const char *key,
		     double real)
{
	struct json_object *value = new_value(writer, isfinite(real) ? JSON_DOUBLE : JSON_NULL);
	if (value && isfinite(real))
		value->real = real;
	json_add(writer, object, key, value);
}

void json_add_span(struct json_writer *writer, struct json_object *object, const char *key,
		   struct span text)
{
	struct json_object *value = new_value(writer, text.data ? JSON_TEXT : JSON_NULL);
	if (value && text.data) {
		value->text.size = text.size;
		value->text.data = arena_copy_text(&writer->arena, text.data, text.size);
		writer->failed |= !value->text.data;
	}
	json_add(writer, object, key, value);
}

void json_add_text(struct json_writer *writer, struct json_object *object, const char *key,
		   const char *text)
{
	json_add_span(writer, object, key, span_of_text(text));
}

void json_append_text(struct json_writer *writer, struct json_object *array, const char *text)
{
	json_add_text(writer, array, NULL, text);
}

void json_add_texts(struct json_writer *writer, struct json_object *object, const char *key,
		    const char *const *texts, size_t count)
{
	struct json_object *array = json_new_array(writer);
	for (size_t i = 0; i < count; i++)
		json_append_text(writer, array, texts[i]);
	json_add(writer, object, key, array);
}

void json_add_hex(struct json_writer *writer, struct json_object *object, const char *key,
		  uint64_t value)
{
	char text[24];
	snprintf(text, sizeof(text), "0x%" PRIx64, value);
	json_add_text(writer, object, key, text);
}

void json_add_bytes(struct json_writer *writer, struct json_object *object, const char *key,
		    struct span bytes)
{
	struct buffer text = { 0 };
	buffer_append_hex(&text, bytes.data, bytes.size);
	writer->failed |= buffer_failed(&text);
	json_add_text(writer, object, key, bytes.size ? buffer_text(&text) : NULL);
	buffer_release(&text);
}

void json_add_writer(struct json_writer *writer, struct json_object *object, uint64_t file_writer)
{
	char who[WRITER_TEXT_BYTES];
	writer_text(file_writer, who);
	json_add_text(writer, object, "writable_by", *who ? who : NULL);
}

void json_add_estimate(struct json_writer *writer, struct json_object *object, const char *key,
		       struct estimate estimate, double factor)
{
	if (estimate.kind == ESTIMATE_ABSENT)
		json_add_null(writer, object, key);
	else
		json_add_double(writer, object, key, estimate.value * factor);
	const double bounds[] = { estimate.low, estimate.high };
	static const char *const names[] = { "low", "high" };
	for (size_t i = 0; i < 2; i++) {
		const char *bound = arena_printf(&writer->arena, "%s_%s", key, names[i]);
		writer->failed |= !bound;
		if (estimate.kind == ESTIMATE_INTERVAL)
			json_add_double(writer, object, bound, bounds[i] * factor);
		else
			json_add_null(writer, object, bound);
	}
}

static void write_value(struct json_stream *json, const struct json_object *value)
{
	bool array = value->kind == JSON_ARRAY;
	switch (value->kind) {
	case JSON_NULL:
		json_stream_null(json, value->key);
		break;
	case JSON_BOOL:
		json_stream_raw(json, value->key, value->truth ? "true" : "false");
		break;
	case JSON_U64:
		json_stream_u64(json, value->key, value->whole);
		break;
	case JSON_DOUBLE:
		json_stream_double(json, value->key, value->real);
		break;
	case JSON_TEXT:
		json_stream_span(json, value->key, value->text);
		break;
	case JSON_OBJECT:
	case JSON_ARRAY:
		json_stream_open(json, value->key, array ? '[' : '{', JSON_LINES);
		for (const struct json_object *member = value->members.first; member;
		     member = member->next)
			write_value(json, member);
		json_stream_close(json, array ? ']' : '}');
	}
}

void json_finish(struct json_writer *writer, struct json_object *document, struct buffer *out)
{
	struct json_stream json = { .out = out };
	if (writer->failed || !document) {
		out->failed = true;
	} else {
		write_value(&json, document);
		buffer_append_u8(out, '\n');
	}
	arena_release(&writer->arena);
}
