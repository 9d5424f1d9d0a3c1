/*
 * plt - the stubs of .plt, .plt.sec and .plt.got (x86-64 and aarch64), each
 * with its own extent and the symbol it jumps to. A stub is recognised by its
 * code, which loads from a slot that a relocation fills: so the linkers' many
 * layouts need no telling apart.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/span.h"

struct elf_file;

struct plt_stub {
	uint64_t start; /* vaddr */
	uint64_t size_bytes;
	struct span symbol; /* borrowed from the file; empty for an ifunc without a symbol */
	uint64_t target;    /* of such an ifunc: the vaddr of its resolver */
};

struct plt {
	struct plt_stub *stubs; /* by start */
	size_t count;
};

/* Returns 0 (also when there is no PLT) or -ENOMEM. */
int plt_read(const struct elf_file *file, struct plt *plt);
void plt_release(struct plt *plt); /* also right for a zeroed one */
