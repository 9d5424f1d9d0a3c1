#include "export/pprof_tables.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "base/utf8.h"

void pprof_tables_release(struct pprof_tables *tables)
{
	arena_release(&tables->arena);
	free(tables->texts);
	hash_index_release(&tables->text_index);
	free(tables->functions);
	hash_index_release(&tables->function_index);
}

static bool equal_texts(const void *rows, uint32_t position, const void *wanted)
{
	return span_equal(((const struct span *)rows)[position], *(const struct span *)wanted);
}

/* A copy in which bytes that are no UTF-8, which proto3 forbids, are U+FFFD. */
static int copy_text(struct pprof_tables *tables, struct span text, struct span *copy)
{
	CLEANUP(buffer_release) struct buffer clean = { 0 };
	const uint8_t *bytes = text.data;
	for (size_t i = 0; i < text.size;) {
		size_t length = utf8_sequence(bytes + i, text.size - i);
		buffer_append(&clean, length ? bytes + i : (const uint8_t *)"\xef\xbf\xbd",
			      length ? length : 3);
		i += length ? length : 1;
	}
	const char *spelled =
		buffer_text(&clean); /* not so long when there is no room for its end */
	copy->size = clean.size;
	copy->data =
		buffer_failed(&clean) ? NULL : arena_copy_text(&tables->arena, spelled, clean.size);
	return copy->data ? 0 : -ENOMEM;
}

int pprof_text_of(struct pprof_tables *tables, struct span text, uint64_t *number)
{
	uint64_t hash = hash_bytes(text.data, text.size);
	uint32_t found =
		hash_index_find(&tables->text_index, hash, equal_texts, tables->texts, &text);
	*number = found;
	if (found != HASH_INDEX_NONE)
		return 0;
	struct span copy;
	if (array_reserve(&tables->texts, &tables->text_capacity, tables->text_count,
			  sizeof(*tables->texts)) < 0 ||
	    copy_text(tables, text, &copy) < 0)
		return -ENOMEM;
	if (copy.size != text.size || !span_equal(copy, text)) /* known by what it became */
		return pprof_text_of(tables, copy, number);
	*number = tables->text_count;
	tables->texts[tables->text_count] = copy;
	return hash_index_add(&tables->text_index, hash, (uint32_t)tables->text_count++);
}

int pprof_word_of(struct pprof_tables *tables, const char *word, uint64_t *number)
{
	return pprof_text_of(tables, span_of_text(word ? word : ""), number);
}

static uint64_t hash_function(const struct pprof_function_row *function)
{
	return hash_u64(hash_u64(function->name << 32 | function->system_name) + function->file);
}

static bool equal_functions(const void *rows, uint32_t position, const void *wanted)
{
	const struct pprof_function_row *a = &((const struct pprof_function_row *)rows)[position],
					*b = wanted;
	return a->name == b->name && a->system_name == b->system_name && a->file == b->file;
}

int pprof_function_of(struct pprof_tables *tables, const char *name, const char *system_name,
		      const char *file, uint64_t *id)
{
	struct pprof_function_row function;
	if (pprof_word_of(tables, name, &function.name) < 0 ||
	    pprof_word_of(tables, system_name, &function.system_name) < 0 ||
	    pprof_word_of(tables, file, &function.file) < 0)
		return -ENOMEM;
	uint64_t hash = hash_function(&function);
	uint32_t found = hash_index_find(&tables->function_index, hash, equal_functions,
					 tables->functions, &function);
	*id = (uint64_t)found + 1;
	if (found != HASH_INDEX_NONE)
		return 0;
	if (array_reserve(&tables->functions, &tables->function_capacity, tables->function_count,
			  sizeof(*tables->functions)) < 0)
		return -ENOMEM;
	*id = (uint64_t)tables->function_count + 1;
	tables->functions[tables->function_count] = function;
	return hash_index_add(&tables->function_index, hash, (uint32_t)tables->function_count++);
}
