/*
 * span - bytes that somebody else owns: a pointer and a size. Not terminated.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct span {
	const void *data;
	size_t size;
};

static inline struct span span_of_text(const char *text)
{
	return (struct span){ text, text ? strlen(text) : 0 };
}

static inline int span_equal(struct span a, struct span b)
{
	return a.size == b.size &&
	       (a.size == 0 || a.data == b.data || memcmp(a.data, b.data, a.size) == 0);
}

/* Order of the bytes as unsigned numbers; a prefix comes before what it begins. */
static inline int span_compare(struct span a, struct span b)
{
	size_t common = a.size < b.size ? a.size : b.size;
	int order = common && a.data != b.data ? memcmp(a.data, b.data, common) : 0;
	if (order)
		return order;
	return (a.size > b.size) - (a.size < b.size);
}

/* The last part of a path; a path that ends in '/' as it is. */
static inline struct span span_base_name(struct span path)
{
	const char *text = path.data;
	size_t at = path.size;
	while (at > 0 && text[at - 1] != '/')
		at--;
	return at == path.size ? path : (struct span){ text + at, path.size - at };
}

static inline bool span_starts_with(struct span span, const char *start)
{
	size_t size = strlen(start);
	return span.size >= size && memcmp(span.data, start, size) == 0;
}

static inline bool span_ends_with(struct span span, const char *end)
{
	size_t size = strlen(end);
	return span.size >= size &&
	       memcmp((const char *)span.data + span.size - size, end, size) == 0;
}
