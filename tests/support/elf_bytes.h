/*
 * elf_bytes - small ELF files written byte by byte, of 64 or 32 bits, to test
 * parsers on files that the compilers here do not make.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

struct elf_bytes_section {
	const char *name;
	uint32_t type;
	uint64_t flags;
	uint64_t vaddr;
	const void *bytes;
	size_t size_bytes;
	uint32_t link; /* number of another section, the first one given being 1 */
	uint64_t entry_bytes;
};

/*
 * A file with one PT_LOAD that maps all of it at `vaddr`, a PT_NOTE for the first
 * SHT_NOTE section, and the sections, whose vaddr is filled in where it is 0 and
 * SHF_ALLOC is set. `wide`: of 64 bits. Returns bytes that the caller releases.
 */
struct buffer elf_bytes_make(bool wide, uint16_t machine, uint64_t vaddr,
			     struct elf_bytes_section *sections, size_t count);
