/*
 * unwind_engine - call stacks from a sample of registers and stack bytes, by the
 * unwind tables of the binaries (libdwfl). It believes what ELF files and their
 * tables say: import/unwind/unwind.h runs it in a process where that does no harm.
 *
 * The owner numbers files as it likes, from 1, and address spaces in the order in which it sets
 * them. A file that a stack needs and that was never set ends the run with UNWIND_FILE_NEEDED: set
 * it, or set that it is missing, and run again. So only binaries that lie on stacks are looked for.
 * One thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/span.h"
#include "image/address_space.h"

struct error;
struct unwind_engine;

#define UNWIND_MAX_FRAMES    1024
#define UNWIND_MAX_REGISTERS 64 /* bits of a mask */
#define UNWIND_MAX_FILES     (1u << 20)

/* Why a stack ends where it does. */
enum unwind_end {
	UNWIND_WHOLE,	      /* at the outermost frame */
	UNWIND_NO_BINARY,     /* the last frame's file is missing */
	UNWIND_NO_MAPPING,    /* the last frame, or its caller, is in no mapped file */
	UNWIND_STACK_CUT,     /* the sample holds too little of the stack */
	UNWIND_NO_RULE,	      /* the last frame's file does not say how to go on */
	UNWIND_TOO_DEEP,      /* UNWIND_MAX_FRAMES */
	UNWIND_NO_REGISTERS,  /* none in the sample, or of a machine that is not known */
	UNWIND_HELPER_FAILED, /* the unwinding process died or took too long */
	UNWIND_SPACES_COSTLY, /* mappings change so often that sending them costs too much */
	UNWIND_FILE_NEEDED,   /* of an engine only */
	UNWIND_ENDS
};

/* A frame's address: of the instruction that ran, or a return address. */
struct unwind_frame {
	uint64_t address;
	uint64_t is_return; /* 0 or 1 */
};

struct unwind_registers {
	uint64_t mask;			       /* perf's register numbers, bit by bit */
	uint64_t values[UNWIND_MAX_REGISTERS]; /* by number; those outside the mask do not count */
};

struct unwind_run {
	const struct unwind_frame *frames; /* innermost first; until the next call */
	size_t count;
	enum unwind_end end;
	uint32_t file; /* that is needed, or missing; else 0 */
};

int unwind_engine_new(struct unwind_engine **out); /* 0 or -ENOMEM */
void unwind_engine_free(struct unwind_engine *engine);

/*
 * File `number` lies behind `fd`, which stays the caller's; -1: it is missing. 0; -EINVAL for a
 * number that is 0 or past UNWIND_MAX_FILES, or of a file that is there already (one that was
 * missing may come later); -ENOMEM; or what is wrong with the file, which counts as missing then.
 */
int unwind_engine_set_file(struct unwind_engine *engine, uint32_t number, int fd,
			   struct error *err);
/*
 * What is mapped where in space `number`; a mapping's file 0 is no file. `machine` is
 * EM_X86_64, EM_386, EM_AARCH64 or EM_ARM. The list, which is sorted by address as an
 * address_space has it, is copied. Spaces come as 1, 2, ...; another 1 forgets them all. 0, -EINVAL
 * or -ENOMEM.
 */
int unwind_engine_set_space(struct unwind_engine *engine, uint32_t number, uint16_t machine,
			    const struct mapping *list, size_t count);
/* 0, -EINVAL (no such space) or -ENOMEM. */
int unwind_engine_run(struct unwind_engine *engine, uint32_t space,
		      const struct unwind_registers *registers, struct span stack,
		      struct unwind_run *run);
