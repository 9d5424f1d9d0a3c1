/*
 * elf_file - an ELF file's headers, segments and sections, checked, over
 * borrowed bytes: the whole file (or the vdso as it lies in memory, which is
 * one). 32 and 64 bit, little-endian; x86-64, i386, aarch64 and arm are what
 * the rest of culprit knows, others parse too.
 *
 * A file comes from strangers: every offset in it is compared with its size
 * before it is used, and what cannot be read is left out (a section whose bytes
 * lie outside has none). The bytes must stay unchanged until
 * elf_file_release(); from parse on nothing changes, so threads may share it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/span.h"

struct error;

struct elf_segment {
	uint32_t type;	/* PT_* */
	uint32_t flags; /* PF_* */
	uint64_t offset;
	uint64_t vaddr;
	uint64_t file_bytes;
	uint64_t memory_bytes;
};

struct elf_section {
	struct span name;
	uint32_t type;	/* SHT_* */
	uint64_t flags; /* SHF_* */
	uint64_t vaddr;
	uint64_t offset;
	uint64_t size_bytes;
	uint32_t link;
	uint32_t info;
	uint64_t entry_bytes;
};

struct elf_file {
	const uint8_t *bytes; /* borrowed */
	size_t size_bytes;
	bool comes_back;	  /* when its pages are dropped (mapped_file_let_go()) */
	bool wide;		  /* 64 bit */
	uint16_t type;		  /* ET_* */
	uint16_t machine;	  /* EM_* */
	uint64_t entry;		  /* the address where the program starts; 0: none */
	struct span header_table; /* the program headers as they are in the file */
	struct elf_segment *segments;
	size_t segment_count;
	struct elf_section *sections; /* without the empty first one; none when stripped of them */
	size_t section_count;
};

/*
 * Fills *file, which the caller releases. Returns 0, -ENOEXEC (not an ELF file),
 * -ENOTSUP (big-endian), -EBADMSG (damaged) or -ENOMEM with *err filled; *file
 * then needs no release.
 */
int elf_file_parse(const void *bytes, size_t size_bytes, struct elf_file *file, struct error *err);
void elf_file_release(struct elf_file *file); /* also right for a zeroed one */
/* After a step that read much of it: drops what is in memory of a file that comes back, or of bytes
 * within it. */
void elf_file_let_go(const struct elf_file *file);
void elf_file_let_go_of(const struct elf_file *file, struct span bytes);

/* The first section of that name, or NULL. */
const struct elf_section *elf_file_section(const struct elf_file *file, const char *name);
/* The section of the number that other headers use (sh_link, st_shndx), or NULL. */
const struct elf_section *elf_file_section_at(const struct elf_file *file, size_t number);
/* Its bytes as in the file; empty for SHT_NOBITS or when they lie outside the file. */
struct span elf_file_section_bytes(const struct elf_file *file, const struct elf_section *section);

/* The file offset of a vaddr. False when no PT_LOAD segment's file bytes hold it. */
bool elf_file_offset_of_vaddr(const struct elf_file *file, uint64_t vaddr, uint64_t *offset);
/* Up to `size_bytes` bytes at `vaddr`, fewer where the segment's file bytes end; empty when there
 * are none. */
struct span elf_file_code(const struct elf_file *file, uint64_t vaddr, uint64_t size_bytes);
