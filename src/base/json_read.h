/*
 * json_read - a JSON document (RFC 8259) read front to back from borrowed bytes,
 * value by value, without ever being in memory as a tree. The caller asks for
 * what it expects and skips the rest; positions can be kept and gone back to.
 *
 * The first fault sticks: everything after it returns false, `fault` says what and
 * `at` where. Nesting is bounded; nothing is allocated but for texts.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/span.h"

#define JSON_READ_DEPTH 64

struct json_reader {
	const uint8_t *start;
	size_t size, at;
	const char *fault; /* NULL: none */
};

extern const char json_no_memory[]; /* is `fault` when there is no memory for a text */

static inline struct json_reader json_reader_of(struct span bytes)
{
	return (struct json_reader){ bytes.data, bytes.size, 0, NULL };
}

/* The first byte of the next value, as '{', '[', '"', '-' or a digit, 't', 'f', 'n'; 0 at the end
 * or after a fault. */
char json_peek(struct json_reader *reader);

/* Opens an object ('{') or an array ('['). */
bool json_enter(struct json_reader *reader, char bracket);
/*
 * Whether the array has another element; the caller sets *some to false before the
 * first call. False at its end, which is read, or after a fault: look at `fault`.
 */
bool json_next(struct json_reader *reader, bool *some);
/* As json_next(), of an object; `key` becomes the key of the member. */
bool json_next_member(struct json_reader *reader, bool *some, struct buffer *key);

/* Replaces `out` by the text, as UTF-8; a half of a surrogate pair becomes U+FFFD. */
bool json_read_text(struct json_reader *reader, struct buffer *out);
/* A number as it is written. */
bool json_read_number(struct json_reader *reader, struct span *text);
/* A whole number below 2^64, without fraction or exponent. */
bool json_read_u64(struct json_reader *reader, uint64_t *value);
/* Reads over a value of any kind. */
bool json_skip(struct json_reader *reader);

/* Nothing but blanks may be left. */
bool json_at_end(struct json_reader *reader);
