/*
 * gather_flow - reads from an executable what following the flow of chosen functions
 * takes: jump tables (RECORD_DATA), places inside them where control comes in from
 * elsewhere (RECORD_ENTRIES), names of what they call (RECORD_CALLEE). For x86-64 and
 * AArch64; of other code it reads nothing. The records of a function do not depend
 * on which others are chosen.
 *
 * Time: linear in the code of the chosen functions (decoded), in the image's code
 * (searched for branches) and in its relocations.
 */
#pragma once

#include <stdbool.h>

struct elf_file;
struct record_set;
struct symbol_table;

/* marks[position in the table]: whether the function is chosen. Returns 0 or -ENOMEM. */
int gather_flow(const struct elf_file *file, const struct symbol_table *table, const bool *marks,
		struct record_set *out);
