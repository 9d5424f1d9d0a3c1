/*
 * step_machine - what stepping depends on of the machine's registers and instructions. Private to
 * collect/step.c.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/user.h>

#if defined(__x86_64__)

typedef struct user_regs_struct step_registers;

static inline uint64_t step_address(const step_registers *registers)
{
	return registers->rip;
}

/* Whether the program has set the trap flag (EFLAGS.TF) itself: then its traps could not be told
 * from ours. To be read before the first step; afterwards the kernel hides the flag that it sets.
 */
static inline bool step_steps_itself(const step_registers *registers)
{
	return registers->eflags & 0x100;
}

/* Whether the thread was interrupted in a system call that the kernel restarts (-ERESTARTSYS to
 * -ERESTART_RESTARTBLOCK): its address will go back to the call. */
static inline bool step_in_system_call(const step_registers *registers)
{
	long result = (long)registers->rax;
	return (long)registers->orig_rax >= 0 && result >= -516 && result <= -512;
}

/* Whether an instruction may be stepped: Intel SDM volume 2, 2.1.1 (prefixes) and appendix A. */
static inline bool step_is_safe(const uint8_t code[16])
{
	unsigned at = 0;
	while (at < 14 &&
	       (strchr("\x66\x67\xf0\xf2\xf3\x2e\x36\x3e\x26\x64\x65", code[at]) != NULL) &&
	       code[at])
		at++;
	if ((code[at] & 0xf0) == 0x40) /* REX */
		at++;
	switch (code[at]) {
	case 0x9c: /* pushf would save the trap flag, */
	case 0x9d: /* popf would make it the program's own */
	case 0xcc: /* int3, int, int1 */
	case 0xcd:
	case 0xf1:
	case 0xcf: /* iret */
	case 0x8e: /* mov to ss delays the trap by an instruction */
		return false;
	case 0x0f:
		/* syscall; sysenter; cpuid, which hypervisors execute: some lose its trap, and the
		 * next one comes after another instruction */
		return code[at + 1] != 0x05 && code[at + 1] != 0x34 && code[at + 1] != 0xa2;
	default:
		return true;
	}
}

#elif defined(__aarch64__)

typedef struct user_regs_struct step_registers;

static inline uint64_t step_address(const step_registers *registers)
{
	return registers->pc;
}

/* A program cannot set PSTATE.SS. */
static inline bool step_steps_itself(const step_registers *registers)
{
	(void)registers;
	return false;
}

/* The kernel has set the address back to the call already, which step_is_safe() refuses. */
static inline bool step_in_system_call(const step_registers *registers)
{
	(void)registers;
	return false;
}

/* Whether an instruction may be stepped. Arm ARM C4.1: not exception generation, nor load
 * exclusives. */
static inline bool step_is_safe(const uint8_t code[16])
{
	uint32_t word;
	memcpy(&word, code, sizeof(word));
	bool exception = (word & 0xff000000) == 0xd4000000;
	bool load_exclusive = (word & 0x3fc00000) == 0x08400000;
	return !exception && !load_exclusive;
}

#else
#error "stepping is written for x86-64 and arm64"
#endif
