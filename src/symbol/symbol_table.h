/*
 * symbol_table - the functions of one executable: symbols of .symtab, .dynsym,
 * a separate debug file and .gnu_debugdata, of a stripped Go program the table that
 * its runtime uses, PLT stubs, and extents of .eh_frame that nothing names. One function per start;
 * of its aliases the best name is chosen, the same one everywhere: with a size before without,
 * function before label, global before weak before local, fewer leading underscores, longer, then
 * by bytes. A symbol without size ends where the next function begins, or its call frame
 * information or its section ends. Where that is far, the symbol is only the nearest one before the
 * code behind it (FUNCTION_NEAREST).
 *
 * Names borrow from the files, which must outlive the table.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/span.h"
#include "symbol/interval_map.h"
#include "symbol/symbol.h"

struct elf_file;

struct symbol_table {
	struct symbol *list; /* by start, one per start; extents may nest */
	size_t count;
	size_t capacity;
	struct interval_map map; /* innermost function by vaddr; owners are positions in `list` */
	uint32_t *cold;		 /* positions of cold parts, by parent */
	size_t cold_count;
	size_t bad; /* entries, or whole tables, that made no sense and are left out */
	struct arena names;
	struct buffer debugdata; /* .gnu_debugdata, unpacked */
};

/*
 * `debug` may be NULL; the caller checked that it is of the same build. Returns 0
 * or -ENOMEM; a table that cannot be read counts as bad and is left out.
 */
int symbol_table_build(const struct elf_file *file, const struct elf_file *debug,
		       struct symbol_table *table);
void symbol_table_release(struct symbol_table *table); /* also right for a zeroed one */
/* The function whose extent holds `vaddr`, or NULL. */
const struct symbol *symbol_table_find(const struct symbol_table *table, uint64_t vaddr);
/* Position in `cold` of the first cold part of the function at `parent`; cold_count when it has
 * none. */
size_t symbol_table_cold(const struct symbol_table *table, uint64_t parent);
