/*
 * relocations - what the loader writes into a file's data before it runs: its own
 * addresses (relative relocations, RELR too) and those of symbols. x86-64 and
 * AArch64, by the sections that are loaded; other machines, and files whose
 * section headers are gone, have none here.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/span.h"

struct elf_file;

struct relocation {
	uint64_t vaddr;	    /* of the 8 bytes that are written */
	struct span symbol; /* borrowed from the file; empty: relative */
	uint64_t value;	    /* of a relative one: what is written at load address 0 */
	bool other;	    /* of another kind: what is written is not known */
};

struct relocations {
	struct relocation *list; /* by vaddr; one a place */
	size_t count;
	size_t capacity;
};

/* Those that are relative or write the address of a symbol. Returns 0 (also when there are none) or
 * -ENOMEM. */
int relocations_read(const struct elf_file *file, struct relocations *relocations);
/* All of them, to find out whether the loader leaves a place as it is in the file. */
int relocations_read_all(const struct elf_file *file, struct relocations *relocations);
void relocations_release(struct relocations *relocations); /* also right for a zeroed one */

/* Position of the first one at `vaddr` or above; count when there is none. */
size_t relocations_from(const struct relocations *relocations, uint64_t vaddr);
/* The one of exactly this place, or NULL. */
const struct relocation *relocations_find(const struct relocations *relocations, uint64_t vaddr);
/* Writes the values of relative ones into `bytes`, a copy of [vaddr, vaddr + size); of those that
 * lie across its ends, the part within. */
void relocations_apply(const struct relocations *relocations, uint64_t vaddr, void *bytes,
		       size_t size);
