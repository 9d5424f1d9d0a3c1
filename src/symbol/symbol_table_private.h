/*
 * symbol_table_private - what a file lists as functions (symbol_sources.c), for the table that is
 * made of it (symbol_table.c). These append to table->list. They return 0 or -ENOMEM; what makes no
 * sense is counted in table->bad and left out.
 */
#pragma once

#include <stdint.h>

#include "symbol/symbol_table.h"

struct elf_segment;
struct extents;

/* The executable segment that holds `vaddr`, or NULL. */
const struct elf_segment *symbol_code_segment(const struct elf_file *file, uint64_t vaddr);

/* The symbols of the file, of its debug file (or NULL) and of .gnu_debugdata, and where none of
 * these is a symbol table the functions of a Go program: aliases, and symbols without size, too. */
int symbol_table_read(const struct elf_file *file, const struct elf_file *debug,
		      struct symbol_table *table);
/* Stubs of the PLT, but for those where a symbol starts; the list is sorted by start. */
int symbol_table_add_stubs(const struct elf_file *file, struct symbol_table *table);
/* Extents that begin outside of every function of the list, as functions without a name; the list
 * is sorted by start, and has sizes. */
int symbol_table_add_unnamed(const struct elf_file *file, const struct extents *extents,
			     struct symbol_table *table);
