/*
 * frame_entries - the entries of call frame information, one after the other: which code each is
 * about, and the instructions that say where a frame's registers are (DWARF 5, section 6.4;
 * .eh_frame: Linux Standard Base, section 10.6). Stripped executables keep .eh_frame.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/span.h"

struct elf_file;

enum frame_section_kind {
	FRAMES_EH,    /* .eh_frame, by its section, else through PT_GNU_EH_FRAME */
	FRAMES_DEBUG, /* .debug_frame, which Go and assemblers write; not where it is compressed */
};

/* What entries have in common (a CIE). */
struct frame_common {
	size_t at;	  /* of it in its section: no other has that */
	uint8_t pointers; /* their encoding */
	uint8_t lsda;	  /* of the pointer to the table of landing pads; PE_OMIT: none */
	bool augmented;	  /* their augmentation has a length */
	bool signal;	  /* of frames that a signal interrupted */
	uint64_t code_align;
	int64_t data_align;
	uint64_t return_register;
	struct span instructions; /* that hold at the first byte of each entry */
};

/* What is said of one range of code (an FDE). */
struct frame_entry {
	uint64_t start;			   /* vaddr */
	uint64_t size_bytes;		   /* at least 1, and start + size_bytes does not wrap */
	uint64_t lsda;			   /* vaddr of its language-specific data; 0: none */
	const struct frame_common *common; /* until the next entry */
	struct span instructions;	   /* borrowed from the file */
};

/*
 * Calls `visit` for each entry, in the order of the file, until it returns another number than 0,
 * which is returned then; else 0, also when there is no such section. Stores in *bad how many
 * entries made no sense or use an encoding that linked files do not.
 */
int frame_entries_read(const struct elf_file *file, enum frame_section_kind kind,
		       int (*visit)(void *context, const struct frame_entry *entry), void *context,
		       size_t *bad);
