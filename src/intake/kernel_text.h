/*
 * kernel_text - where the kernel's own code may lie beside what says that it does.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* From the end of the text, as kallsyms and mappings tell it, to that of what the kernel ran when it
 * started: data lies between, 40 MB of it in Debian's kernels. */
#define KERNEL_INIT_REACH (UINT64_C(64) << 20)

/* Whether an address belongs to what the kernel ran when it started, behind the text that ends at
 * `end`. Its memory is given away then, but its addresses stand at the root of idle CPUs' stacks. */
static inline bool kernel_text_is_init(uint64_t end, uint64_t address)
{
	return address >= end && address - end < KERNEL_INIT_REACH;
}
