/*
 * pprof_tables - the texts and functions of a pprof profile, each once, by the numbers
 * that its messages refer to them with. Part of export/pprof.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/hash_index.h"
#include "base/span.h"

struct pprof_function_row {
	uint64_t name, system_name, file; /* numbers of texts */
};

struct pprof_tables {
	struct arena arena;
	struct span *texts; /* by number */
	size_t text_count, text_capacity;
	struct hash_index text_index;
	struct pprof_function_row *functions; /* by id - 1 */
	size_t function_count, function_capacity;
	struct hash_index function_index;
};
void pprof_tables_release(struct pprof_tables *tables); /* also right for zeroed ones */

/* Finds or adds a text; bytes that are not UTF-8, which proto3 forbids, become U+FFFD. 0 or
 * -ENOMEM. */
int pprof_text_of(struct pprof_tables *tables, struct span text, uint64_t *number);
int pprof_word_of(struct pprof_tables *tables, const char *word, uint64_t *number); /* NULL: "" */
/* Finds or adds a function. NULL stands for "". 0 or -ENOMEM. */
int pprof_function_of(struct pprof_tables *tables, const char *name, const char *system_name,
		      const char *file, uint64_t *id);
