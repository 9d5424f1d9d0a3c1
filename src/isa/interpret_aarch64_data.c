/*
 * AArch64: data processing, immediate and register.
 */
#include "isa/interpret_aarch64.h"

enum shift {
	SHIFT_LEFT,
	SHIFT_RIGHT,
	SHIFT_SIGNED,
	SHIFT_ROTATE,
};

static struct known_bits shifted(struct known_bits bits, enum shift shift, unsigned by,
				 unsigned width_bits)
{
	bits = bits_low(bits, width_bits);
	switch (shift) {
	case SHIFT_LEFT:
		return bits_left(bits, by);
	case SHIFT_RIGHT:
		return bits_right(bits, by);
	case SHIFT_SIGNED:
		return bits_right_signed(bits_extend(bits, width_bits), by);
	default:
		return bits_rotate_right(bits, by % width_bits, width_bits);
	}
}

/* C, which is kept inverted. */
static struct known_bits not_carry(const struct interpreter *interpreter)
{
	enum truth below = fact_of(&interpreter->facts, FACT_CARRY);
	if (below == TRUTH_UNKNOWN)
		return (struct known_bits){ 0, ~UINT64_C(1) };
	return bits_of(below == TRUTH_TRUE);
}

static void set_carry(struct facts *facts, enum truth below)
{
	fact_set_truth(facts, FACT_CARRY, below);
	fact_forget(facts, FACT_BELOW_EQUAL);
	facts_conclude(facts);
}

static struct known_bits add(struct facts *facts, struct known_bits a, struct known_bits b,
			     struct known_bits carry, unsigned width_bits)
{
	struct known_bits sum = facts_of_addition(facts, a, b, carry, width_bits);
	enum truth carries = fact_of(facts, FACT_CARRY);
	set_carry(facts, carries == TRUTH_UNKNOWN ? TRUTH_UNKNOWN
			 : carries		  ? TRUTH_FALSE
						  : TRUTH_TRUE);
	return sum;
}

static void set_logic(struct facts *facts, struct known_bits result, unsigned width_bits)
{
	facts_of_logic(facts, result, width_bits);
	set_carry(facts, TRUTH_TRUE); /* C is 0 */
}

static struct known_bits add_or_subtract(struct facts *facts, bool subtracts, struct known_bits a,
					 struct known_bits b, unsigned width_bits)
{
	if (subtracts)
		return facts_of_subtraction(facts, a, b, bits_of(0), width_bits);
	return add(facts, a, b, bits_of(0), width_bits);
}

/* DecodeBitMasks() of the manual; false: not allocated. */
static bool mask_of(uint32_t word, unsigned width_bits, uint64_t *mask)
{
	unsigned n = word_bits(word, 22, 1), immr = word_bits(word, 16, 6),
		 imms = word_bits(word, 10, 6);
	unsigned sizes = n << 6 | (~imms & 0x3f);
	if (sizes < 2 || (n && width_bits == 32))
		return false;
	unsigned element = 1u << (31 - __builtin_clz(sizes));
	unsigned ones = (imms & (element - 1)) + 1;
	unsigned by = immr & (element - 1);
	if (ones == element)
		return false;
	struct known_bits pattern = bits_rotate_right(bits_of(bits_mask(ones)), by, element);
	*mask = 0;
	for (unsigned at = 0; at < width_bits; at += element)
		*mask |= (pattern.value & bits_mask(element)) << at;
	return true;
}

/* SBFM, BFM, UBFM */
static bool move_field(struct interpreter *interpreter, uint32_t word, unsigned width_bits)
{
	unsigned opc = word_bits(word, 29, 2), from = word_bits(word, 16, 6),
		 to = word_bits(word, 10, 6);
	if (opc == 3 || from >= width_bits || to >= width_bits)
		return false;
	struct known_bits source = read_x(interpreter, RN(word), width_bits);
	bool extracts = to >= from;
	unsigned count = extracts ? to - from + 1 : to + 1;
	unsigned at = extracts ? 0 : width_bits - from;
	struct known_bits field = bits_low(extracts ? bits_right(source, from) : source, count);
	if (opc == 1) {
		struct known_bits old = read_x(interpreter, RD(word), width_bits);
		field = bits_insert(old, bits_left(field, at), bits_mask(count) << at);
	} else {
		field = bits_left(opc == 0 ? bits_extend(field, count) : field, at);
	}
	write_x(interpreter, RD(word), width_bits, field);
	return true;
}

static bool move_wide(struct interpreter *interpreter, uint32_t word, unsigned width_bits)
{
	unsigned opc = word_bits(word, 29, 2), at = 16 * word_bits(word, 21, 2);
	uint64_t value = (uint64_t)word_bits(word, 5, 16) << at;
	if (opc == 1 || at >= width_bits)
		return false;
	struct known_bits bits = bits_of(opc == 0 ? ~value : value);
	if (opc == 3)
		bits = bits_insert(read_x(interpreter, RD(word), width_bits), bits,
				   UINT64_C(0xffff) << at);
	write_x(interpreter, RD(word), width_bits, bits);
	return true;
}

static bool extract(struct interpreter *interpreter, uint32_t word, unsigned width_bits)
{
	unsigned by = word_bits(word, 10, 6);
	if (word_bits(word, 29, 2) || word_bits(word, 21, 1) || by >= width_bits)
		return false;
	struct known_bits low = bits_right(read_x(interpreter, RM(word), width_bits), by);
	struct known_bits high =
		bits_left(read_x(interpreter, RN(word), width_bits), width_bits - by);
	write_x(interpreter, RD(word), width_bits, bits_or(low, high));
	return true;
}

bool aarch64_run_immediate(struct interpreter *interpreter, uint32_t word, uint64_t address)
{
	unsigned width_bits = word_bits(word, 31, 1) ? 64 : 32;
	unsigned opc = word_bits(word, 29, 2);
	struct facts facts;
	switch (word_bits(word, 23, 3)) {
	case 0:
	case 1: { /* ADR, ADRP */
		uint64_t distance = (uint64_t)bits_signed(word_bits(word, 5, 19) << 2 | opc, 21);
		uint64_t value = width_bits == 64 ? (address & ~UINT64_C(0xfff)) + (distance << 12)
						  : address + distance;
		write_x(interpreter, RD(word), 64, bits_of(value));
		return true;
	}
	case 2: { /* ADD, SUB */
		uint64_t value = (uint64_t)word_bits(word, 10, 12)
				 << (word_bits(word, 22, 1) ? 12 : 0);
		struct known_bits result = add_or_subtract(
			&facts, opc & 2, read_x_sp(interpreter, RN(word), width_bits),
			bits_of(value), width_bits);
		if (opc & 1) {
			interpreter->facts = facts;
			write_x(interpreter, RD(word), width_bits, result);
		} else {
			write_x_sp(interpreter, RD(word), width_bits, result);
		}
		return true;
	}
	case 4: { /* AND, ORR, EOR, ANDS */
		uint64_t mask;
		if (!mask_of(word, width_bits, &mask))
			return false;
		struct known_bits a = read_x(interpreter, RN(word), width_bits);
		struct known_bits result = opc == 1   ? bits_or(a, bits_of(mask))
					   : opc == 2 ? bits_xor(a, bits_of(mask))
						      : bits_and(a, bits_of(mask));
		if (opc == 3) {
			set_logic(&interpreter->facts, result, width_bits);
			write_x(interpreter, RD(word), width_bits, result);
		} else {
			write_x_sp(interpreter, RD(word), width_bits, result);
		}
		return true;
	}
	case 5:
		return move_wide(interpreter, word, width_bits);
	case 6:
		return move_field(interpreter, word, width_bits);
	case 7:
		return extract(interpreter, word, width_bits);
	}
	return false;
}

static bool run_logical(struct interpreter *interpreter, uint32_t word, unsigned width_bits)
{
	unsigned opc = word_bits(word, 29, 2), by = word_bits(word, 10, 6);
	if (by >= width_bits)
		return false;
	struct known_bits a = read_x(interpreter, RN(word), width_bits);
	struct known_bits b = shifted(read_x(interpreter, RM(word), width_bits),
				      word_bits(word, 22, 2), by, width_bits);
	if (word_bits(word, 21, 1))
		b = bits_not(b);
	bool same = RN(word) == RM(word) && by == 0 && !word_bits(word, 21, 1);
	struct known_bits result = opc == 1   ? bits_or(a, b)
				   : opc == 2 ? same ? bits_of(0) : bits_xor(a, b)
					      : bits_and(a, b);
	if (opc == 3)
		set_logic(&interpreter->facts, result, width_bits);
	write_x(interpreter, RD(word), width_bits, result);
	return true;
}

/* As UXTB to SXTX, then to the left. */
static struct known_bits extended(struct known_bits bits, unsigned option, unsigned by)
{
	unsigned from = 8u << (option & 3);
	return bits_left(option & 4 ? bits_extend(bits, from) : bits_low(bits, from), by);
}

static bool run_addition(struct interpreter *interpreter, uint32_t word, unsigned width_bits)
{
	bool extends = word_bits(word, 21, 1), sets = word_bits(word, 29, 1);
	struct known_bits a, b = read_x(interpreter, RM(word), 64);
	struct facts facts;
	if (extends) {
		if (word_bits(word, 22, 2) || word_bits(word, 10, 3) > 4)
			return false;
		a = read_x_sp(interpreter, RN(word), width_bits);
		b = extended(b, word_bits(word, 13, 3), word_bits(word, 10, 3));
	} else {
		if (word_bits(word, 22, 2) == SHIFT_ROTATE || word_bits(word, 10, 6) >= width_bits)
			return false;
		a = read_x(interpreter, RN(word), width_bits);
		b = shifted(b, word_bits(word, 22, 2), word_bits(word, 10, 6), width_bits);
		if (word_bits(word, 30, 1) && RN(word) == RM(word) && word_bits(word, 10, 6) == 0)
			a = b = bits_of(0);
	}
	struct known_bits result =
		add_or_subtract(&facts, word_bits(word, 30, 1), a, b, width_bits);
	if (sets)
		interpreter->facts = facts;
	if (extends && !sets)
		write_x_sp(interpreter, RD(word), width_bits, result);
	else
		write_x(interpreter, RD(word), width_bits, result);
	return true;
}

/* ADC, SBC */
static bool run_carry(struct interpreter *interpreter, uint32_t word, unsigned width_bits)
{
	struct known_bits a = read_x(interpreter, RN(word), width_bits);
	struct known_bits b = read_x(interpreter, RM(word), width_bits);
	struct known_bits below = not_carry(interpreter);
	struct facts facts;
	if (word_bits(word, 10, 6)) /* RMIF, SETF */
		return false;
	struct known_bits result;
	if (word_bits(word, 30, 1))
		result = facts_of_subtraction(&facts, a, b, below, width_bits);
	else
		result = add(&facts, a, b, bits_xor(below, bits_of(1)), width_bits);
	if (word_bits(word, 29, 1))
		interpreter->facts = facts;
	write_x(interpreter, RD(word), width_bits, result);
	return true;
}

/* CCMP, CCMN: the comparison's flags, or the instruction's own. */
static bool compare_if(struct interpreter *interpreter, uint32_t word, unsigned width_bits)
{
	struct known_bits a = read_x(interpreter, RN(word), width_bits);
	struct known_bits b = word_bits(word, 11, 1) ? bits_of(RM(word))
						     : read_x(interpreter, RM(word), width_bits);
	enum truth truth = aarch64_condition(interpreter, word_bits(word, 12, 4));
	struct facts given = facts_of_nzcv(word_bits(word, 0, 4));
	struct facts compared;
	if (!word_bits(word, 29, 1) || word_bits(word, 10, 1) || word_bits(word, 4, 1))
		return false;
	add_or_subtract(&compared, word_bits(word, 30, 1), a, b, width_bits);
	if (truth == TRUTH_UNKNOWN)
		compared.known &= given.known & (uint8_t) ~(compared.value ^ given.value);
	interpreter->facts = truth == TRUTH_FALSE ? given : compared;
	return true;
}

/* CSEL, CSINC, CSINV, CSNEG */
static bool select(struct interpreter *interpreter, uint32_t word, unsigned width_bits)
{
	struct known_bits yes = read_x(interpreter, RN(word), width_bits);
	struct known_bits no = read_x(interpreter, RM(word), width_bits);
	enum truth truth = aarch64_condition(interpreter, word_bits(word, 12, 4));
	if (word_bits(word, 29, 1) || word_bits(word, 11, 1))
		return false;
	if (word_bits(word, 30, 1))
		no = bits_not(no);
	if (word_bits(word, 10, 1))
		no = bits_add(no, bits_of(1), bits_of(0));
	no = bits_low(no, width_bits);
	write_x(interpreter, RD(word), width_bits,
		truth == TRUTH_UNKNOWN ? bits_either(yes, no)
		: truth		       ? yes
				       : no);
	return true;
}

static struct known_bits quotient(struct known_bits a, struct known_bits b, bool is_signed,
				  unsigned width_bits)
{
	if (!bits_are_known(a, 64) || !bits_are_known(b, 64))
		return bits_unknown();
	if (b.value == 0)
		return bits_of(0);
	if (!is_signed)
		return bits_of(a.value / b.value);
	int64_t divisor = bits_signed(b.value, width_bits);
	if (divisor == -1)
		return bits_of(-a.value);
	return bits_of((uint64_t)(bits_signed(a.value, width_bits) / divisor));
}

static bool run_two_sources(struct interpreter *interpreter, uint32_t word, unsigned width_bits)
{
	unsigned opcode = word_bits(word, 10, 6);
	struct known_bits a = read_x(interpreter, RN(word), width_bits);
	struct known_bits b = read_x(interpreter, RM(word), width_bits);
	if (word_bits(word, 29, 1))
		return false;
	if (opcode == 2 || opcode == 3) {
		write_x(interpreter, RD(word), width_bits, quotient(a, b, opcode == 3, width_bits));
		return true;
	}
	if (opcode < 8 || opcode > 11)
		return false;
	if (~b.known & (width_bits - 1))
		a = bits_unknown();
	else
		a = shifted(a, opcode - 8, (unsigned)b.value & (width_bits - 1), width_bits);
	write_x(interpreter, RD(word), width_bits, a);
	return true;
}

static uint64_t reverse_bits(uint64_t value)
{
	uint64_t result = 0;
	for (unsigned i = 0; i < 64; i++)
		result |= (value >> i & 1) << (63 - i);
	return result;
}

/* The bytes of each group of `bytes` in the opposite order. */
static uint64_t reverse_groups(uint64_t value, unsigned bytes)
{
	if (bytes == 2)
		return (value >> 8 & UINT64_C(0x00ff00ff00ff00ff)) |
		       (value & UINT64_C(0x00ff00ff00ff00ff)) << 8;
	value = __builtin_bswap64(value);
	return bytes == 8 ? value : value >> 32 | value << 32;
}

/* CLZ: the number of zeros above the highest one. CLS: of bits below the highest that equal it. */
static struct known_bits leading(struct known_bits a, unsigned width_bits, bool of_sign)
{
	if (of_sign) {
		a = bits_extend(a, width_bits);
		a = bits_low(bits_xor(a, bits_left(a, 1)), width_bits);
		a = bits_low(bits_right(a, 1), width_bits - 1);
		width_bits--;
	}
	uint64_t maybe = (a.value | ~a.known) & bits_mask(width_bits);
	if (!maybe)
		return bits_of(width_bits);
	unsigned place = 63 - (unsigned)__builtin_clzll(maybe);
	if (!(a.known >> place & 1))
		return (struct known_bits){ 0, ~UINT64_C(127) };
	return bits_of(width_bits - 1 - place);
}

static bool run_one_source(struct interpreter *interpreter, uint32_t word, unsigned width_bits)
{
	unsigned opcode = word_bits(word, 10, 6);
	struct known_bits a = read_x(interpreter, RN(word), width_bits);
	if (word_bits(word, 29, 1))
		return false;
	if (word_bits(word, 16, 5) == 1) { /* PACIA and its kin, of a register; XPAC */
		struct known_bits old = read_x(interpreter, RD(word), 64);
		bool adds = opcode < 16 && !(opcode & 4);
		write_x(interpreter, RD(word), 64,
			adds ? aarch64_sign_pointer(old) : aarch64_strip_pointer(old));
		return true;
	}
	unsigned shift = 64 - width_bits;
	switch (opcode) {
	case 0:
		a = (struct known_bits){ reverse_bits(a.value) >> shift,
					 reverse_bits(a.known) >> shift };
		break;
	case 1:
	case 2:
	case 3: {
		unsigned bytes = 1u << opcode;
		if (8 * bytes > width_bits)
			return false;
		a = (struct known_bits){ reverse_groups(a.value, bytes),
					 reverse_groups(a.known, bytes) };
		break;
	}
	case 4:
	case 5:
		a = leading(a, width_bits, opcode == 5);
		break;
	default:
		return false;
	}
	write_x(interpreter, RD(word), width_bits, a);
	return true;
}

/* As many low bits as are known of both factors are known of a product. */
static struct known_bits product(struct known_bits a, struct known_bits b)
{
	uint64_t unknown = ~(a.known & b.known);
	uint64_t known = bits_mask(unknown ? (unsigned)__builtin_ctzll(unknown) : 64);
	if ((bits_are_known(a, 64) && !a.value) || (bits_are_known(b, 64) && !b.value))
		known = UINT64_MAX;
	return (struct known_bits){ a.value * b.value & known, known };
}

/* MADD, MSUB, SMADDL, UMADDL and their kin, SMULH, UMULH */
static bool run_three_sources(struct interpreter *interpreter, uint32_t word, unsigned width_bits)
{
	unsigned operation = word_bits(word, 21, 3);
	bool is_signed = operation < 4;
	struct known_bits a = read_x(interpreter, RN(word), width_bits);
	struct known_bits b = read_x(interpreter, RM(word), width_bits);
	struct known_bits c = read_x(interpreter, RA(word), width_bits);
	if (word_bits(word, 29, 2))
		return false;
	if (operation == 2 || operation == 6) {
		struct known_bits high = bits_unknown();
		if (bits_are_known(a, 64) && bits_are_known(b, 64)) {
			__int128 whole = (__int128)(int64_t)a.value * (int64_t)b.value;
			unsigned __int128 unsigned_whole = (unsigned __int128)a.value * b.value;
			high = bits_of((uint64_t)(is_signed ? (unsigned __int128)whole >> 64
							    : unsigned_whole >> 64));
		}
		write_x(interpreter, RD(word), 64, high);
		return true;
	}
	if (operation) { /* of 32 bits to 64 */
		a = is_signed ? bits_extend(a, 32) : bits_low(a, 32);
		b = is_signed ? bits_extend(b, 32) : bits_low(b, 32);
	}
	a = product(a, b);
	write_x(interpreter, RD(word), width_bits,
		word_bits(word, 15, 1) ? bits_subtract(c, a) : bits_add(c, a, bits_of(0)));
	return true;
}

bool aarch64_run_register(struct interpreter *interpreter, uint32_t word)
{
	unsigned width_bits = word_bits(word, 31, 1) ? 64 : 32;
	if (!word_bits(word, 28, 1))
		return word_bits(word, 24, 1) ? run_addition(interpreter, word, width_bits)
					      : run_logical(interpreter, word, width_bits);
	if (word_bits(word, 24, 1))
		return run_three_sources(interpreter, word, width_bits);
	switch (word_bits(word, 21, 3)) {
	case 0:
		return run_carry(interpreter, word, width_bits);
	case 2:
		return compare_if(interpreter, word, width_bits);
	case 4:
		return select(interpreter, word, width_bits);
	case 6:
		return word_bits(word, 30, 1) ? run_one_source(interpreter, word, width_bits)
					      : run_two_sources(interpreter, word, width_bits);
	}
	return false;
}
