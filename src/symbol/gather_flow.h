/*
 * gather_flow - what it takes to follow the flow of chosen functions, read from
 * their executable: tables of jumps (RECORD_DATA), places where control comes in
 * from elsewhere (RECORD_ENTRIES), names of what they call (RECORD_CALLEE).
 * x86-64 and AArch64; other code has none of it. What a record of one function
 * says does not depend on which others are chosen.
 *
 * Time: linear in the code of the chosen functions (decoded), in the image's code
 * (searched for branches) and in its relocations.
 */
#pragma once

#include <stdbool.h>

struct elf_file;
struct record_set;
struct symbol_table;

/* `marks` by position in the table. Returns 0 or -ENOMEM. */
int gather_flow(const struct elf_file *file, const struct symbol_table *table, const bool *marks,
		struct record_set *out);
