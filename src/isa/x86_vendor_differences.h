/*
 * x86_vendor_differences - the encodings of 64-bit mode that CPUs of different vendors or
 * generations read or execute differently, each with its source. Nothing is derived from what
 * differs: which CPU ran a sampled program is not known where its code is read, and a figure
 * that holds for one vendor alone would be wrong on the other's machines.
 *
 * An instruction that one vendor lacks is not in the list where the others raise an invalid
 * opcode for it: a program that ran it, ran on a CPU that has it.
 */
#pragma once

#include <stddef.h>

#include "base/span.h"

enum x86_differs {
	/* How long it is or where it goes: the flow of control ends there, unknown. */
	X86_DIFFERS_FLOW,
	/* Which registers or memory it writes: a path that is interpreted ends before it. */
	X86_DIFFERS_EFFECTS,
	/* Which values it writes there: these are unknown behind it. */
	X86_DIFFERS_RESULT,
	/*
	 * Which values it writes for some operands, or to some flags: these alone are unknown
	 * behind it. The interpreter knows this itself: x86_difference_of() does not return it.
	 */
	X86_DIFFERS_PART,
};

struct x86_difference {
	const char *encoding; /* as the manuals write it */
	enum x86_differs differs;
	const char *how;
	const char *source;
};

/* The difference of the instruction of 64-bit mode that `code` begins with; NULL: CPUs agree. */
const struct x86_difference *x86_difference_of(struct span code);
/* The difference of that number, from 0 on, in the order of `differs`; NULL behind the last. */
const struct x86_difference *x86_difference_at(size_t number);
