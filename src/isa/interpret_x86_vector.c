/*
 * x86-64: moves of vectors, of which the low 128 bits are followed, and of strings.
 */
#include "isa/interpret_x86.h"

#define STRING_FOLLOWED_BYTES 256 /* longer strings are stored as unknown */

static bool is_vector(const struct step *step, unsigned operand)
{
	return step->operands[operand].kind == OPERAND_VECTOR;
}

static bool is_memory(const struct step *step, unsigned operand)
{
	return step->operands[operand].kind == OPERAND_MEMORY;
}

static struct known_bits *vector_of(struct interpreter *interpreter, const struct step *step,
				    unsigned operand)
{
	return interpreter->vectors[step->operands[operand].number];
}

/* The low 128 bits of a register or of memory. */
static void read_vector(struct interpreter *interpreter, const struct step *step, unsigned operand,
			struct known_bits out[2])
{
	const struct step_operand *from = &step->operands[operand];
	uint64_t address;
	out[0] = out[1] = bits_unknown();
	if (from->kind == OPERAND_VECTOR) {
		out[0] = interpreter->vectors[from->number][0];
		out[1] = interpreter->vectors[from->number][1];
	} else if (x86_address(interpreter, step, from, &address)) {
		out[0] = memory_load(&interpreter->memory, address, 8);
		out[1] = memory_load(&interpreter->memory, address + 8, 8);
	}
}

static bool move(struct interpreter *interpreter, const struct step *step)
{
	struct known_bits value[2];
	uint64_t address;
	if (step->operand_count != 2)
		return false;
	if (is_vector(step, 0)) {
		read_vector(interpreter, step, 1, value);
		vector_of(interpreter, step, 0)[0] = value[0];
		vector_of(interpreter, step, 0)[1] = value[1];
		return true;
	}
	if (!is_memory(step, 0) || !is_vector(step, 1))
		return false;
	if (x86_address(interpreter, step, &step->operands[0], &address))
		for (unsigned at = 0; at < step->operands[1].bytes; at += 8)
			memory_store(&interpreter->memory, address + at, 8,
				     at < 16 ? vector_of(interpreter, step, 1)[at / 8]
					     : bits_unknown());
	return true;
}

/* movd, movq: what lies above is cleared. */
static bool move_low(struct interpreter *interpreter, const struct step *step)
{
	if (step->operand_count != 2)
		return false;
	if (is_vector(step, 1) && !is_vector(step, 0)) {
		x86_write(interpreter, step, 0, vector_of(interpreter, step, 1)[0]);
		return step->operands[0].kind != OPERAND_FOREIGN;
	}
	if (!is_vector(step, 0) || step->operands[1].kind == OPERAND_FOREIGN)
		return false;
	struct known_bits value = is_vector(step, 1) ? vector_of(interpreter, step, 1)[0]
						     : x86_read(interpreter, step, 1);
	vector_of(interpreter, step, 0)[0] = value;
	vector_of(interpreter, step, 0)[1] = bits_of(0);
	return true;
}

/* movss, movsd: a load clears the rest, between registers it stays. */
static bool move_scalar(struct interpreter *interpreter, const struct step *step)
{
	if (step->operand_count != 2)
		return false;
	if (is_memory(step, 0) && is_vector(step, 1)) {
		x86_write(interpreter, step, 0, vector_of(interpreter, step, 1)[0]);
		return true;
	}
	if (!is_vector(step, 0))
		return false;
	struct known_bits *to = vector_of(interpreter, step, 0);
	if (is_memory(step, 1)) {
		to[0] = x86_read(interpreter, step, 1);
		to[1] = bits_of(0);
		return true;
	}
	return false;
}

static bool move_half(struct interpreter *interpreter, const struct step *step)
{
	unsigned half = step->work == WORK_VECTOR_HIGH_HALF;
	if (step->operand_count != 2)
		return false;
	if (is_memory(step, 0) && is_vector(step, 1))
		x86_write(interpreter, step, 0, vector_of(interpreter, step, 1)[half]);
	else if (is_vector(step, 0) && is_memory(step, 1))
		vector_of(interpreter, step, 0)[half] = x86_read(interpreter, step, 1);
	else
		return false;
	return true;
}

/* The first of two sources is the target itself where it is not named. */
static bool combine(struct interpreter *interpreter, const struct step *step)
{
	struct known_bits a[2], b[2];
	unsigned first = step->operand_count - 2u;
	if (step->operand_count < 2 || step->operand_count > 3 || !is_vector(step, 0) ||
	    !is_vector(step, first) || (!is_vector(step, first + 1) && !is_memory(step, first + 1)))
		return false;
	read_vector(interpreter, step, first, a);
	read_vector(interpreter, step, first + 1, b);
	struct known_bits *to = vector_of(interpreter, step, 0);
	if (step->work == WORK_VECTOR_UNPACK) {
		to[0] = a[0];
		to[1] = b[0];
		return true;
	}
	bool same = is_vector(step, first + 1) &&
		    step->operands[first].number == step->operands[first + 1].number;
	for (unsigned i = 0; i < 2; i++) {
		switch ((enum x86_work)step->work) {
		case WORK_VECTOR_AND:
			to[i] = bits_and(a[i], b[i]);
			break;
		case WORK_VECTOR_AND_NOT:
			to[i] = same ? bits_of(0) : bits_and(bits_not(a[i]), b[i]);
			break;
		case WORK_VECTOR_OR:
			to[i] = bits_or(a[i], b[i]);
			break;
		default:
			to[i] = same ? bits_of(0) : bits_xor(a[i], b[i]);
			break;
		}
	}
	return true;
}

static struct known_bits string_piece(struct interpreter *interpreter, const struct step *step,
				      uint64_t offset, unsigned bytes)
{
	struct known_bits from = interpreter->general[X86_RSI];
	if (step->work == WORK_STRING_STORE)
		return x86_read_register(interpreter, X86_RAX, bytes);
	if (!bits_are_known(from, 64))
		return bits_unknown();
	return memory_load(&interpreter->memory, from.value + offset, bytes);
}

static void advance(struct interpreter *interpreter, unsigned number, struct known_bits by)
{
	interpreter->general[number] = bits_add(interpreter->general[number], by, bits_of(0));
}

/* movs and stos, forwards as nearly all go. */
static bool run_string(struct interpreter *interpreter, const struct step *step)
{
	unsigned bytes = step->operands[0].bytes;
	struct known_bits to = interpreter->general[X86_RDI];
	struct known_bits count = step->repeats ? interpreter->general[X86_RCX] : bits_of(1);
	if (interpreter->backwards != TRUTH_FALSE || step->narrow_address || bytes < 1 ||
	    bytes > 8 || step->operands[0].segment || step->operands[1].segment)
		return false;
	bool counted = bits_are_known(count, 64) && count.value <= UINT64_MAX / 16;
	uint64_t size = count.value * bytes;
	if (bits_are_known(to, 64)) {
		bool followed = counted && size <= STRING_FOLLOWED_BYTES;
		for (uint64_t at = 0; followed && at < size; at += bytes)
			memory_store(&interpreter->memory, to.value + at, bytes,
				     string_piece(interpreter, step, at, bytes));
		if (!followed)
			memory_forget(&interpreter->memory, to.value,
				      counted ? size : FORGET_BYTES);
	}
	struct known_bits by = counted ? bits_of(size) : bits_unknown();
	advance(interpreter, X86_RDI, by);
	if (step->work == WORK_STRING_MOVE)
		advance(interpreter, X86_RSI, by);
	if (step->repeats)
		interpreter->general[X86_RCX] = bits_of(0);
	return true;
}

bool x86_run_vector(struct interpreter *interpreter, const struct step *step)
{
	switch ((enum x86_work)step->work) {
	case WORK_STRING_MOVE:
	case WORK_STRING_STORE:
		return run_string(interpreter, step);
	case WORK_VECTOR_MOVE:
		return move(interpreter, step);
	case WORK_VECTOR_LOW:
		return move_low(interpreter, step);
	case WORK_VECTOR_SCALAR:
		return move_scalar(interpreter, step);
	case WORK_VECTOR_LOW_HALF:
	case WORK_VECTOR_HIGH_HALF:
		return move_half(interpreter, step);
	default:
		return combine(interpreter, step);
	}
}
