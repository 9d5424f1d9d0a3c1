/*
 * x86-64: shifts, rotations, single bits and counts of bits.
 */
#include "isa/interpret_x86.h"

/* After a shift or rotation by an unknown number: no flag is known. */
static void forget_facts(struct interpreter *interpreter)
{
	interpreter->facts = (struct facts){ 0, 0 };
}

static enum truth bit_of(struct known_bits bits, unsigned bit)
{
	if (!(bits.known >> bit & 1))
		return TRUTH_UNKNOWN;
	return bits.value >> bit & 1 ? TRUTH_TRUE : TRUTH_FALSE;
}

static enum truth differ(enum truth a, enum truth b)
{
	if (a == TRUTH_UNKNOWN || b == TRUTH_UNKNOWN)
		return TRUTH_UNKNOWN;
	return a != b ? TRUTH_TRUE : TRUTH_FALSE;
}

/* The number to shift by, within 5 or 6 bits; false: not known. */
static bool amount_of(struct interpreter *interpreter, const struct step *step, unsigned operand,
		      unsigned *by)
{
	unsigned mask = step->operands[0].bytes == 8 ? 63 : 31;
	*by = 1;
	if (operand >= step->operand_count)
		return true;
	struct known_bits bits = x86_read(interpreter, step, operand);
	*by = (unsigned)bits.value & mask;
	return !(~bits.known & mask);
}

static void shift(struct interpreter *interpreter, const struct step *step, unsigned by)
{
	unsigned width_bits = 8u * step->operands[0].bytes;
	struct facts *facts = &interpreter->facts;
	struct known_bits a = x86_read(interpreter, step, 0);
	struct known_bits result;
	enum truth carry = TRUTH_UNKNOWN;    /* undefined where nothing was shifted out last */
	enum truth overflow = TRUTH_UNKNOWN; /* defined for 1 alone */
	if (step->work == WORK_SHIFT_LEFT) {
		result = bits_low(bits_left(a, by), width_bits);
		if (by < width_bits)
			carry = bit_of(a, width_bits - by);
		if (by == 1)
			overflow = differ(carry, bit_of(result, width_bits - 1));
	} else if (step->work == WORK_SHIFT_RIGHT) {
		result = bits_right(a, by);
		if (by < width_bits)
			carry = bit_of(a, by - 1);
		if (by == 1)
			overflow = bit_of(a, width_bits - 1);
	} else {
		a = bits_extend(a, width_bits);
		result = bits_right_signed(a, by);
		carry = bit_of(a, by - 1);
		if (by == 1)
			overflow = TRUTH_FALSE;
	}
	facts_of_result(facts, result, width_bits);
	fact_set_truth(facts, FACT_CARRY, carry);
	fact_set_truth(facts, FACT_OVERFLOW, overflow);
	facts_conclude(facts);
	x86_write(interpreter, step, 0, result);
}

/* Of the flags carry and overflow alone are written. */
static void rotate(struct interpreter *interpreter, const struct step *step, unsigned by)
{
	unsigned width_bits = 8u * step->operands[0].bytes;
	struct facts *facts = &interpreter->facts;
	bool left = step->work == WORK_ROTATE_LEFT;
	unsigned right = left ? width_bits - by % width_bits : by;
	struct known_bits result =
		bits_rotate_right(x86_read(interpreter, step, 0), right % width_bits, width_bits);
	fact_set_truth(facts, FACT_CARRY, bit_of(result, left ? 0 : width_bits - 1));
	fact_forget(facts, FACT_OVERFLOW);
	fact_forget(facts, FACT_LESS);
	fact_forget(facts, FACT_LESS_EQUAL);
	fact_forget(facts, FACT_BELOW_EQUAL);
	facts_conclude(facts);
	x86_write(interpreter, step, 0, result);
}

/* shld, shrd: bits of another register come in. Those of 16 bits are not followed. */
static void shift_double(struct interpreter *interpreter, const struct step *step, unsigned by)
{
	unsigned width_bits = 8u * step->operands[0].bytes;
	struct facts *facts = &interpreter->facts;
	struct known_bits a = x86_read(interpreter, step, 0);
	struct known_bits b = x86_read(interpreter, step, 1);
	struct known_bits result;
	enum truth carry;
	if (step->work == WORK_SHIFT_LEFT_DOUBLE) {
		result = bits_or(bits_left(a, by), bits_right(b, width_bits - by));
		carry = bit_of(a, width_bits - by);
	} else {
		result = bits_or(bits_right(a, by), bits_left(b, width_bits - by));
		carry = bit_of(a, by - 1);
	}
	result = bits_low(result, width_bits);
	facts_of_result(facts, result, width_bits);
	fact_set_truth(facts, FACT_CARRY, carry);
	facts_conclude(facts);
	x86_write(interpreter, step, 0, result);
}

static bool run_shift(struct interpreter *interpreter, const struct step *step)
{
	bool twice = step->work == WORK_SHIFT_LEFT_DOUBLE || step->work == WORK_SHIFT_RIGHT_DOUBLE;
	unsigned by;
	if (twice && step->operands[0].bytes < 4)
		return false;
	if (!amount_of(interpreter, step, twice ? 2 : 1, &by)) {
		forget_facts(interpreter);
		x86_write(interpreter, step, 0, bits_unknown());
	} else if (by == 0) { /* no flag changes, but of 32 bits the upper half is cleared */
		x86_write(interpreter, step, 0, x86_read(interpreter, step, 0));
	} else if (twice) {
		shift_double(interpreter, step, by);
	} else if (step->work == WORK_ROTATE_LEFT || step->work == WORK_ROTATE_RIGHT) {
		rotate(interpreter, step, by);
	} else {
		shift(interpreter, step, by);
	}
	return true;
}

/* shlx, shrx, sarx, rorx: no flags. */
static bool run_shift_only(struct interpreter *interpreter, const struct step *step)
{
	unsigned width_bits = 8u * step->operands[0].bytes;
	struct known_bits a = x86_read(interpreter, step, 1);
	unsigned by;
	if (!amount_of(interpreter, step, 2, &by))
		a = bits_unknown();
	else if (step->work == WORK_SHIFT_LEFT_ONLY)
		a = bits_left(a, by);
	else if (step->work == WORK_SHIFT_RIGHT_ONLY)
		a = bits_right(a, by);
	else if (step->work == WORK_SHIFT_SIGNED_ONLY)
		a = bits_right_signed(bits_extend(a, width_bits), by);
	else
		a = bits_rotate_right(a, by % width_bits, width_bits);
	x86_write(interpreter, step, 0, a);
	return true;
}

/* bt, bts, btr, btc: carry becomes the bit; of the others AMD defines none. */
static bool run_bit(struct interpreter *interpreter, const struct step *step)
{
	unsigned width_bits = 8u * step->operands[0].bytes;
	struct facts *facts = &interpreter->facts;
	/* in memory a register reaches beyond the operand */
	if (step->operands[0].kind == OPERAND_MEMORY && step->operands[1].kind != OPERAND_IMMEDIATE)
		return false;
	struct known_bits a = x86_read(interpreter, step, 0);
	struct known_bits number = x86_read(interpreter, step, 1);
	unsigned bit = (unsigned)number.value & (width_bits - 1);
	struct known_bits result = bits_unknown();
	forget_facts(interpreter);
	if (!(~number.known & (width_bits - 1))) {
		uint64_t mask = UINT64_C(1) << bit;
		fact_set_truth(facts, FACT_CARRY, bit_of(a, bit));
		struct known_bits changed = step->work == WORK_BIT_SET	   ? bits_of(mask)
					    : step->work == WORK_BIT_CLEAR ? bits_of(0)
									   : bits_not(a);
		result = bits_insert(a, changed, mask);
	}
	facts_conclude(facts);
	if (step->work != WORK_BIT_TEST)
		x86_write(interpreter, step, 0, result);
	return true;
}

/*
 * The place of the first one from below (or above), where all bits up to it are known;
 * `width_bits` without any.
 */
static bool place_of(struct known_bits a, unsigned width_bits, bool from_below, unsigned *place)
{
	uint64_t maybe = (a.value | ~a.known) & bits_mask(width_bits);
	*place = width_bits;
	if (!maybe)
		return true;
	*place = (unsigned)(from_below ? __builtin_ctzll(maybe) : 63 - __builtin_clzll(maybe));
	return a.known >> *place & 1;
}

static bool run_count(struct interpreter *interpreter, const struct step *step)
{
	unsigned width_bits = 8u * step->operands[0].bytes;
	struct facts *facts = &interpreter->facts;
	struct known_bits a = x86_read(interpreter, step, 1);
	struct known_bits result = { 0, ~UINT64_C(127) };
	struct facts source;
	facts_of_result(&source, bits_low(a, width_bits), width_bits);
	enum truth zero = fact_of(&source, FACT_ZERO);
	unsigned place;
	bool below = step->work == WORK_LOWEST_BIT || step->work == WORK_COUNT_LOW_ZEROS;
	bool known = place_of(a, width_bits, below, &place);
	forget_facts(interpreter);
	if (step->work == WORK_LOWEST_BIT || step->work == WORK_HIGHEST_BIT) {
		fact_set_truth(facts, FACT_ZERO, zero);
		if (zero != TRUTH_FALSE)
			result = bits_unknown(); /* of zero the register stays, or not */
		else if (known)
			result = bits_of(place);
		/* of 32 bits the upper half may stay too */
		x86_write(interpreter, step, 0, result);
		if (zero != TRUTH_FALSE && step->operands[0].kind == OPERAND_GENERAL)
			interpreter->general[step->operands[0].number] = bits_unknown();
		return true;
	}
	if (step->work == WORK_COUNT_ONES) {
		if (bits_are_known(a, width_bits))
			result = bits_of((uint64_t)__builtin_popcountll(a.value));
		fact_set_truth(facts, FACT_ZERO, zero);
		fact_set(facts, FACT_CARRY, false);
		fact_set(facts, FACT_OVERFLOW, false);
		fact_set(facts, FACT_SIGN, false);
		fact_set(facts, FACT_PARITY, false);
	} else {
		if (known)
			result = bits_of(below || place == width_bits ? place
								      : width_bits - 1 - place);
		fact_set_truth(facts, FACT_CARRY, zero);
		if (known)
			fact_set(facts, FACT_ZERO, result.value == 0);
	}
	facts_conclude(facts);
	x86_write(interpreter, step, 0, result);
	return true;
}

bool x86_run_bits(struct interpreter *interpreter, const struct step *step)
{
	unsigned bytes = step->operands[0].bytes;
	if (bytes < 1 || bytes > 8)
		return false;
	switch ((enum x86_work)step->work) {
	case WORK_SHIFT_LEFT:
	case WORK_SHIFT_RIGHT:
	case WORK_SHIFT_SIGNED:
	case WORK_ROTATE_LEFT:
	case WORK_ROTATE_RIGHT:
	case WORK_SHIFT_LEFT_DOUBLE:
	case WORK_SHIFT_RIGHT_DOUBLE:
		return run_shift(interpreter, step);
	case WORK_SHIFT_LEFT_ONLY:
	case WORK_SHIFT_RIGHT_ONLY:
	case WORK_SHIFT_SIGNED_ONLY:
	case WORK_ROTATE_RIGHT_ONLY:
		return run_shift_only(interpreter, step);
	case WORK_BIT_TEST:
	case WORK_BIT_SET:
	case WORK_BIT_CLEAR:
	case WORK_BIT_FLIP:
		return run_bit(interpreter, step);
	default:
		return run_count(interpreter, step);
	}
}
