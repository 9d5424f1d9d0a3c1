#include "import/folded/folded_shape.h"

#include <string.h>

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* False also when there is but one frame. */
static bool is_stack(struct span text)
{
	const char *start = text.data, *end = start + text.size;
	const char *at = text.size ? memchr(start, ';', text.size) : NULL;
	if (!at || at == start || is_blank(*start) || end[-1] == ';')
		return false;
	for (; at; at = memchr(at + 1, ';', (size_t)(end - at) - 1))
		if (is_blank(at[1]))
			return false;
	return true;
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c & 0x80);
}

/* "operator new(unsigned long)" is none, "std::map<int, int>::at(int const&)" is one. */
static bool is_name(struct span text)
{
	const char *bytes = text.data;
	size_t depth = 0;
	bool lettered = false;
	if (text.size == 0 || memchr(bytes, ';', text.size) ||
	    strchr(":=,|{", bytes[text.size - 1]))
		return false;
	for (size_t i = 0; i < text.size; i++) {
		char c = bytes[i];
		lettered |= is_letter(c);
		depth += c == '(' || c == '<' || c == '[' || c == '{';
		depth -= depth && (c == ')' || c == '>' || c == ']' || c == '}');
		if (is_blank(c) && (depth == 0 || i == 0))
			return false;
	}
	return lettered;
}

void folded_shape_add(struct folded_shape *shape, enum folded_line_kind kind,
		      const struct folded_line *line)
{
	if (kind == FOLDED_BLANK || kind == FOLDED_COMMENT)
		return;
	bool counted = kind == FOLDED_STACK;
	if (counted && is_stack(line->stack))
		shape->stacks++;
	else if (counted && is_name(line->stack))
		shape->names++;
	else
		shape->others++;
}

bool folded_shape_fits(const struct folded_shape *shape)
{
	uint64_t fitting = shape->stacks + shape->names;
	uint64_t lines = fitting + shape->others;
	if (fitting == 0)
		return false;
	return (shape->stacks > lines / 10 && fitting >= shape->others) ||
	       fitting / 3 >= shape->others;
}
