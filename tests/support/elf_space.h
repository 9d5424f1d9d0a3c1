/*
 * elf_space - an ELF file as a code space, for tests and benches of graphs of code:
 * functions from call frame information, names from symbols, pointers from relative
 * relocations (or, in a file of fixed addresses, from its data), jumps between
 * functions by decoding all of them. No landing pads. A function NAME.cold is the cold
 * part of NAME.
 */
#pragma once

#include "analyze/flow/code_space.h"
#include "image/elf_file.h"

struct elf_space {
	struct code_space space; /* points into this struct, which must not be moved */
	struct elf_file file;
	uint8_t *bytes;			 /* of the file, relocated */
	struct code_function *functions; /* by first */
	size_t function_count, function_capacity;
	bool has_cold;
	struct code_entry *entries;
	size_t entry_count, entry_capacity;
	struct elf_space_name *names; /* of addresses and slots */
	size_t name_count, name_capacity;
	char **texts; /* owned: names that are not in the file, as "abort@plt" */
	size_t text_count, text_capacity;
};

/* Ends the test (or the bench) when it cannot. `bytes` is copied. */
void elf_space_init(struct elf_space *space, const void *bytes, size_t size_bytes);
void elf_space_release(struct elf_space *space);
/* The function of that name, or NULL. */
const struct code_function *elf_space_find(const struct elf_space *space, const char *name);
