/*
 * place_procedure - a row of a report that stands for code: a function, an inlined
 * function, or what takes the place of one that is not known. `first` and `image`
 * tell rows of one name apart.
 */
#pragma once

#include <stdint.h>

/* What is known of a place (an address of the profile) or of a procedure. */
enum place_mark {
	PLACE_KERNEL = 1,	 /* in the kernel, a module or BPF code */
	PLACE_NAMED = 2,	 /* a symbol (or a bare name) gave the name */
	PLACE_EXTENT = 4,	 /* within a known function extent */
	PLACE_HAS_IMAGE = 8,	 /* the image is known, or the frame is a bare name */
	PLACE_LATE = 16,	 /* samples that waited for interrupts are counted there; of a
				  * procedure: most of its samples are such ones */
	PLACE_IDLE = 32,	 /* the CPU's idle loop, which is no program's time */
	PLACE_INLINED = 64,	 /* an inlined function; its code is in another procedure */
	PLACE_BARE_NAME = 128,	 /* imported from a file that has names but no addresses */
	PLACE_SYMBOL_TABLE = 256 /* the name comes from a symbol table, so its image has one */
};

/* Borrows its texts. */
struct place_procedure {
	const char *name;
	const char *linkage;	/* "" without one */
	const char *image_name; /* short; "" for bare names without image */
	uint32_t image;		/* id in the profile; 0: none */
	uint64_t first;		/* start of its extent, a vaddr; 0: not known, or inlined */
	unsigned marks;		/* set of enum place_mark */
	const char *variant;	/* "@0x1234" or "build 3fa9c0de": see procedure_variants.h; or "" */
	uint32_t name_number, image_number; /* private: equal where the texts are */
};
