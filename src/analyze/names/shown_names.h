/*
 * shown_names - linkage names as people read them, each found out once. Asking the demangler
 * (symbol/demangle.h) for many names at once costs little more than for one, so whoever knows
 * which names will be looked up soon adds them beforehand.
 *
 * Texts live in the arena. Linkage names are borrowed and must outlive the list. One thread at a
 * time.
 */
#pragma once

#include <stddef.h>

#include "base/arena.h"
#include "base/hash_index.h"
#include "base/span.h"
#include "symbol/demangle.h"

struct shown_name {
	struct span linkage;
	const char *name;
};

struct shown_names {
	/* private */
	struct demangler demangler;
	struct arena *arena;
	struct shown_name *list;
	size_t count, capacity;
	struct hash_index index;
};

void shown_names_init(struct shown_names *names, struct arena *arena);
void shown_names_release(struct shown_names *names);
/* The name, as it is when it is not mangled or cannot be demangled; NULL: nobody looked it up or
 * added it so far. */
const char *shown_names_find(const struct shown_names *names, struct span linkage);
/* The same; it is demangled now if need be. NULL: out of memory. */
const char *shown_names_look_up(struct shown_names *names, struct span linkage);
/* Demangles those that look mangled and are not known yet. What fails is left to
 * shown_names_look_up(). */
void shown_names_add(struct shown_names *names, const struct span *linkages, size_t count);
/* As demangler_trouble(). */
const char *shown_names_trouble(const struct shown_names *names);
