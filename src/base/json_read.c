#include "base/json_read.h"

#include <string.h>

#include "base/digits.h"
#include "base/utf8.h"

const char json_no_memory[] = "out of memory";

static bool fail(struct json_reader *reader, const char *what)
{
	if (!reader->fault)
		reader->fault = what;
	return false;
}

char json_peek(struct json_reader *reader)
{
	if (reader->fault)
		return 0;
	while (reader->at < reader->size && memchr(" \t\r\n", reader->start[reader->at], 4))
		reader->at++;
	return reader->at < reader->size ? (char)reader->start[reader->at] : 0;
}

bool json_at_end(struct json_reader *reader)
{
	json_peek(reader);
	return !reader->fault &&
	       (reader->at == reader->size || fail(reader, "there is more behind the document"));
}

static bool take(struct json_reader *reader, char wanted)
{
	if (json_peek(reader) != wanted || !wanted)
		return false;
	reader->at++;
	return true;
}

bool json_enter(struct json_reader *reader, char bracket)
{
	if (take(reader, bracket))
		return true;
	return fail(reader, bracket == '{' ? "an object was expected" : "an array was expected");
}

static bool next(struct json_reader *reader, char end, bool *some)
{
	bool first = !*some;
	*some = true;
	if (take(reader, end))
		return false;
	if (!first && !take(reader, ','))
		return fail(reader, reader->at < reader->size ? "a comma is missing"
							      : "the document is cut off");
	return true;
}

bool json_next(struct json_reader *reader, bool *some)
{
	return next(reader, ']', some);
}

bool json_next_member(struct json_reader *reader, bool *some, struct buffer *key)
{
	return next(reader, '}', some) && json_read_text(reader, key) &&
	       (take(reader, ':') || fail(reader, "a colon is missing"));
}

/* ---- texts */

static bool take_hex(struct json_reader *reader, uint32_t *unit)
{
	*unit = 0;
	for (int i = 0; i < 4; i++, reader->at++) {
		if (reader->at == reader->size)
			return fail(reader, "the document is cut off");
		int digit = hex_digit((char)reader->start[reader->at]);
		if (digit < 0)
			return fail(reader, "\\u needs four digits");
		*unit = *unit << 4 | (uint32_t)digit;
	}
	return true;
}

static void append_character(struct buffer *out, uint32_t c)
{
	uint8_t bytes[UTF8_MAX_BYTES];
	buffer_append(out, bytes, utf8_put(bytes, c));
}

/* Behind "\u". */
static bool take_escaped_unit(struct json_reader *reader, struct buffer *out)
{
	uint32_t unit, low;
	if (!take_hex(reader, &unit))
		return false;
	if (unit >= 0xd800 && unit < 0xdc00 && reader->size - reader->at >= 6 &&
	    reader->start[reader->at] == '\\' && reader->start[reader->at + 1] == 'u') {
		size_t before = reader->at;
		reader->at += 2;
		if (!take_hex(reader, &low))
			return false;
		if (low >= 0xdc00 && low < 0xe000)
			unit = 0x10000 + ((unit & 0x3ff) << 10 | (low & 0x3ff));
		else
			reader->at = before;
	}
	append_character(out, unit >= 0xd800 && unit < 0xe000 ? UTF8_REPLACEMENT : unit);
	return true;
}

static bool take_escape(struct json_reader *reader, struct buffer *out)
{
	static const char names[] = "\"\\/bfnrt";
	static const char meanings[] = "\"\\/\b\f\n\r\t";
	if (reader->at == reader->size)
		return fail(reader, "the document is cut off");
	char c = (char)reader->start[reader->at++];
	if (c == 'u')
		return take_escaped_unit(reader, out);
	const char *name = c ? strchr(names, c) : NULL;
	if (!name)
		return fail(reader, "there is no such escape");
	buffer_append_u8(out, (uint8_t)meanings[name - names]);
	return true;
}

bool json_read_text(struct json_reader *reader, struct buffer *out)
{
	buffer_empty(out);
	if (!take(reader, '"'))
		return fail(reader, "a text was expected");
	for (;;) {
		size_t first = reader->at;
		while (reader->at < reader->size && reader->start[reader->at] != '"' &&
		       reader->start[reader->at] != '\\')
			reader->at++;
		buffer_append(out, reader->start + first, reader->at - first);
		if (reader->at == reader->size)
			return fail(reader, "the document is cut off");
		if (reader->start[reader->at++] == '"')
			return buffer_failed(out) ? fail(reader, json_no_memory) : true;
		if (!take_escape(reader, out))
			return false;
	}
}

/* ---- numbers */

static size_t digits(const struct json_reader *reader, size_t at)
{
	size_t first = at;
	while (at < reader->size && reader->start[at] >= '0' && reader->start[at] <= '9')
		at++;
	return at - first;
}

static bool byte_is(const struct json_reader *reader, size_t at, const char *bytes)
{
	return at < reader->size && reader->start[at] && strchr(bytes, reader->start[at]);
}

bool json_read_number(struct json_reader *reader, struct span *text)
{
	json_peek(reader);
	if (reader->fault)
		return false;
	size_t at = reader->at, count;
	at += byte_is(reader, at, "-");
	count = digits(reader, at);
	at += count;
	if (count && byte_is(reader, at, ".")) {
		count = digits(reader, at + 1);
		at += 1 + count;
	}
	if (count && byte_is(reader, at, "eE")) {
		at++;
		at += byte_is(reader, at, "+-");
		count = digits(reader, at);
		at += count;
	}
	if (!count)
		return fail(reader, "a number was expected");
	*text = (struct span){ reader->start + reader->at, at - reader->at };
	reader->at = at;
	return true;
}

bool json_read_u64(struct json_reader *reader, uint64_t *value)
{
	struct span text;
	size_t before = reader->at;
	*value = 0;
	if (!json_read_number(reader, &text))
		return false;
	const char *at = text.data, *end = at + text.size;
	if (digits_take(&at, end, 10, value) && at == end)
		return true;
	reader->at = before;
	return fail(reader, "a whole number was expected");
}

/* ---- anything */

static bool skip_text(struct json_reader *reader)
{
	for (reader->at++; reader->at < reader->size; reader->at++) {
		if (reader->start[reader->at] == '"') {
			reader->at++;
			return true;
		}
		reader->at += reader->start[reader->at] == '\\' && reader->size - reader->at > 1;
	}
	return fail(reader, "the document is cut off");
}

static bool skip_word(struct json_reader *reader, const char *word)
{
	size_t size = strlen(word);
	if (reader->size - reader->at < size || memcmp(reader->start + reader->at, word, size) != 0)
		return fail(reader, "a value was expected");
	reader->at += size;
	return true;
}

/* A value that is no object and no array. */
static bool skip_plain(struct json_reader *reader)
{
	struct span number;
	switch (json_peek(reader)) {
	case '"':
		return skip_text(reader);
	case 't':
		return skip_word(reader, "true");
	case 'f':
		return skip_word(reader, "false");
	case 'n':
		return skip_word(reader, "null");
	case 0:
		return fail(reader, "the document is cut off");
	default:
		return json_read_number(reader, &number);
	}
}

bool json_skip(struct json_reader *reader)
{
	bool object[JSON_READ_DEPTH], some[JSON_READ_DEPTH];
	size_t depth = 0;
	do {
		if (depth) {
			bool more = next(reader, object[depth - 1] ? '}' : ']', &some[depth - 1]);
			if (reader->fault)
				return false;
			if (!more) {
				depth--;
				continue;
			}
			if (object[depth - 1] &&
			    (json_peek(reader) != '"' || !skip_text(reader) || !take(reader, ':')))
				return fail(reader, "a member of an object was expected");
		}
		char c = json_peek(reader);
		if (c != '{' && c != '[') {
			if (!skip_plain(reader))
				return false;
			continue;
		}
		if (depth == JSON_READ_DEPTH)
			return fail(reader, "it is nested too deeply");
		reader->at++;
		object[depth] = c == '{';
		some[depth++] = false;
	} while (depth);
	return true;
}
