#include "analyze/names/fold_name.h"

#include <stdint.h>
#include <string.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/count_of.h"

#define ANONYMOUS  "(anonymous namespace)"
#define LEVELS_MAX 64 /* of brackets in brackets; names from deeper ones stay as they are */

static bool is_word(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       c == '_';
}

/* Bytes at `at` that look like brackets but are none; 0: what stands there is what it seems. */
static size_t plain_bytes(const char *name, size_t at)
{
	static const char *const operators[] = { "()", "<=>", "<<=", ">>=", "->*", "->",
						 "<<", ">>",  "<=",  ">=",  "<",   ">" };
	char c = name[at];
	if (c != '(' && c != '-' && c != '=' && c != 'o')
		return 0;
	if (strncmp(name + at, ANONYMOUS, strlen(ANONYMOUS)) == 0)
		return strlen(ANONYMOUS);
	if (strncmp(name + at, "->", 2) == 0 || strncmp(name + at, "=>", 2) == 0)
		return 2;
	if (strncmp(name + at, "operator", 8) != 0 || (at > 0 && is_word(name[at - 1])))
		return 0;
	for (size_t i = 0; i < COUNT_OF(operators); i++)
		if (strncmp(name + at + 8, operators[i], strlen(operators[i])) == 0)
			return 8 + strlen(operators[i]);
	return 0;
}

/* "<alloc::Vec<T> as core::Clone>::clone": what it is a procedure of, and no argument. */
static bool is_leading_type(const char *name, size_t at)
{
	if (name[at] != '<')
		return false;
	if (at == 0 || strchr("<(&*", name[at - 1]))
		return true;
	return at >= 2 && (memcmp(name + at - 2, ", ", 2) == 0 ||
			   strncmp(name + at - 2, "::<impl ", strlen("::<impl ")) == 0);
}

struct bracket {
	char closing;
	bool folds; /* what is in it may be left out */
};

/* Leaves out what is in brackets that stand in `level` others. False: brackets do not pair. */
static bool fold_at(const char *name, size_t level, struct buffer *out)
{
	struct bracket open[LEVELS_MAX];
	size_t depth = 0, folding = 0; /* of all brackets, and of those that fold */
	for (size_t i = 0; name[i];) {
		size_t plain = plain_bytes(name, i);
		char c = name[i];
		if (plain == 0 && (c == '<' || c == '(')) {
			if (depth == LEVELS_MAX)
				return false;
			struct bracket bracket = { c == '<' ? '>' : ')',
						   !is_leading_type(name, i) };
			open[depth++] = bracket;
			folding += bracket.folds;
			if (folding <= level + bracket.folds)
				buffer_append_u8(out, (uint8_t)c);
			if (bracket.folds && folding == level + 1 && name[i + 1] != bracket.closing)
				buffer_append_text(out, "...");
			i++;
			continue;
		}
		if (plain == 0 && (c == '>' || c == ')')) {
			if (depth == 0 || open[depth - 1].closing != c)
				return false;
			bool folds = open[--depth].folds;
			if (folding <= level + folds)
				buffer_append_u8(out, (uint8_t)c);
			folding -= folds;
			i++;
			continue;
		}
		size_t size = plain ? plain : 1;
		if (folding <= level)
			buffer_append(out, name + i, size);
		i += size;
	}
	return depth == 0;
}

void fold_name(const char *name, size_t most, struct buffer *out)
{
	size_t size = strlen(name), start = out->size;
	bool pairs = true;
	for (size_t level = 4; size > most && pairs && !buffer_failed(out); level--) {
		out->size = start;
		pairs = fold_at(name, level, out);
		size_t folded = out->size - start;
		if (pairs && (folded <= most || (level == 0 && folded < size)))
			return;
		pairs = pairs && level > 0; /* "f<T>" is shorter than "f<...>" */
	}
	out->size = start;
	buffer_append(out, name, size);
}

bool fold_name_is(const char *name, const char *text)
{
	CLEANUP(buffer_release) struct buffer folded = { 0 };
	fold_name(name, FOLD_NAME_WIDTH, &folded);
	return !buffer_failed(&folded) && strcmp(buffer_text(&folded), text) == 0;
}
