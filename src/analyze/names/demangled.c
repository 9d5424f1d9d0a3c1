#include "analyze/names/demangled.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"

void demangled_init(struct demangled *names, struct arena *arena)
{
	*names = (struct demangled){ .arena = arena };
	demangler_init(&names->demangler);
}

void demangled_release(struct demangled *names)
{
	demangler_release(&names->demangler);
	free(names->list);
	hash_index_release(&names->index);
}

static bool name_equal(const void *rows, uint32_t position, const void *wanted)
{
	return span_equal(((const struct demangled_name *)rows)[position].linkage,
			  *(const struct span *)wanted);
}

static const char *find(const struct demangled *names, struct span linkage, uint64_t hash)
{
	uint32_t position = hash_index_find(&names->index, hash, name_equal, names->list, &linkage);
	return position == HASH_INDEX_NONE ? NULL : names->list[position].name;
}

const char *demangled_find(const struct demangled *names, struct span linkage)
{
	return find(names, linkage, hash_bytes(linkage.data, linkage.size));
}

/* Keeps `shown`, or where it is NULL the linkage name itself. Returns what it kept. */
static const char *keep(struct demangled *names, struct span linkage, uint64_t hash,
			const char *shown)
{
	const char *copy = shown ? arena_copy_text(names->arena, shown, strlen(shown))
				 : arena_copy_text(names->arena, linkage.data, linkage.size);
	if (!copy ||
	    array_reserve(&names->list, &names->capacity, names->count, sizeof(*names->list)) < 0)
		return copy;
	names->list[names->count] = (struct demangled_name){ linkage, copy };
	if (hash_index_add(&names->index, hash, (uint32_t)names->count) == 0)
		names->count++;
	return copy;
}

static bool has(const struct demangled_batch *batch, struct span linkage, uint64_t hash)
{
	for (size_t i = 0; i < batch->count; i++)
		if (batch->hashes[i] == hash && span_equal(batch->linkages[i], linkage))
			return true;
	return false;
}

bool demangled_take(const struct demangled *names, struct demangled_batch *batch,
		    struct span linkage)
{
	if (batch->count == DEMANGLE_BATCH)
		return false;
	if (!demangle_concerns(linkage))
		return true;
	uint64_t hash = hash_bytes(linkage.data, linkage.size);
	if (find(names, linkage, hash) || has(batch, linkage, hash))
		return true;
	batch->linkages[batch->count] = linkage;
	batch->hashes[batch->count++] = hash;
	return true;
}

void demangled_add_batch(struct demangled *names, struct demangled_batch *batch)
{
	char *shown[DEMANGLE_BATCH];
	demangle(&names->demangler, batch->linkages, batch->count, shown);
	for (size_t i = 0; i < batch->count; i++) {
		keep(names, batch->linkages[i], batch->hashes[i], shown[i]);
		free(shown[i]);
	}
	batch->count = 0;
}

void demangled_add(struct demangled *names, const struct span *linkages, size_t count)
{
	struct demangled_batch batch;
	batch.count = 0;
	for (size_t i = 0; i < count; i++)
		if (!demangled_take(names, &batch, linkages[i])) {
			demangled_add_batch(names, &batch);
			demangled_take(names, &batch, linkages[i]);
		}
	demangled_add_batch(names, &batch);
}

const char *demangled_look_up(struct demangled *names, struct span linkage)
{
	uint64_t hash = hash_bytes(linkage.data, linkage.size);
	const char *found = find(names, linkage, hash);
	if (!found && demangle_concerns(linkage)) {
		demangled_add(names, &linkage, 1);
		found = find(names, linkage, hash);
	}
	return found ? found : keep(names, linkage, hash, NULL);
}

const char *demangled_trouble(const struct demangled *names)
{
	return demangler_trouble(&names->demangler);
}
