/*
 * edge_memory - what is known of the memory of processes from the files that they have
 * mapped executable: code, and data that nothing writes while the program runs, as the
 * dynamic loader leaves it. Unknown are writable data, and of data that is read-only after
 * relocation (PT_GNU_RELRO) what the loader fills with what other files decide.
 *
 * Files come from strangers: the caller is a process without rights
 * (collect/edge_helper.h). Memory grows with the files' relocations; the files
 * themselves are mapped. One thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/span.h"
#include "image/address_space.h"
#include "isa/decode.h"

struct edge_file;
struct error;

struct edge_memory {
	enum isa isa;		  /* code of other machines is unknown */
	struct edge_file **files; /* by number; NULL: unknown */
	size_t capacity;
};

void edge_memory_release(struct edge_memory *memory);
/* Makes file `number` of mappings known: maps `fd`, which stays the caller's. 0, or a negative
 * errno with *err (damaged, no ELF file of this machine): the file then stays unknown. */
int edge_memory_set_file(struct edge_memory *memory, uint32_t number, int fd, struct error *err);
/* The same from bytes that outlive the memory, for tests. */
int edge_memory_set_bytes(struct edge_memory *memory, uint32_t number, struct span bytes,
			  struct error *err);

/* An executable mapping of a process. */
struct edge_mapping {
	uint64_t start, end, offset;
	struct edge_file *file;
	uint32_t number;
	uint64_t bias; /* address minus vaddr */
};

struct edge_image { /* a file with all its segments, as loaded at one bias */
	uint64_t start, end;
	struct edge_file *file;
	uint64_t bias;
};

struct edge_space {
	struct edge_mapping *mappings; /* of known files, by start */
	struct edge_image *images;
	size_t mapping_count, image_count;
	size_t last_image; /* where the last search ended */
};

/* `mappings` are sorted by start and do not overlap. `space` borrows files from `memory`. 0 or
 * -ENOMEM. */
int edge_space_init(struct edge_space *space, const struct edge_memory *memory,
		    const struct mapping *mappings, size_t count);
void edge_space_release(struct edge_space *space); /* also right for a zeroed one */

/* The executable bytes from `address` on; empty: unknown. */
struct span edge_space_code(const struct edge_space *space, uint64_t address);
/* `bytes` up to 8, little-endian. False: unknown. */
bool edge_space_read(struct edge_space *space, uint64_t address, unsigned bytes, uint64_t *value);
/* Where code at `address` lies. False: in no known file. */
bool edge_space_place(const struct edge_space *space, uint64_t address, uint32_t *file,
		      uint64_t *vaddr);
