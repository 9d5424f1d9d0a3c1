/*
 * interpret_x86 - what the files of the x86-64 interpreter share: kinds of work, operands,
 * conditions.
 */
#pragma once

#include "isa/interpret_private.h"

/* Groups follow each other; x86_step_run() goes by where they end. */
enum x86_work {
	WORK_OTHER, /* its effects alone are known */

	WORK_MOVE,
	WORK_MOVE_ZERO,
	WORK_MOVE_SIGN,
	WORK_ADDRESS,
	WORK_EXCHANGE,
	WORK_PUSH,
	WORK_POP,
	WORK_LEAVE,
	WORK_SELECT, /* cmov */
	WORK_SET,
	WORK_SWAP_BYTES,
	WORK_EXTEND_A, /* cbw, cwde, cdqe */
	WORK_EXTEND_D, /* cwd, cdq, cqo */
	WORK_SET_CARRY,
	WORK_CLEAR_CARRY,
	WORK_FLIP_CARRY,
	WORK_SET_DIRECTION,
	WORK_CLEAR_DIRECTION,
	WORK_LAST_MOVE = WORK_CLEAR_DIRECTION,

	WORK_ADD,
	WORK_ADD_CARRY,
	WORK_SUBTRACT,
	WORK_SUBTRACT_BORROW,
	WORK_COMPARE,
	WORK_AND,
	WORK_TEST,
	WORK_OR,
	WORK_XOR,
	WORK_AND_NOT,
	WORK_INCREMENT,
	WORK_DECREMENT,
	WORK_NEGATE,
	WORK_NOT,
	WORK_ADD_EXCHANGE,
	WORK_COMPARE_EXCHANGE,
	WORK_CLEAR_LOWEST,
	WORK_ISOLATE_LOWEST,
	WORK_MASK_LOWEST,
	WORK_LAST_ARITHMETIC = WORK_MASK_LOWEST,

	WORK_SHIFT_LEFT,
	WORK_SHIFT_RIGHT,
	WORK_SHIFT_SIGNED,
	WORK_ROTATE_LEFT,
	WORK_ROTATE_RIGHT,
	WORK_SHIFT_LEFT_DOUBLE,
	WORK_SHIFT_RIGHT_DOUBLE,
	WORK_SHIFT_LEFT_ONLY, /* shlx: without flags */
	WORK_SHIFT_RIGHT_ONLY,
	WORK_SHIFT_SIGNED_ONLY,
	WORK_ROTATE_RIGHT_ONLY,
	WORK_BIT_TEST,
	WORK_BIT_SET,
	WORK_BIT_CLEAR,
	WORK_BIT_FLIP,
	WORK_LOWEST_BIT,  /* bsf */
	WORK_HIGHEST_BIT, /* bsr */
	WORK_COUNT_LOW_ZEROS,
	WORK_COUNT_HIGH_ZEROS,
	WORK_COUNT_ONES,
	WORK_LAST_BITS = WORK_COUNT_ONES,

	WORK_MULTIPLY,
	WORK_MULTIPLY_SIGNED,
	WORK_DIVIDE,
	WORK_DIVIDE_SIGNED,
	WORK_LAST_PRODUCT = WORK_DIVIDE_SIGNED,

	WORK_STRING_MOVE,
	WORK_STRING_STORE,
	WORK_VECTOR_MOVE,
	WORK_VECTOR_LOW,       /* movd, movq */
	WORK_VECTOR_SCALAR,    /* movss, movsd */
	WORK_VECTOR_LOW_HALF,  /* movlps */
	WORK_VECTOR_HIGH_HALF, /* movhps */
	WORK_VECTOR_UNPACK,    /* punpcklqdq, movlhps */
	WORK_VECTOR_AND,
	WORK_VECTOR_AND_NOT,
	WORK_VECTOR_OR,
	WORK_VECTOR_XOR,
	WORK_LAST_VECTOR = WORK_VECTOR_XOR,

	WORK_BRANCH, /* jcc */
	WORK_BRANCH_COUNT_ZERO,
	WORK_LOOP,
	WORK_LOOP_EQUAL,
	WORK_LOOP_NOT_EQUAL,
	WORK_JUMP,
	WORK_CALL,
	WORK_RETURN,
	WORK_SYSTEM,
};

/* Each executes a group of works, and returns false for a form that it does not know, of which only
 * the effects (effects.h) are then used. */
bool x86_run_arithmetic(struct interpreter *interpreter, const struct step *step);
bool x86_run_bits(struct interpreter *interpreter, const struct step *step);
/* *traps: the division raises an exception. */
bool x86_run_product(struct interpreter *interpreter, const struct step *step, bool *traps);
bool x86_run_vector(struct interpreter *interpreter, const struct step *step);

/* The address of a memory operand; false: not known. */
bool x86_address(const struct interpreter *interpreter, const struct step *step,
		 const struct step_operand *operand, uint64_t *address);
/* The value of an operand of at most 8 bytes, with zeros above; unknown where it is in no general
 * register or memory, nor a constant. */
struct known_bits x86_read(struct interpreter *interpreter, const struct step *step,
			   unsigned operand);
/* Writes an operand. A write of 32 bits clears the register above; one to an unknown address is
 * ignored. */
void x86_write(struct interpreter *interpreter, const struct step *step, unsigned operand,
	       struct known_bits bits);
/* The low `bytes` of a general register. */
struct known_bits x86_read_register(const struct interpreter *interpreter, unsigned number,
				    unsigned bytes);
void x86_write_register(struct interpreter *interpreter, unsigned number, unsigned bytes,
			struct known_bits bits);
/* Whether it is the stack protector's guard: what is compared with it is equal, or the program
 * dies. */
bool x86_is_guard(const struct step_operand *operand);
/* Whether a condition holds, by the four bits of its encoding. */
enum truth x86_condition(const struct interpreter *interpreter, unsigned condition);
