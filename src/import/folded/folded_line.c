#include "import/folded/folded_line.h"

#include <string.h>

#include "base/digits.h"

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/*
 * Where the number at the end of text[0..size) starts: digits, then perhaps a
 * point and more digits; before it a blank. `size` when there is none.
 */
static size_t number_start(const char *text, size_t size)
{
	size_t at = size;
	size_t points = 0;
	while (at > 0 && (is_digit(text[at - 1]) || (text[at - 1] == '.' && points++ == 0)))
		at--;
	if (at == size || at == 0 || !is_blank(text[at - 1]) || !is_digit(text[at]))
		return size;
	return at;
}

/* False when the whole part passes 64 bits. */
static bool read_count(const char *text, size_t size, struct folded_count *out)
{
	const char *point = text;
	if (!digits_take(&point, text + size, 10, &out->whole))
		return false;
	size_t at = (size_t)(point - text);
	out->fraction = 0;
	out->decimals = 0;
	out->rounded = false;
	if (at == size)
		return true;
	while (size > at && text[size - 1] == '0')
		size--;
	const char *digits = text + at + 1;
	size_t count = size > at ? size - at - 1 : 0;
	for (size_t i = 0; i < FOLDED_MAX_DECIMALS; i++)
		out->fraction = out->fraction * 10 + (i < count ? (uint32_t)(digits[i] - '0') : 0);
	out->decimals = (unsigned)(count < FOLDED_MAX_DECIMALS ? count : FOLDED_MAX_DECIMALS);
	out->rounded = count > FOLDED_MAX_DECIMALS;
	if (!out->rounded || digits[FOLDED_MAX_DECIMALS] < '5')
		return true;
	if (++out->fraction < FOLDED_ONE)
		return true;
	out->fraction = 0; /* .9999999999 */
	return !__builtin_add_overflow(out->whole, UINT64_C(1), &out->whole);
}

bool folded_count_take(struct span *text, struct folded_count *out)
{
	const char *bytes = text->data;
	size_t at = number_start(bytes, text->size);
	if (at == text->size || !read_count(bytes + at, text->size - at, out))
		return false;
	text->size = at - 1;
	return true;
}

enum folded_line_kind folded_line_parse(const char *line, size_t size, struct folded_line *out)
{
	while (size && is_blank(line[size - 1]))
		size--;
	if (size == 0)
		return FOLDED_BLANK;
	size_t at = number_start(line, size);
	if (at == size) {
		bool comment = line[0] == '#' || (size >= 2 && line[0] == '/' && line[1] == '/');
		return comment ? FOLDED_COMMENT : FOLDED_BAD;
	}
	if (!read_count(line + at, size - at, &out->count) || memchr(line, 0, at))
		return FOLDED_BAD;
	out->stack = (struct span){ line, at - 1 };
	out->second_number = number_start(line, at - 1) != at - 1;
	return FOLDED_STACK;
}
