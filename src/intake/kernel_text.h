/*
 * kernel_text - which addresses are the kernel's start-up code, that no symbol and no mapping
 * covers.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* How far behind the end of the kernel's text, by kallsyms or mappings, its start-up code may end:
 * data lies between, 40 MB of it in Debian's kernels. */
#define KERNEL_INIT_REACH (UINT64_C(64) << 20)

/* Whether an address lies in the start-up code, behind the text that ends at `end`. The kernel
 * frees that memory after its start, but its addresses stand at the root of idle CPUs' stacks. */
static inline bool kernel_text_is_init(uint64_t end, uint64_t address)
{
	return address >= end && address - end < KERNEL_INIT_REACH;
}
