/*
 * x86-64: additions, comparisons and logic, with their flags; multiplications and
 * divisions.
 */
#include "isa/interpret_x86.h"

static struct known_bits carry_of(const struct facts *facts)
{
	enum truth carry = fact_of(facts, FACT_CARRY);
	if (carry == TRUTH_UNKNOWN)
		return (struct known_bits){ 0, ~UINT64_C(1) };
	return bits_of(carry == TRUTH_TRUE);
}

bool x86_is_guard(const struct step_operand *operand)
{
	return operand->kind == OPERAND_MEMORY && operand->segment == X86_FS &&
	       operand->base == REGISTER_NONE && operand->index == REGISTER_NONE &&
	       operand->constant == 0x28;
}

/* clang loads the stack protector's guard, and the next instruction compares it with the stack. */
static bool compares_loaded_guard(const struct interpreter *interpreter, const struct step *step)
{
	const struct step_operand *a = &step->operands[0];
	const struct step_operand *b = &step->operands[1];
	return step->work == WORK_COMPARE && step->address == interpreter->guard_address &&
	       a->kind == OPERAND_GENERAL && a->number == interpreter->guard_register &&
	       a->bytes == 8 && b->kind == OPERAND_MEMORY;
}

/* Whether both operands are one register, or the guard and its copy: their values do not matter. */
static bool are_equal(const struct interpreter *interpreter, const struct step *step)
{
	const struct step_operand *a = &step->operands[0];
	const struct step_operand *b = &step->operands[1];
	if (x86_is_guard(a) || x86_is_guard(b) || compares_loaded_guard(interpreter, step))
		return true;
	return a->kind == OPERAND_GENERAL && b->kind == OPERAND_GENERAL && a->number == b->number &&
	       a->high == b->high && a->bytes == b->bytes;
}

/* inc and dec leave the carry as it was. */
static void keep_carry(struct facts *facts, enum truth carry)
{
	fact_set_truth(facts, FACT_CARRY, carry);
	fact_forget(facts, FACT_BELOW_EQUAL);
	facts_conclude(facts);
}

static void subtract(struct interpreter *interpreter, const struct step *step,
		     struct known_bits borrow)
{
	unsigned width_bits = 8u * step->operands[0].bytes;
	struct known_bits a = bits_of(0), b = bits_of(0);
	if (!are_equal(interpreter, step)) {
		a = x86_read(interpreter, step, 0);
		b = x86_read(interpreter, step, 1);
	}
	struct known_bits difference =
		facts_of_subtraction(&interpreter->facts, a, b, borrow, width_bits);
	if (step->work != WORK_COMPARE)
		x86_write(interpreter, step, 0, difference);
}

static void add(struct interpreter *interpreter, const struct step *step, struct known_bits carry)
{
	struct known_bits a = x86_read(interpreter, step, 0);
	struct known_bits b = x86_read(interpreter, step, 1);
	struct known_bits sum =
		facts_of_addition(&interpreter->facts, a, b, carry, 8u * step->operands[0].bytes);
	bool exchanges = step->work == WORK_ADD_EXCHANGE;
	bool in_memory = step->operands[0].kind == OPERAND_MEMORY;
	/* the sum last where both are one register; first where the other forms the address */
	if (exchanges && !in_memory)
		x86_write(interpreter, step, 1, a);
	x86_write(interpreter, step, 0, sum);
	if (exchanges && in_memory)
		x86_write(interpreter, step, 1, a);
}

static void apply_logic(struct interpreter *interpreter, const struct step *step)
{
	unsigned first = step->work == WORK_AND_NOT ? 1 : 0;
	struct known_bits a = x86_read(interpreter, step, first);
	struct known_bits b = x86_read(interpreter, step, first + 1);
	struct known_bits result;
	if (step->work == WORK_XOR)
		result = are_equal(interpreter, step) ? bits_of(0) : bits_xor(a, b);
	else if (step->work == WORK_OR)
		result = bits_or(a, b);
	else
		result = bits_and(step->work == WORK_AND_NOT ? bits_not(a) : a, b);
	facts_of_logic(&interpreter->facts, result, 8u * step->operands[0].bytes);
	if (step->work == WORK_AND_NOT)
		fact_forget(&interpreter->facts, FACT_PARITY);
	if (step->work != WORK_TEST)
		x86_write(interpreter, step, 0, result);
}

static void count_by_one(struct interpreter *interpreter, const struct step *step)
{
	unsigned width_bits = 8u * step->operands[0].bytes;
	struct facts *facts = &interpreter->facts;
	enum truth carry = fact_of(facts, FACT_CARRY);
	struct known_bits a = x86_read(interpreter, step, 0);
	if (step->work == WORK_INCREMENT)
		a = facts_of_addition(facts, a, bits_of(1), bits_of(0), width_bits);
	else
		a = facts_of_subtraction(facts, a, bits_of(1), bits_of(0), width_bits);
	keep_carry(facts, carry);
	x86_write(interpreter, step, 0, a);
}

/*
 * cmpxchg. Of 32 bits, CPUs differ in whether the upper half of the register that is not written
 * is cleared.
 */
static bool compare_exchange(struct interpreter *interpreter, const struct step *step)
{
	unsigned bytes = step->operands[0].bytes;
	struct known_bits old = x86_read(interpreter, step, 0);
	struct known_bits new = x86_read(interpreter, step, 1);
	struct known_bits expected = x86_read_register(interpreter, X86_RAX, bytes);
	facts_of_subtraction(&interpreter->facts, expected, old, bits_of(0), 8 * bytes);
	const struct step_operand *to = &step->operands[0];
	if (to->kind == OPERAND_GENERAL && to->number == X86_RAX && !to->high)
		facts_of_subtraction(&interpreter->facts, bits_of(0), bits_of(0), bits_of(0),
				     8 * bytes);
	enum truth equal = fact_of(&interpreter->facts, FACT_ZERO);
	struct known_bits *accumulator = &interpreter->general[X86_RAX];
	if (equal == TRUTH_TRUE)
		x86_write(interpreter, step, 0, new);
	else if (equal == TRUTH_UNKNOWN)
		x86_write(interpreter, step, 0, bits_either(old, new));
	if (equal == TRUTH_FALSE)
		x86_write_register(interpreter, X86_RAX, bytes, old);
	else if (equal == TRUTH_UNKNOWN)
		*accumulator =
			bits_insert(*accumulator, bits_either(old, expected), bits_mask(8 * bytes));
	uint64_t kept = bytes == 4 ? bits_mask(32) : UINT64_MAX;
	*accumulator = bits_insert(bits_unknown(), *accumulator, kept);
	if (to->kind == OPERAND_GENERAL && equal != TRUTH_TRUE)
		interpreter->general[to->number] =
			bits_insert(bits_unknown(), interpreter->general[to->number], kept);
	return true;
}

/* blsr, blsi, blsmsk: of a value and the value less one. */
static void lowest_bits(struct interpreter *interpreter, const struct step *step)
{
	unsigned width_bits = 8u * step->operands[0].bytes;
	struct facts *facts = &interpreter->facts;
	struct known_bits a = x86_read(interpreter, step, 1);
	struct known_bits less = bits_subtract(a, bits_of(1));
	struct known_bits result = step->work == WORK_CLEAR_LOWEST ? bits_and(a, less)
				   : step->work == WORK_ISOLATE_LOWEST
					   ? bits_and(a, bits_subtract(bits_of(0), a))
					   : bits_xor(a, less);
	struct facts source;
	facts_of_result(&source, a, width_bits);
	enum truth zero = fact_of(&source, FACT_ZERO);
	facts_of_result(facts, result, width_bits);
	fact_forget(facts, FACT_PARITY);
	fact_set(facts, FACT_OVERFLOW, false);
	if (step->work == WORK_MASK_LOWEST)
		fact_set(facts, FACT_ZERO, false);
	/* blsi carries for a source that is not zero, the others for one that is */
	if (zero != TRUTH_UNKNOWN)
		fact_set(facts, FACT_CARRY,
			 (zero == TRUTH_TRUE) != (step->work == WORK_ISOLATE_LOWEST));
	facts_conclude(facts);
	x86_write(interpreter, step, 0, result);
}

bool x86_run_arithmetic(struct interpreter *interpreter, const struct step *step)
{
	struct facts *facts = &interpreter->facts;
	unsigned width_bits = 8u * step->operands[0].bytes;
	if (width_bits < 8 || width_bits > 64)
		return false;
	switch ((enum x86_work)step->work) {
	case WORK_ADD:
	case WORK_ADD_EXCHANGE:
		add(interpreter, step, bits_of(0));
		return true;
	case WORK_ADD_CARRY:
		add(interpreter, step, carry_of(facts));
		return true;
	case WORK_SUBTRACT:
	case WORK_COMPARE:
		subtract(interpreter, step, bits_of(0));
		return true;
	case WORK_SUBTRACT_BORROW:
		subtract(interpreter, step, carry_of(facts));
		return true;
	case WORK_AND:
	case WORK_TEST:
	case WORK_OR:
	case WORK_XOR:
	case WORK_AND_NOT:
		apply_logic(interpreter, step);
		return true;
	case WORK_INCREMENT:
	case WORK_DECREMENT:
		count_by_one(interpreter, step);
		return true;
	case WORK_NEGATE:
		x86_write(interpreter, step, 0,
			  facts_of_subtraction(facts, bits_of(0), x86_read(interpreter, step, 0),
					       bits_of(0), width_bits));
		return true;
	case WORK_NOT:
		x86_write(interpreter, step, 0, bits_not(x86_read(interpreter, step, 0)));
		return true;
	case WORK_COMPARE_EXCHANGE:
		return compare_exchange(interpreter, step);
	case WORK_CLEAR_LOWEST:
	case WORK_ISOLATE_LOWEST:
	case WORK_MASK_LOWEST:
		lowest_bits(interpreter, step);
		return true;
	default:
		return false;
	}
}

/* Of a product as many low bits are known as of both factors; and their trailing zeros add up. */
static struct known_bits product_of(struct known_bits a, struct known_bits b)
{
	unsigned low = 64;
	if (~(a.known & b.known))
		low = (unsigned)__builtin_ctzll(~(a.known & b.known));
	uint64_t known = bits_mask(low);
	unsigned zeros_a = a.value | ~a.known ? (unsigned)__builtin_ctzll(a.value | ~a.known) : 64;
	unsigned zeros_b = b.value | ~b.known ? (unsigned)__builtin_ctzll(b.value | ~b.known) : 64;
	known |= bits_mask(zeros_a + zeros_b);
	return (struct known_bits){ a.value * b.value & known, known };
}

/* imul with two or three operands. */
static void multiply_low(struct interpreter *interpreter, const struct step *step)
{
	unsigned width_bits = 8u * step->operands[0].bytes;
	unsigned first = step->operand_count == 3 ? 1 : 0;
	struct facts *facts = &interpreter->facts;
	struct known_bits a = bits_extend(x86_read(interpreter, step, first), width_bits);
	struct known_bits b = bits_extend(x86_read(interpreter, step, first + 1), width_bits);
	struct known_bits product = product_of(a, b);
	*facts = (struct facts){ 0, 0 };
	if (bits_are_known(a, 64) && bits_are_known(b, 64)) {
		__int128 whole = (__int128)(int64_t)a.value * (int64_t)b.value;
		bool cut = whole != bits_signed((uint64_t)whole, width_bits);
		fact_set(facts, FACT_CARRY, cut);
		fact_set(facts, FACT_OVERFLOW, cut);
	}
	x86_write(interpreter, step, 0, product);
}

/* The double width goes to rdx and rax; of bytes to ax. */
static void write_pair(struct interpreter *interpreter, unsigned bytes, struct known_bits low,
		       struct known_bits high)
{
	if (bytes == 1) {
		low = bits_insert(low, bits_left(high, 8), 0xff00);
		x86_write_register(interpreter, X86_RAX, 2, low);
		return;
	}
	x86_write_register(interpreter, X86_RAX, bytes, low);
	x86_write_register(interpreter, X86_RDX, bytes, high);
}

static void multiply(struct interpreter *interpreter, const struct step *step)
{
	unsigned bytes = step->operands[0].bytes;
	unsigned width_bits = 8 * bytes;
	bool is_signed = step->work == WORK_MULTIPLY_SIGNED;
	struct facts *facts = &interpreter->facts;
	struct known_bits a = x86_read_register(interpreter, X86_RAX, bytes);
	struct known_bits b = x86_read(interpreter, step, 0);
	*facts = (struct facts){ 0, 0 };
	if (!bits_are_known(a, width_bits) || !bits_are_known(b, width_bits)) {
		struct known_bits low = width_bits == 64 ? product_of(a, b) : bits_unknown();
		write_pair(interpreter, bytes, low, bits_unknown());
		return;
	}
	unsigned __int128 whole = (unsigned __int128)a.value * b.value;
	if (is_signed)
		whole = (unsigned __int128)((__int128)bits_signed(a.value, width_bits) *
					    bits_signed(b.value, width_bits));
	uint64_t low = (uint64_t)whole & bits_mask(width_bits);
	uint64_t high = (uint64_t)(whole >> width_bits) & bits_mask(width_bits);
	bool cut = is_signed ? (__int128)whole != bits_signed(low, width_bits) : high != 0;
	fact_set(facts, FACT_CARRY, cut);
	fact_set(facts, FACT_OVERFLOW, cut);
	write_pair(interpreter, bytes, bits_of(low), bits_of(high));
}

/* False: the divisor is 0, or the quotient does not fit. */
static bool quotient_of(unsigned __int128 dividend, uint64_t divisor, unsigned width_bits,
			bool is_signed, uint64_t *quotient, uint64_t *rest)
{
	if (!(divisor & bits_mask(width_bits)))
		return false;
	if (!is_signed) {
		unsigned __int128 result = dividend / divisor;
		*quotient = (uint64_t)result;
		*rest = (uint64_t)(dividend % divisor);
		return result <= bits_mask(width_bits);
	}
	unsigned spare = 128 - 2 * width_bits;
	__int128 from = (__int128)(dividend << spare) >> spare;
	__int128 by = bits_signed(divisor, width_bits);
	if (by == -1) { /* the least number has no opposite */
		if (from < -(__int128)(bits_mask(width_bits) >> 1))
			return false;
		*quotient = (uint64_t)-from;
		*rest = 0;
		return -from >= -(__int128)(bits_mask(width_bits) >> 1) - 1;
	}
	__int128 result = from / by;
	*quotient = (uint64_t)result;
	*rest = (uint64_t)(from % by);
	return result == bits_signed((uint64_t)result, width_bits);
}

static bool divide(struct interpreter *interpreter, const struct step *step)
{
	unsigned bytes = step->operands[0].bytes;
	unsigned width_bits = 8 * bytes;
	struct known_bits low = x86_read_register(interpreter, X86_RAX, bytes);
	struct known_bits high = x86_read_register(interpreter, X86_RDX, bytes);
	if (bytes == 1)
		high = bits_low(bits_right(interpreter->general[X86_RAX], 8), 8);
	struct known_bits by = x86_read(interpreter, step, 0);
	interpreter->facts = (struct facts){ 0, 0 };
	if (!bits_are_known(low, 64) || !bits_are_known(high, 64) ||
	    !bits_are_known(by, width_bits)) {
		write_pair(interpreter, bytes, bits_unknown(), bits_unknown());
		return true;
	}
	unsigned __int128 dividend = (unsigned __int128)high.value << width_bits | low.value;
	uint64_t quotient, rest;
	if (!quotient_of(dividend, by.value, width_bits, step->work == WORK_DIVIDE_SIGNED,
			 &quotient, &rest))
		return false;
	write_pair(interpreter, bytes, bits_of(quotient), bits_of(rest));
	return true;
}

bool x86_run_product(struct interpreter *interpreter, const struct step *step, bool *traps)
{
	unsigned width_bits = 8u * step->operands[0].bytes;
	if (width_bits < 8 || width_bits > 64)
		return false;
	if (step->work == WORK_DIVIDE || step->work == WORK_DIVIDE_SIGNED)
		*traps = !divide(interpreter, step);
	else if (step->operand_count > 1)
		multiply_low(interpreter, step);
	else
		multiply(interpreter, step);
	return true;
}
