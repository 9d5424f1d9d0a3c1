/*
 * stack_walk - the frames of a stack of which there is a copy, by rules that somebody looks up. The
 * same steps are done in the kernel (walk_step.h).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/span.h"
#include "unwind/walk_end.h"
#include "unwind/frame_rule.h"

/* The machine that this program runs on, and the registers that a walk needs as a mask of perf's.
 */
#define WALK_MASK_X86_64  UINT64_C(0x401e2)    /* bx, di, bp, sp, ip, r10 */
#define WALK_MASK_AARCH64 (UINT64_C(15) << 29) /* x29, lr, sp, pc */
#if defined(__x86_64__)
#define WALK_MACHINE 62 /* EM_X86_64 */
#define WALK_MASK    WALK_MASK_X86_64
#elif defined(__aarch64__)
#define WALK_MACHINE 183 /* EM_AARCH64 */
#define WALK_MASK    WALK_MASK_AARCH64
#else
#define WALK_MACHINE 0 /* there are no rules */
#define WALK_MASK    UINT64_C(0)
#endif

/* What there is at an address of the process. */
struct walk_place {
	enum walk_end end; /* why the walk ends there: WALK_NO_MAPPING; else WALK_GOES_ON */
	frame_rule rule;   /* FRAME_CFA_NONE: there is none, */
	bool may_guess;	   /* and the frame pointer may be followed in its place */
	bool has_rules;	   /* it is in a file that has some */
};

struct walk_frame {
	uint64_t address;
	bool returns; /* it is where a call returns to */
	bool guessed; /* found by a frame pointer where no rule was */
};

struct stack_walk {
	uint16_t machine; /* EM_X86_64 or EM_AARCH64 */
	bool narrow; /* of a 32-bit program: of x86-64 by frame pointers alone, else not at all */
	/* Values of registers by perf's numbers (arch/.../include/uapi/asm/perf_regs.h), and which
	 * of them there are. */
	const uint64_t *registers;
	uint64_t mask;
	struct span stack; /* from the stack pointer on */
	void (*look_up)(void *context, uint64_t address, struct walk_place *place);
	void *context;
};

/* Registers that stand in the order ip, sp, frame pointer, x30 or rbx, and of x86-64 r10 and rdi,
 * by perf's numbers, up to 33; of the machine that this program runs on. */
void stack_walk_registers(const uint64_t *ordered, uint64_t *registers);

/*
 * Stores the frames, innermost first, up to `room`, and their number. The walk has ended because of
 * what is returned; WALK_NO_REGISTERS: those of the innermost frame are not there, or the machine
 * is another one, and there are no frames. WALK_UNREADABLE: the copy ends before the stack does, or
 * the stack is no stack.
 */
enum walk_end stack_walk_run(const struct stack_walk *walk, struct walk_frame *frames, size_t room,
			     size_t *count);
