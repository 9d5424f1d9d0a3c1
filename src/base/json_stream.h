/*
 * json_stream - a JSON document written as it comes, in the order of its text,
 * without ever being in memory as a tree; every document that culprit writes is
 * written here. The layout is that of json-c's JSON_C_TO_STRING_PRETTY, two blanks a
 * level; an object or array may also stand on one line.
 *
 * Keys are the program's own words and are not escaped. A key is NULL in arrays
 * and at the top. Running out of memory shows in the buffer. A stream that begins at
 * a depth above 0 writes members of an object or array that is opened later.
 *
 * Texts are strangers': what steers a terminal, hides or changes the direction of
 * reading (base/visible_text.h) is written \uXXXX, which reads back as the same text.
 * A byte that is no UTF-8 becomes U+FFFD and two hexadecimal digits, and so does each
 * byte of a U+FFFD itself: two texts that differ never become one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/span.h"

#define JSON_STREAM_DEPTH 64

enum json_layout {
	JSON_LINES,    /* each member on a line */
	JSON_ONE_LINE, /* and so is everything in it */
};

struct json_stream {
	struct buffer *out; /* borrowed; may be emptied between two calls */
	bool in_markup;	    /* the document stands in XML or HTML: no <, > or & is in its texts */
	unsigned depth;
	bool some[JSON_STREAM_DEPTH]; /* a member is written, by depth */
	bool flat[JSON_STREAM_DEPTH]; /* on one line */
};

void json_stream_open(struct json_stream *json, const char *key, char bracket, /* '{' or '[' */
		      enum json_layout layout);
void json_stream_close(struct json_stream *json, char bracket); /* '}' or ']' */
/* Closes the object or array of the top, and ends the line. */
void json_stream_end(struct json_stream *json, char bracket);

/* `value` is JSON already: a number, true, null. */
void json_stream_raw(struct json_stream *json, const char *key, const char *value);
void json_stream_null(struct json_stream *json, const char *key);
void json_stream_bool(struct json_stream *json, const char *key, bool value);
void json_stream_u64(struct json_stream *json, const char *key, uint64_t value);
void json_stream_i64(struct json_stream *json, const char *key, int64_t value);
/* Null where it is not known. */
void json_stream_known(struct json_stream *json, const char *key, bool known, uint64_t value);
/* "0x1f" */
void json_stream_hex(struct json_stream *json, const char *key, uint64_t value);
/* Nine digits; null when it is no finite number. */
void json_stream_double(struct json_stream *json, const char *key, double value);
/* An absent text (data NULL) is null. */
void json_stream_span(struct json_stream *json, const char *key, struct span text);
void json_stream_text(struct json_stream *json, const char *key, const char *text);
/* As two digits a byte; null without bytes. */
void json_stream_bytes(struct json_stream *json, const char *key, struct span bytes);
void json_stream_texts(struct json_stream *json, const char *key, const char *const *texts,
		       size_t count);
/* Writes what stands before a value (comma, blanks, key); the caller then appends the value to the
 * buffer itself. */
void json_stream_key(struct json_stream *json, const char *key);
