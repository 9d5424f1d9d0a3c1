/*
 * cold_parts - which function a split-off part ("foo.cold", "foo.cold.3") belongs
 * to. Static functions of one name are told apart by the source file that
 * the symbol table lists them under.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/span.h"

struct symbol;

struct cold_part {
	uint64_t start;
	uint64_t parent;
};

struct cold_parts {
	struct cold_part *list; /* by start; only those whose parent is known */
	size_t count;
	size_t capacity;
};

/* The name of the function that a cold part of this name belongs to, or empty. */
struct span cold_parent_name(struct span name);
/* Finds the cold parts among all symbols, aliases included, in any order. Returns 0 or -ENOMEM. */
int cold_parts_find(const struct symbol *symbols, size_t count, struct cold_parts *parts);
void cold_parts_release(struct cold_parts *parts);
