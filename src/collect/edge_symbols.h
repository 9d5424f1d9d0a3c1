/*
 * edge_symbols - which definition the loader binds a dynamic symbol's name to: the only one
 * among a process's files, by their GNU hash tables. Where several define it, in versions or
 * in files, or where the process decides (ifuncs), it is unknown. So a result is certain,
 * but for libraries that were unloaded again before the process's mappings were read.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"

struct elf_file;

/* The tables of one file, borrowed from it: .gnu.hash, .dynsym, .dynstr. */
struct edge_symbols {
	struct span hashes, symbols, names; /* empty: none */
};

/* Finds the tables; all are empty where the file lacks one of them. */
void edge_symbols_of(const struct elf_file *file, struct edge_symbols *symbols);

/* The hash of a name in a GNU hash table. */
uint32_t edge_symbols_hash(struct span name);

enum edge_symbol { EDGE_SYMBOL_NONE, EDGE_SYMBOL_FOUND, EDGE_SYMBOL_UNKNOWN };
/* Whether the file defines `name`, whose hash is `hash`. FOUND: once, at *vaddr; UNKNOWN: several
 * times, or the value is not an address of this file. */
enum edge_symbol edge_symbols_find(const struct edge_symbols *symbols, struct span name,
				   uint32_t hash, uint64_t *vaddr);
