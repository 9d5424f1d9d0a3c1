/*
 * edge_symbols - what the loader makes of a dynamic symbol's name: the one definition
 * among a process's files, by their GNU hash tables. Where several define it, in
 * versions or in files, or where the process decides (ifuncs), it is unknown: what
 * is told is certain but for libraries that were there before ours saw them.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"

struct elf_file;

/* The tables of one file; borrowed from it. */
struct edge_symbols {
	struct span hashes, symbols, names; /* empty: none */
};

void edge_symbols_of(const struct elf_file *file, struct edge_symbols *symbols);

uint32_t edge_symbols_hash(struct span name);

enum edge_symbol { EDGE_SYMBOL_NONE, EDGE_SYMBOL_FOUND, EDGE_SYMBOL_UNKNOWN };
/* Whether the file defines it; FOUND: once, at *vaddr. */
enum edge_symbol edge_symbols_find(const struct edge_symbols *symbols, struct span name,
				   uint32_t hash, uint64_t *vaddr);
