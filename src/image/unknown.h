/*
 * unknown - why the code of a sample has no image. The text is the name of the
 * image of kind IMAGE_UNKNOWN. With '_' for ' ' it also stands after
 * BILL_UNKNOWN_PREFIX in the bill (profile/bill.h).
 */
#pragma once

enum unknown_cause {
	UNKNOWN_NONE,
	UNKNOWN_NO_MAPPING,
	UNKNOWN_NO_PROCESS,
	UNKNOWN_OUTSIDE_SEGMENTS,
	UNKNOWN_KERNEL_HIDDEN,
	UNKNOWN_KERNEL_ADDRESS,
	UNKNOWN_HYPERVISOR,
	UNKNOWN_GUEST,
	UNKNOWN_NO_ADDRESS,
	UNKNOWN_GUEST_KERNEL,
	UNKNOWN_GUEST_USER,
	UNKNOWN_NOT_UNWOUND,
	UNKNOWN_BEYOND_LIMIT,
	UNKNOWN_BEYOND_COPY,
	UNKNOWN_NO_RULE,
	UNKNOWN_NO_STACK,
	UNKNOWN_TOO_DEEP,
	UNKNOWN_CAUSES,
};

static const char *const unknown_texts[UNKNOWN_CAUSES] = {
	[UNKNOWN_NONE] = "",
	[UNKNOWN_NO_MAPPING] = "no mapping",	   /* the address is in no mapping that is known */
	[UNKNOWN_NO_PROCESS] = "process not seen", /* it ended before anybody could look */
	[UNKNOWN_OUTSIDE_SEGMENTS] = "outside the segments of its file",
	[UNKNOWN_KERNEL_HIDDEN] = "kernel base unknown", /* kptr_restrict */
	[UNKNOWN_KERNEL_ADDRESS] = "kernel address outside all text",
	[UNKNOWN_HYPERVISOR] = "hypervisor",
	[UNKNOWN_GUEST] = "guest of a virtual machine",
	[UNKNOWN_NO_ADDRESS] = "no address", /* the kernel sent none */
	[UNKNOWN_GUEST_KERNEL] = "guest kernel of a virtual machine",
	[UNKNOWN_GUEST_USER] = "guest user code of a virtual machine",
	/* callers of user code: registers and stack were copied, but not unwound */
	[UNKNOWN_NOT_UNWOUND] = "user stack not unwound",
	/* more distinct places than are kept for one user (collect/shares.h) */
	[UNKNOWN_BEYOND_LIMIT] = "beyond the limit for its user",
	/* callers of user code, of which a sample has but the top of the stack */
	[UNKNOWN_BEYOND_COPY] = "callers beyond the copied stack",
	/* callers of user code that nothing says how to unwind, and that keeps no frame pointer */
	[UNKNOWN_NO_RULE] = "callers of code without unwind rules",
	/* callers of user code whose stack pointer leads to no stack, as while one is switched */
	[UNKNOWN_NO_STACK] = "callers on a stack that is none",
	[UNKNOWN_TOO_DEEP] = "callers too deep to follow",
};
