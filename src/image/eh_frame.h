/*
 * eh_frame - function extents from call frame information (.eh_frame), which
 * stripped executables keep. Reads where functions start and end, and where their
 * tables of landing pads are (landing_pads.h); nothing of how to unwind.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct elf_file;

struct extent {
	uint64_t start;	     /* vaddr */
	uint64_t size_bytes; /* at least 1 */
	uint64_t lsda;	     /* vaddr of its language-specific data; 0: none */
};

struct extents {
	struct extent *list; /* by start, then size; no two equal */
	size_t count;
	size_t bad; /* entries that made no sense or use an encoding that linked files do not */
};

/* Finds .eh_frame by its section, else through PT_GNU_EH_FRAME. Returns 0 (also when there is none)
 * or -ENOMEM. */
int extents_read(const struct elf_file *file, struct extents *extents);
void extents_release(struct extents *extents); /* also right for a zeroed one */
