/*
 * interpret_x86 - what the parts of the x86-64 interpreter share.
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

/* Each is false when it does not know this form: then the effects hold. */
bool x86_run_arithmetic(struct interpreter *interpreter, const struct step *step);
bool x86_run_bits(struct interpreter *interpreter, const struct step *step);
/* *traps: the division cannot be done. */
bool x86_run_product(struct interpreter *interpreter, const struct step *step, bool *traps);
bool x86_run_vector(struct interpreter *interpreter, const struct step *step);

bool x86_address(const struct interpreter *interpreter, const struct step *step,
		 const struct step_operand *operand, uint64_t *address);
/* Of at most 8 bytes, the bits above them zero; unknown where the operand is none of ours. */
struct known_bits x86_read(struct interpreter *interpreter, const struct step *step,
			   unsigned operand);
/* A register of 32 bits is cleared above; memory at an unknown address stays. */
void x86_write(struct interpreter *interpreter, const struct step *step, unsigned operand,
	       struct known_bits bits);
/* Of a general register: `bytes` of it. */
struct known_bits x86_read_register(const struct interpreter *interpreter, unsigned number,
				    unsigned bytes);
void x86_write_register(struct interpreter *interpreter, unsigned number, unsigned bytes,
			struct known_bits bits);
/* The stack protector's guard: what is compared with it is equal, or the program dies. */
bool x86_is_guard(const struct step_operand *operand);
/* By the four bits of the encoding. */
enum truth x86_condition(const struct interpreter *interpreter, unsigned condition);
