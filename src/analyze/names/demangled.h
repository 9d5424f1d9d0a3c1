/*
 * demangled - linkage names as people read them, each found out once. Asking the demangler
 * (symbol/demangle.h) for many names at once costs little more than for one, so whoever knows
 * which names will be looked up soon adds them beforehand.
 *
 * Texts live in the arena. Linkage names are borrowed and must outlive the list. One thread at a
 * time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/hash_index.h"
#include "base/span.h"
#include "symbol/demangle.h"

struct demangled_name {
	struct span linkage;
	const char *name;
};

struct demangled {
	/* private */
	struct demangler demangler;
	struct arena *arena;
	struct demangled_name *list;
	size_t count, capacity;
	struct hash_index index;
};

/* Names that are asked for together. Each is there once: one that breaks the request is asked for
 * again by itself. `count` is 0 at first; the rest need not be set. */
struct demangled_batch {
	size_t count;
	/* private */
	struct span linkages[DEMANGLE_BATCH];
	uint64_t hashes[DEMANGLE_BATCH];
};

void demangled_init(struct demangled *names, struct arena *arena);
void demangled_release(struct demangled *names);
/* The name, as it is when it cannot be demangled; NULL: nobody looked it up so far, nor
 * added it as one that looks mangled. */
const char *demangled_find(const struct demangled *names, struct span linkage);
/* The same; it is demangled now if need be. NULL: out of memory. */
const char *demangled_look_up(struct demangled *names, struct span linkage);
/* Demangles those that look mangled and are not known yet; what cannot be demangled is kept as it
 * is. What there is no memory for is left to demangled_look_up(). */
void demangled_add(struct demangled *names, const struct span *linkages, size_t count);
/* Takes the name into the batch, if it looks mangled and is not known yet. False: the batch is
 * full. */
bool demangled_take(const struct demangled *names, struct demangled_batch *batch,
		    struct span linkage);
/* Demangles them all, as demangled_add(), and empties the batch. */
void demangled_add_batch(struct demangled *names, struct demangled_batch *batch);
/* As demangler_trouble(). */
const char *demangled_trouble(const struct demangled *names);
