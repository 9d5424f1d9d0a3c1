#include "base/json_stream.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>

#include "base/utf8.h"
#include "base/visible_text.h"

static void begin_line(struct json_stream *json)
{
	buffer_append_u8(json->out, '\n');
	for (unsigned i = 0; i < json->depth; i++)
		buffer_append_text(json->out, "  ");
}

void json_stream_key(struct json_stream *json, const char *key)
{
	if (json->depth) {
		if (json->some[json->depth])
			buffer_append_u8(json->out, ',');
		json->some[json->depth] = true;
		if (!json->flat[json->depth])
			begin_line(json);
	}
	if (!key)
		return;
	buffer_append_u8(json->out, '"');
	buffer_append_text(json->out, key);
	buffer_append(json->out, "\":", 2);
}

void json_stream_open(struct json_stream *json, const char *key, char bracket,
		      enum json_layout layout)
{
	assert(json->depth + 1 < JSON_STREAM_DEPTH);
	json_stream_key(json, key);
	buffer_append_u8(json->out, (uint8_t)bracket);
	bool flat = json->flat[json->depth] || layout == JSON_ONE_LINE;
	json->depth++;
	json->some[json->depth] = false;
	json->flat[json->depth] = flat;
}

void json_stream_close(struct json_stream *json, char bracket)
{
	assert(json->depth > 0);
	bool flat = json->flat[json->depth--];
	if (!flat)
		begin_line(json);
	buffer_append_u8(json->out, (uint8_t)bracket);
}

void json_stream_end(struct json_stream *json, char bracket)
{
	json_stream_close(json, bracket);
	buffer_append_u8(json->out, '\n');
}

void json_stream_raw(struct json_stream *json, const char *key, const char *value)
{
	json_stream_key(json, key);
	buffer_append_text(json->out, value);
}

void json_stream_null(struct json_stream *json, const char *key)
{
	json_stream_raw(json, key, "null");
}

void json_stream_bool(struct json_stream *json, const char *key, bool value)
{
	json_stream_raw(json, key, value ? "true" : "false");
}

void json_stream_u64(struct json_stream *json, const char *key, uint64_t value)
{
	json_stream_key(json, key);
	buffer_append_decimal(json->out, value);
}

void json_stream_i64(struct json_stream *json, const char *key, int64_t value)
{
	json_stream_key(json, key);
	if (value < 0)
		buffer_append_u8(json->out, '-');
	buffer_append_decimal(json->out, value < 0 ? -(uint64_t)value : (uint64_t)value);
}

void json_stream_known(struct json_stream *json, const char *key, bool known, uint64_t value)
{
	if (known)
		json_stream_u64(json, key, value);
	else
		json_stream_null(json, key);
}

void json_stream_hex(struct json_stream *json, const char *key, uint64_t value)
{
	json_stream_key(json, key);
	buffer_printf(json->out, "\"0x%" PRIx64 "\"", value);
}

void json_stream_double(struct json_stream *json, const char *key, double value)
{
	json_stream_key(json, key);
	if (isfinite(value))
		buffer_printf(json->out, "%.9g", value);
	else
		buffer_append_text(json->out, "null");
}

static void append_unit(struct buffer *out, uint32_t unit)
{
	static const char digits[] = "0123456789abcdef";
	const char code[] = { '\\',
			      'u',
			      digits[unit >> 12 & 15],
			      digits[unit >> 8 & 15],
			      digits[unit >> 4 & 15],
			      digits[unit & 15] };
	buffer_append(out, code, sizeof(code));
}

/* For a byte that is no part of UTF-8. */
static void append_byte(struct buffer *out, uint8_t byte)
{
	append_unit(out, UTF8_REPLACEMENT);
	buffer_append_hex(out, &byte, 1);
}

/* One character above ASCII or a byte that is none; returns how many bytes it took. */
static size_t append_character(struct buffer *out, const uint8_t *text, size_t left)
{
	size_t size = utf8_sequence(text, left);
	uint32_t character = size ? utf8_character(text, size) : UTF8_REPLACEMENT;
	if (character == UTF8_REPLACEMENT) {
		size = size ? size : 1;
		for (size_t i = 0; i < size; i++)
			append_byte(out, text[i]);
	} else if (character_kind(character) != CHARACTER_HIDDEN) {
		buffer_append(out, text, size);
	} else if (character < 0x10000) {
		append_unit(out, character);
	} else {
		append_unit(out, 0xd800 + ((character - 0x10000) >> 10));
		append_unit(out, 0xdc00 + (character & 0x3ff));
	}
	return size;
}

static void append_escaped(struct buffer *out, uint8_t c)
{
	static const char letters[] = "btnvfr"; /* from 0x08 on; JSON has no \v */
	if (c == '"' || c == '\\') {
		buffer_append_u8(out, '\\');
		buffer_append_u8(out, c);
	} else if (c >= '\b' && c <= '\r' && c != '\v') {
		buffer_append_u8(out, '\\');
		buffer_append_u8(out, (uint8_t)letters[c - '\b']);
	} else {
		append_unit(out, c);
	}
}

/* Whether the byte is written as it is. */
static bool is_plain(const struct json_stream *json, uint8_t c)
{
	if (c < 0x20 || c >= 0x7f || c == '"' || c == '\\')
		return false;
	return !json->in_markup || (c != '<' && c != '>' && c != '&');
}

static void append_text(struct json_stream *json, struct span text)
{
	struct buffer *out = json->out;
	const uint8_t *bytes = text.data;
	size_t written = 0;
	for (size_t i = 0; i < text.size;) {
		uint8_t c = bytes[i];
		if (is_plain(json, c)) {
			i++;
			continue;
		}
		buffer_append(out, bytes + written, i - written);
		if (c >= 0x80)
			i += append_character(out, bytes + i, text.size - i);
		else
			append_escaped(out, bytes[i++]);
		written = i;
	}
	if (written < text.size)
		buffer_append(out, bytes + written, text.size - written);
}

void json_stream_span(struct json_stream *json, const char *key, struct span text)
{
	json_stream_key(json, key);
	if (!text.data) {
		buffer_append_text(json->out, "null");
		return;
	}
	buffer_append_u8(json->out, '"');
	append_text(json, text);
	buffer_append_u8(json->out, '"');
}

void json_stream_text(struct json_stream *json, const char *key, const char *text)
{
	json_stream_span(json, key, span_of_text(text));
}

void json_stream_bytes(struct json_stream *json, const char *key, struct span bytes)
{
	if (!bytes.size) {
		json_stream_null(json, key);
		return;
	}
	json_stream_key(json, key);
	buffer_append_u8(json->out, '"');
	buffer_append_hex(json->out, bytes.data, bytes.size);
	buffer_append_u8(json->out, '"');
}

void json_stream_texts(struct json_stream *json, const char *key, const char *const *texts,
		       size_t count)
{
	json_stream_open(json, key, '[', JSON_LINES);
	for (size_t i = 0; i < count; i++)
		json_stream_text(json, NULL, texts[i]);
	json_stream_close(json, ']');
}
