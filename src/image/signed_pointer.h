/*
 * signed_pointer - AArch64 return addresses without their signature.
 *
 * A program may sign them: the signature stands from the width of its addresses up
 * to bit 54 (ptrauth_user_pac_mask() of Linux's arch/arm64/include/asm/pointer_auth.h).
 * A recording does not say how wide addresses are; but bits above the highest mapping of
 * a process are no part of an address of its code.
 */
#pragma once

#include <stdint.h>

#define SIGNED_POINTER_KERNEL_BIT 55 /* set in addresses of the kernel; the tag is above */

/* The address, when `highest` is the last one that the process has mapped. Words of the kernel's
 * half stay as they are. */
static inline uint64_t signed_pointer_address(uint64_t word, uint64_t highest)
{
	unsigned width = highest ? 64 - (unsigned)__builtin_clzll(highest) : 0;
	if (word >> SIGNED_POINTER_KERNEL_BIT & 1 || width >= SIGNED_POINTER_KERNEL_BIT)
		return word;
	return word & ~((UINT64_C(1) << SIGNED_POINTER_KERNEL_BIT) - (UINT64_C(1) << width));
}
