#include "render/json_value.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "base/utf8.h"

struct json_object *json_new_object(struct json_writer *writer)
{
	struct json_object *object = json_object_new_object();
	writer->failed |= !object;
	return object;
}

struct json_object *json_new_array(struct json_writer *writer)
{
	struct json_object *array = json_object_new_array();
	writer->failed |= !array;
	return array;
}

void json_add(struct json_writer *writer, struct json_object *object, const char *key,
	      struct json_object *value)
{
	if (!object ||
	    json_object_object_add_ex(object, key, value, JSON_C_OBJECT_ADD_KEY_IS_NEW) < 0) {
		writer->failed = true;
		json_object_put(value);
	}
}

void json_append(struct json_writer *writer, struct json_object *array, struct json_object *value)
{
	if (!array || json_object_array_add(array, value) < 0) {
		writer->failed = true;
		json_object_put(value);
	}
}

/* A value that should be there. */
static void add_made(struct json_writer *writer, struct json_object *object, const char *key,
		     struct json_object *value)
{
	writer->failed |= !value;
	json_add(writer, object, key, value);
}

void json_add_null(struct json_writer *writer, struct json_object *object, const char *key)
{
	json_add(writer, object, key, NULL);
}

void json_add_bool(struct json_writer *writer, struct json_object *object, const char *key,
		   bool value)
{
	add_made(writer, object, key, json_object_new_boolean(value));
}

void json_add_u64(struct json_writer *writer, struct json_object *object, const char *key,
		  uint64_t value)
{
	add_made(writer, object, key, json_object_new_uint64(value));
}

void json_add_double(struct json_writer *writer, struct json_object *object, const char *key,
		     double value)
{
	if (!isfinite(value)) {
		json_add_null(writer, object, key);
		return;
	}
	char digits[32];
	snprintf(digits, sizeof(digits), "%.9g", value);
	add_made(writer, object, key, json_object_new_double_s(value, digits));
}

static struct json_object *text_of(struct json_writer *writer, struct span text)
{
	struct buffer clean = { 0 };
	const uint8_t *bytes = text.data;
	for (size_t i = 0; i < text.size;) {
		size_t length = utf8_sequence(bytes + i, text.size - i);
		if (length)
			buffer_append(&clean, bytes + i, length);
		else
			buffer_append_text(&clean, "\xef\xbf\xbd");
		i += length ? length : 1;
	}
	struct json_object *value = NULL;
	if (!buffer_failed(&clean) && clean.size <= INT32_MAX)
		value = json_object_new_string_len(clean.size ? (char *)clean.data : "",
						   (int)clean.size);
	buffer_release(&clean);
	writer->failed |= !value;
	return value;
}

void json_add_span(struct json_writer *writer, struct json_object *object, const char *key,
		   struct span text)
{
	json_add(writer, object, key, text.data ? text_of(writer, text) : NULL);
}

void json_add_text(struct json_writer *writer, struct json_object *object, const char *key,
		   const char *text)
{
	json_add_span(writer, object, key, span_of_text(text));
}

void json_append_text(struct json_writer *writer, struct json_object *array, const char *text)
{
	json_append(writer, array, text_of(writer, span_of_text(text)));
}

void json_add_estimate(struct json_writer *writer, struct json_object *object, const char *key,
		       struct estimate estimate, double factor)
{
	char bound[64];
	if (estimate.kind == ESTIMATE_ABSENT)
		json_add_null(writer, object, key);
	else
		json_add_double(writer, object, key, estimate.value * factor);
	const double bounds[] = { estimate.low, estimate.high };
	static const char *const names[] = { "low", "high" };
	for (size_t i = 0; i < 2; i++) {
		snprintf(bound, sizeof(bound), "%s_%s", key, names[i]);
		if (estimate.kind == ESTIMATE_INTERVAL)
			json_add_double(writer, object, bound, bounds[i] * factor);
		else
			json_add_null(writer, object, bound);
	}
}

void json_finish(struct json_writer *writer, struct json_object *document, struct buffer *out)
{
	const char *text = writer->failed
				   ? NULL
				   : json_object_to_json_string_ext(
					     document, JSON_C_TO_STRING_PRETTY |
							       JSON_C_TO_STRING_NOSLASHESCAPE);
	if (text) {
		buffer_append_text(out, text);
		buffer_append_u8(out, '\n');
	} else {
		out->failed = true;
	}
	json_object_put(document);
}
