/*
 * interpret_private - what the files of the interpreter share: memory as far as the path knows it,
 * decoded instructions, and the interpreter's state.
 */
#pragma once

#include "isa/effects.h"
#include "isa/interpret.h"
#include "isa/interpret_facts.h"
#include "isa/known_bits.h"

/* Memory as far as the path knows it. */
#define MEMORY_CELLS  256 /* half are used at most, more than usual paths store; a power of two */
#define MEMORY_RANGES 8

struct memory_cell {
	uint64_t address; /* a multiple of 8 */
	struct known_bits bits;
	uint32_t path;	 /* the number of the path that stored it: others' cells are free */
	uint8_t present; /* bit i: byte i was stored */
};

struct memory {
	const struct interpret_start *start;
	const struct interpret_callbacks *callbacks;
	uint64_t stack_address;
	uint32_t path; /* number of the one under way */
	unsigned cells_used, ranges_used;
	unsigned last_block; /* of start->blocks, in which the last load was */
	bool lost;	     /* more was stored than is kept: only read-only memory is known */
	struct {
		uint64_t address, bytes;
	} ranges[MEMORY_RANGES]; /* overwritten with unknown values */
	struct memory_cell cells[MEMORY_CELLS];
};

/* Empties it for a new path; *start and *callbacks are borrowed until the path ends. */
void memory_begin(struct memory *memory, uint64_t stack_address,
		  const struct interpret_start *start, const struct interpret_callbacks *callbacks);
/* memory_load(), memory_store(): `bytes` is 1 to 8. */
struct known_bits memory_load(struct memory *memory, uint64_t address, unsigned bytes);
void memory_store(struct memory *memory, uint64_t address, unsigned bytes, struct known_bits bits);
/* Any of these bytes may have been overwritten: they become unknown. */
void memory_forget(struct memory *memory, uint64_t address, uint64_t bytes);

#define FORGET_BYTES 4096 /* a store of unknown length is assumed to reach no further */

enum step_operand_kind {
	OPERAND_NONE,
	OPERAND_GENERAL,
	OPERAND_IMMEDIATE,
	OPERAND_MEMORY,
	OPERAND_VECTOR,
	OPERAND_FOREIGN, /* other registers */
};

struct step_operand {
	uint8_t kind;
	uint8_t bytes;
	uint8_t number;	     /* of the register */
	bool high;	     /* ah, ch, dh, bh */
	uint8_t base, index; /* REGISTER_NONE: none */
	uint8_t scale;
	uint8_t segment; /* X86_FS, X86_GS; 0: none that counts */
	uint64_t constant;
};

#define STEP_BYTES    16 /* the longest instruction has 15 */
#define STEP_OPERANDS 3

/* A decoded instruction, as it is kept between paths. */
struct step {
	uint64_t address;
	uint8_t bytes[STEP_BYTES];
	uint8_t length; /* 0: no instruction is kept here */
	uint8_t work;	/* x86: enum x86_work */
	uint8_t detail; /* x86: condition, or width in bytes */
	uint8_t operand_count;
	bool repeats;
	bool narrow_address; /* 32 bits wide */
	bool narrow_operand; /* 66 */
	bool known;	     /* `writes` and the like are right */
	bool writes_memory;
	uint16_t written_bytes;
	struct register_set writes;
	struct step_operand operands[STEP_OPERANDS];
};

#define STEP_CACHE 16384 /* instructions; a power of two */

struct interpreter {
	enum isa isa;
	struct decoder *decoder;
	struct step *steps;
	struct interpret_start start; /* of the path */
	const struct interpret_callbacks *callbacks;
	struct interpret_result *result;
	struct known_bits general[INTERPRET_REGISTERS];
	struct known_bits vectors[32][2]; /* their low 128 bits */
	struct facts facts;
	enum truth backwards; /* x86: DF */
	/* The check of the stack protector's guard: the address of its next instruction, the
	 * register that holds the guard, and (AArch64) how far the check has come. */
	uint64_t guard_address;
	uint8_t guard_register, guard_stage;
	struct memory memory;
	uint8_t works[]; /* x86: enum x86_work by Capstone's id */
};

/* Set the flags, as far as they are known when a path begins. */
void x86_start_flags(struct interpreter *interpreter, const struct interpret_start *start);
void aarch64_start_flags(struct interpreter *interpreter, const struct interpret_start *start);

/* Reports the outcome of a branch. */
void interpreter_report(struct interpreter *interpreter, uint64_t from, uint64_t to,
			enum interpret_edge kind);
/* A branch that goes to `target` where `taken`, else on: sets *next and reports it. False, with
 * *end, where `taken` is unknown. */
bool interpreter_branch(struct interpreter *interpreter, const struct step *step, enum truth taken,
			uint64_t target, uint64_t *next, enum interpret_end *end);
/* Makes all registers unknown that the step writes: of one whose effects alone are known. */
void interpreter_forget(struct interpreter *interpreter, const struct step *step);

/* Size in bytes, and content, of interpreter.works. */
size_t x86_works_size(void);
void x86_works_fill(uint8_t *works);
/*
 * Of each instruction set: the first function decodes the instruction at `address` (false: there is
 * none), the second executes it: *next is the address behind the instruction, and may be changed;
 * false, with *end: the path ends before it.
 */
bool x86_step_decode(struct interpreter *interpreter, struct span code, uint64_t address,
		     struct step *step);
bool x86_step_run(struct interpreter *interpreter, const struct step *step, uint64_t *next,
		  enum interpret_end *end);
bool aarch64_step_decode(struct interpreter *interpreter, struct span code, uint64_t address,
			 struct step *step);
bool aarch64_step_run(struct interpreter *interpreter, const struct step *step, uint64_t *next,
		      enum interpret_end *end);
