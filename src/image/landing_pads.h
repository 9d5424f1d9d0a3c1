/*
 * landing_pads - where exceptions land in a function: the call sites of its
 * language-specific data (.gcc_except_table; Itanium C++ ABI, exception handling
 * tables). Bytes of strangers: each call site takes four bytes at least, and
 * nothing is allocated by a number in them.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/span.h"
#include "image/frame_pointer.h"

struct landing_pads {
	uint64_t *list; /* vaddrs, rising, no two equal */
	size_t count;
};

/*
 * `lsda` begins with the function's data, at base->vaddr, and may go on behind
 * its end; `function` is where the FDE starts. Returns 0, also where the data
 * makes no sense (the pads before the damage are kept), or -ENOMEM.
 */
int landing_pads_read(struct span lsda, const struct frame_base *base, uint64_t function,
		      struct landing_pads *pads);
void landing_pads_release(struct landing_pads *pads); /* also right for a zeroed one */
