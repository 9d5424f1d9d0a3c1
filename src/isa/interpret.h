/*
 * interpret - executes what follows a sample, from the sampled state: what the CPU did next, as
 * far as the sampled registers, a few bytes of stack and read-only memory tell. x86-64 and
 * AArch64. Each branch on the way whose outcome is certain is reported: evidence of where
 * control goes, at the cost of no more than a sample (DCPI, SOSP'97, section 7). The instructions
 * that are executed are a path.
 *
 * Values are known or unknown bit by bit. Memory is unknown but for the stack bytes
 * and blocks given, what the path itself stored at known addresses, and what read_only()
 * answers.
 * Stores to unknown addresses are ignored: so a path may, rarely, be wrong
 * (docs/methods.md, "Interpreted samples", has how rarely). Calls are followed where
 * their target is known.
 *
 * An interpreter belongs to one thread at a time and serves any number of paths, of any
 * number of processes: it keeps decoded instructions by address, and uses them
 * only while code() still shows the same bytes. A path neither allocates nor fails.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/span.h"
#include "isa/registers.h"

struct error;
struct interpreter;

#define INTERPRET_REGISTERS   32 /* x86: X86_RAX to X86_R15; AArch64: x0 to x30, AARCH64_SP */
#define INTERPRET_LIMIT_USUAL 30 /* instructions: more yields little (docs/methods.md) */

/* What memory held somewhere when the path began. */
struct interpret_block {
	uint64_t address;
	struct span bytes; /* not across the end of the address space */
};

/* What `stack` and `blocks` point to must stay valid until the path ends. */
struct interpret_start {
	uint64_t pc;
	uint64_t registers[INTERPRET_REGISTERS]; /* numbered as registers.h does */
	uint32_t registers_known;		 /* bit r: registers[r] is known */
	bool flags_known;
	uint64_t flags;	   /* x86: RFLAGS; AArch64: PSTATE as in SPSR, N in bit 31 */
	struct span stack; /* what memory holds from the stack pointer on; may be empty */
	const struct interpret_block *blocks; /* the same elsewhere */
	unsigned block_count;
};

enum interpret_edge {
	INTERPRET_CONDITIONAL, /* `to` is the target, or the instruction behind `from` */
	INTERPRET_INDIRECT,    /* jump by a register or memory */
	INTERPRET_CALL,	       /* by a register or memory */
	INTERPRET_RETURN,
};

/* Addresses are the process's. Direct calls and jumps are no evidence, and are not reported. */
struct interpret_callbacks {
	void *context; /* given to each */
	/*
	 * The executable bytes from `address` on, as far as they lie together; empty: none
	 * are known there, and the path ends. Valid until the path ends.
	 */
	struct span (*code)(void *context, uint64_t address);
	/*
	 * Memory that nothing writes while the program runs: .text, .rodata, what is read-only
	 * after relocation. Stores the `bytes` (1, 2, 4, 8) at `address`, little-endian, in
	 * *value and returns true; false: unknown. NULL: none is known.
	 */
	bool (*read_only)(void *context, uint64_t address, unsigned bytes, uint64_t *value);
	/* The branch at `from` went to `to`, in the order of the path. NULL: not wanted. */
	void (*edge)(void *context, uint64_t from, uint64_t to, enum interpret_edge kind);
};

/* Why a path ended, at an instruction that was not executed. */
enum interpret_end {
	INTERPRET_END_LIMIT,	 /* all instructions asked for were interpreted */
	INTERPRET_END_CONDITION, /* a conditional branch with an unknown outcome */
	INTERPRET_END_INDIRECT,	 /* a jump or call to an unknown address */
	INTERPRET_END_RETURN,	 /* to an unknown address */
	INTERPRET_END_SYSTEM,	 /* a system call, trap, or what only a kernel does */
	INTERPRET_END_CODE,	 /* code() had no bytes */
	INTERPRET_END_UNKNOWN,	 /* an instruction whose effects are not known, or no instruction */
	INTERPRET_ENDS,
};

struct interpret_result {
	unsigned instructions; /* executed */
	unsigned outcomes;     /* of branches, which were reported */
	uint64_t pc;	       /* of the first instruction not executed */
	enum interpret_end end;
};

/*
 * Stores an interpreter that the caller frees. Returns 0, -EINVAL (ISA_UNKNOWN),
 * -ENOTSUP (i386, or the disassembler has not this instruction set), or -ENOMEM.
 */
int interpreter_new(enum isa isa, struct interpreter **out, struct error *err);
void interpreter_free(struct interpreter *interpreter);	  /* NULL does nothing */
void interpreter_freep(struct interpreter **interpreter); /* for CLEANUP() */

/* Executes at most `limit` instructions from *start on. */
void interpreter_run(struct interpreter *interpreter, const struct interpret_start *start,
		     const struct interpret_callbacks *callbacks, unsigned limit,
		     struct interpret_result *out);

/*
 * Goes on with the path of the last interpreter_run(), which ended at its limit, to at most `limit`
 * instructions in all: as if that had been the limit. That call's callbacks, what its start pointed
 * to and its result must still be valid; the result is updated.
 */
void interpreter_go_on(struct interpreter *interpreter, unsigned limit);

/* "limit", "unknown condition", ... */
const char *interpret_end_name(enum interpret_end end);

/* Registers to sample with PERF_SAMPLE_REGS_USER, for perf_event_attr.sample_regs_user (bits are
 * PERF_REG_X86_*, PERF_REG_ARM64_*). 0 for another instruction set. */
uint64_t interpret_perf_registers(enum isa isa);
/* How many bytes of the stack are worth sampling with them: as many as a return at the end of a
 * procedure reads. */
unsigned interpret_stack_bytes(enum isa isa);
/*
 * The start of a path from sampled registers: `values` are those of `mask` in the order of its
 * bits, of a 64-bit process (PERF_SAMPLE_REGS_ABI_64). Leaves `stack` and `blocks` empty;
 * AArch64's flags are not sampled. False, and *out empty: `mask` has no instruction pointer.
 */
bool interpret_start_of_perf(enum isa isa, uint64_t mask, const uint64_t *values,
			     struct interpret_start *out);
