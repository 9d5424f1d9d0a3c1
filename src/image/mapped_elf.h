/*
 * mapped_elf - an ELF file that is read where it is mapped.
 */
#pragma once

#include "base/mapped_file.h"
#include "image/elf_file.h"

struct error;

struct mapped_elf {
	struct mapped_file mapping;
	struct elf_file file;
};

/* Maps the file, which stays the caller's, and reads its headers. 0, or a negative errno value with
 * *err (may be NULL) as elf_file_parse(); *out can be released in any case. */
int mapped_elf_open(int fd, struct mapped_elf *out, struct error *err);
/* Also right for a zeroed one, and for CLEANUP(). */
void mapped_elf_release(struct mapped_elf *elf);
