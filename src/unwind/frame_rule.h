/*
 * frame_rule - how to get from one frame of a stack to its caller, in 8 bytes: where the caller's
 * stack pointer, frame pointer and return address are. For x86-64 and AArch64, and for programs in
 * the kernel (src/bpf) as well as for this one, so it needs nothing but integers.
 *
 * The words that are common: the frame's address (CFA, DWARF 5, section 6.4.1) is the caller's
 * stack pointer; the frame pointer is rbp or x29.
 */
#pragma once

#include <stdint.h>

/* How the frame's address is found, from the registers of the frame. */
enum frame_cfa {
	FRAME_CFA_NONE,	 /* nothing is known about the place */
	FRAME_CFA_STACK, /* stack pointer + offset */
	FRAME_CFA_FRAME, /* frame pointer + offset */
	FRAME_CFA_PLT, /* an entry of a procedure linkage table, 16 bytes: stack pointer + 8, and 8
			  more from byte `offset` of it on */
	FRAME_CFA_LOADED, /* the word at frame pointer + offset: functions that realign their stack
			   */
	FRAME_CFA_SIGNAL, /* the kernel's frame of a signal, whose registers (struct
			     frame_signal_registers) are at stack pointer + offset */
	FRAME_CFA_END,	  /* the outermost frame */
	FRAME_CFA_OTHER,  /* the register in the top 8 bits of the offset + the lower 24, signed */
	FRAME_CFA_LINKED, /* stack pointer + offset, and the return address is in the register
			     FRAME_LINK (x86-64 alone: vfork(3) keeps it in rdi) */
	FRAME_CFA_RECORD, /* frame pointer + offset, and at the frame pointer are the caller's and
			     the return address, whichever stack that is on: Go's functions that go
			     to another stack */
	FRAME_CFA_BELOW,  /* AArch64: stack pointer + offset, and at the stack pointer is the return
			     address, the caller's frame pointer 8 bytes below: Go's functions */
	FRAME_CFA_BAD,	  /* is said in a way that has no rule here */
	FRAME_CFAS
};

/* Where the caller's frame pointer is. */
enum frame_pointer_place {
	FRAME_POINTER_SAME,	/* it has not changed */
	FRAME_POINTER_AT_CFA,	/* at the frame's address + its offset */
	FRAME_POINTER_AT_FRAME, /* at frame pointer + its offset */
	FRAME_POINTER_LOST,
};

/*
 * From the lowest bit up: 8 bits enum frame_cfa, 2 enum frame_pointer_place, 6 slot, 16 offset of
 * the frame pointer's place, 32 offset of the frame's address; both signed.
 *
 * The slot is about a register that a rule follows beside the frame pointer. 0: it has not changed.
 * x86-64, rbx: n: saved at the frame's address - 8 * n; the return address is always at - 8.
 * AArch64, the return address, whose place may be far: 1: saved behind the frame pointer, in the
 * next word; n: at the frame's address - 8 * (n - 1).
 */
typedef uint64_t frame_rule;

#define FRAME_SLOT_MOST	 63
#define FRAME_SLOT_PAIR	 1 /* AArch64 */
#define FRAME_OTHER_MOST ((1 << 23) - 1)

static inline frame_rule frame_rule_of(enum frame_cfa cfa, enum frame_pointer_place pointer,
				       unsigned slot, int16_t pointer_offset, int32_t offset)
{
	return (uint64_t)cfa | (uint64_t)pointer << 8 | (uint64_t)slot << 10 |
	       (uint64_t)(uint16_t)pointer_offset << 16 | (uint64_t)(uint32_t)offset << 32;
}

static inline enum frame_cfa frame_rule_cfa(frame_rule rule)
{
	return (enum frame_cfa)(rule & 255);
}

static inline enum frame_pointer_place frame_rule_pointer(frame_rule rule)
{
	return (enum frame_pointer_place)(rule >> 8 & 3);
}

static inline unsigned frame_rule_slot(frame_rule rule)
{
	return (unsigned)(rule >> 10 & 63);
}

static inline int64_t frame_rule_pointer_offset(frame_rule rule)
{
	return (int16_t)(rule >> 16);
}

static inline int64_t frame_rule_offset(frame_rule rule)
{
	return (int32_t)(rule >> 32);
}
