/*
 * unwind_modules - which ELF file lies at which addresses of a process: its mappings are
 * joined to modules, a file at a bias, which is the distance of its vaddrs from addresses.
 * Modules come in the order in which they are added. One thread at a time.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "image/address_space.h"
#include "image/elf_file.h"

struct unwind_module {
	const struct elf_file *elf; /* borrowed */
	void *owner;		    /* what the owner knows of the file */
	uint64_t bias;
	uint64_t low, high; /* addresses: the first, and the one behind the last */
};

struct unwind_modules { /* begins as zero; its owner frees `list` */
	struct unwind_module *list;
	size_t count, capacity;
};

/*
 * Adds the file of a mapping, unless the mapping lies in a module of that file, as those
 * of later segments do, or in no segment that makes sense. 0 or -ENOMEM.
 */
int unwind_modules_add(struct unwind_modules *modules, const struct elf_file *elf, void *owner,
		       const struct mapping *mapping);
/* `size` bytes at an address, from a segment that a program cannot write to; borrowed from the
 * file. NULL: not all of them are there. */
const void *unwind_modules_read(const struct unwind_modules *modules, uint64_t address,
				size_t size);
