/*
 * AArch64: loads, stores, and the few vector instructions that move what was loaded.
 */
#include "isa/interpret_aarch64.h"

/* How registers, general or vector, go to and from memory. */
struct access {
	bool loads, vector;
	bool is_signed;
	unsigned bytes;	     /* of one register; 16: of a vector */
	unsigned width_bits; /* that a general register gets */
};

static struct known_bits load(struct interpreter *interpreter, struct known_bits address,
			      unsigned bytes)
{
	if (!bits_are_known(address, 64))
		return bits_low(bits_unknown(), 8 * bytes);
	return bits_low(memory_load(&interpreter->memory, address.value, bytes), 8 * bytes);
}

static void store(struct interpreter *interpreter, struct known_bits address, unsigned bytes,
		  struct known_bits bits)
{
	if (bits_are_known(address, 64))
		memory_store(&interpreter->memory, address.value, bytes, bits);
}

static struct known_bits moved(struct known_bits address, uint64_t by)
{
	return bits_add(address, bits_of(by), bits_of(0));
}

static void move_vector(struct interpreter *interpreter, const struct access *access,
			unsigned number, struct known_bits address)
{
	struct known_bits *vector = interpreter->vectors[number];
	unsigned low = access->bytes < 8 ? access->bytes : 8;
	if (access->loads) {
		vector[0] = load(interpreter, address, low);
		vector[1] =
			access->bytes == 16 ? load(interpreter, moved(address, 8), 8) : bits_of(0);
		return;
	}
	store(interpreter, address, low, vector[0]);
	if (access->bytes == 16)
		store(interpreter, moved(address, 8), 8, vector[1]);
}

static void move_register(struct interpreter *interpreter, const struct access *access,
			  unsigned number, struct known_bits address)
{
	if (access->vector) {
		move_vector(interpreter, access, number, address);
	} else if (access->loads) {
		struct known_bits bits = load(interpreter, address, access->bytes);
		if (access->is_signed)
			bits = bits_extend(bits, 8 * access->bytes);
		write_x(interpreter, number, access->width_bits, bits);
	} else {
		store(interpreter, address, access->bytes, read_x(interpreter, number, 64));
	}
}

/* By size, V and opc; false: a prefetch, or not allocated. */
static bool access_of(uint32_t word, struct access *out)
{
	unsigned size = word_bits(word, 30, 2), opc = word_bits(word, 22, 2);
	bool vector = word_bits(word, 26, 1);
	*out = (struct access){ .loads = opc != 0, .vector = vector, .bytes = 1u << size };
	out->width_bits = 64;
	if (vector) {
		out->loads = opc & 1;
		if (opc >= 2)
			out->bytes = 16;
		return opc < 2 || size == 0;
	}
	out->is_signed = opc >= 2;
	if (opc == 3)
		out->width_bits = 32;
	return !(opc == 2 && size == 3) && !(opc == 3 && size >= 2);
}

/* LDP, STP and their kin */
static bool run_pair(struct interpreter *interpreter, uint32_t word)
{
	unsigned opc = word_bits(word, 30, 2), mode = word_bits(word, 23, 2);
	struct access access = { .loads = word_bits(word, 22, 1),
				 .vector = word_bits(word, 26, 1) };
	if (opc == 3)
		return false;
	access.width_bits = 64;
	access.bytes = access.vector ? 4u << opc : opc == 2 ? 8 : 4;
	access.is_signed = !access.vector && opc == 1;
	if (access.is_signed && !access.loads)
		return false; /* STGP */
	struct known_bits base = read_x_sp(interpreter, RN(word), 64);
	struct known_bits other = moved(base, word_signed_bits(word, 15, 7) * access.bytes);
	struct known_bits address = mode == 1 ? base : other; /* 1: afterwards */
	move_register(interpreter, &access, RD(word), address);
	move_register(interpreter, &access, RA(word), moved(address, access.bytes));
	if (mode & 1)
		write_x_sp(interpreter, RN(word), 64, other);
	return true;
}

static bool run_literal(struct interpreter *interpreter, uint32_t word, uint64_t address)
{
	unsigned opc = word_bits(word, 30, 2);
	struct access access = { .loads = true,
				 .vector = word_bits(word, 26, 1),
				 .width_bits = 64 };
	if (opc == 3)
		return !access.vector; /* PRFM */
	access.bytes = access.vector ? 4u << opc : opc == 1 ? 8 : 4;
	access.is_signed = !access.vector && opc == 2;
	move_register(interpreter, &access, RD(word),
		      bits_of(address + word_signed_bits(word, 5, 19) * 4));
	return true;
}

/* LDADD and its kin, SWP; LDAPR */
static bool run_atomic(struct interpreter *interpreter, uint32_t word)
{
	unsigned bytes = 1u << word_bits(word, 30, 2), operation = word_bits(word, 12, 4);
	struct known_bits address = read_x_sp(interpreter, RN(word), 64);
	struct known_bits old = load(interpreter, address, bytes);
	struct known_bits operand = read_x(interpreter, RM(word), 64);
	struct known_bits new = bits_unknown();
	if (operation == 12) {
		write_x(interpreter, RD(word), 64, old);
		return true;
	}
	if (operation > 8)
		return false;
	if (operation == 0)
		new = bits_add(old, operand, bits_of(0));
	else if (operation == 1)
		new = bits_and(old, bits_not(operand));
	else if (operation == 2)
		new = bits_xor(old, operand);
	else if (operation == 3)
		new = bits_or(old, operand);
	else if (operation == 8)
		new = operand;
	store(interpreter, address, bytes, new);
	write_x(interpreter, RD(word), 64, old);
	return true;
}

/* An offset in a register, extended and shifted by the size. */
static bool register_offset(struct interpreter *interpreter, uint32_t word, unsigned bytes,
			    struct known_bits *offset)
{
	unsigned option = word_bits(word, 13, 3);
	if (!(option & 2))
		return false;
	*offset = read_x(interpreter, RM(word), 64);
	if ((option & 3) == 2)
		*offset = option & 4 ? bits_extend(*offset, 32) : bits_low(*offset, 32);
	if (word_bits(word, 12, 1))
		*offset = bits_left(*offset, (unsigned)__builtin_ctz(bytes));
	return true;
}

static bool is_prefetch(uint32_t word)
{
	return !word_bits(word, 26, 1) && word_bits(word, 30, 2) == 3 &&
	       word_bits(word, 22, 2) == 2;
}

static bool run_single(struct interpreter *interpreter, uint32_t word)
{
	unsigned mode =
		word_bits(word, 10, 2); /* 0: as it is, 1: afterwards, 2: as it is, 3: before */
	struct access access;
	if (word_bits(word, 21, 1) && mode == 0)
		return !word_bits(word, 26, 1) && run_atomic(interpreter, word);
	if (word_bits(word, 21, 1) && mode != 2)
		return false; /* with authentication */
	if (is_prefetch(word))
		return true;
	if (!access_of(word, &access))
		return false;
	struct known_bits base = read_x_sp(interpreter, RN(word), 64);
	struct known_bits offset = bits_of(word_signed_bits(word, 12, 9));
	if (word_bits(word, 21, 1) && !register_offset(interpreter, word, access.bytes, &offset))
		return false;
	struct known_bits other = bits_add(base, offset, bits_of(0));
	move_register(interpreter, &access, RD(word), mode == 1 ? base : other);
	if (mode & 1)
		write_x_sp(interpreter, RN(word), 64, other);
	return true;
}

/* CAS: whether it stores goes by what was there. */
static void compare_and_swap(struct interpreter *interpreter, uint32_t word,
			     struct known_bits address, unsigned bytes)
{
	struct known_bits old = load(interpreter, address, bytes);
	struct known_bits expected = read_x(interpreter, RM(word), 8 * bytes);
	struct known_bits new = bits_low(read_x(interpreter, RD(word), 64), 8 * bytes);
	struct facts facts;
	facts_of_subtraction(&facts, old, expected, bits_of(0), 8 * bytes);
	enum truth equal = fact_of(&facts, FACT_ZERO);
	if (equal != TRUTH_FALSE)
		store(interpreter, address, bytes,
		      equal == TRUTH_TRUE ? new : bits_either(old, new));
	write_x(interpreter, RM(word), 64, old);
}

/* LDXR, STXR, LDAR, STLR, CAS. Whether an exclusive store succeeds is not known. */
static bool run_exclusive(struct interpreter *interpreter, uint32_t word)
{
	bool pair = word_bits(word, 21, 1), ordered = word_bits(word, 23, 1);
	unsigned bytes = 1u << word_bits(word, 30, 2);
	struct access access = { .loads = word_bits(word, 22, 1),
				 .bytes = bytes,
				 .width_bits = 64 };
	struct known_bits address = read_x_sp(interpreter, RN(word), 64);
	if (pair && ordered) {
		compare_and_swap(interpreter, word, address, bytes);
		return true;
	}
	if (pair && bytes < 4)
		return false; /* CASP */
	if (!ordered && !access.loads) {
		/* stored, or not */
		for (unsigned i = 0; i <= pair; i++)
			store(interpreter, moved(address, i * bytes), bytes, bits_unknown());
		write_x(interpreter, RM(word), 64, (struct known_bits){ 0, ~UINT64_C(1) });
		return true;
	}
	move_register(interpreter, &access, RD(word), address);
	if (pair)
		move_register(interpreter, &access, RA(word), moved(address, bytes));
	return true;
}

bool aarch64_run_memory(struct interpreter *interpreter, uint32_t word, uint64_t address)
{
	struct access access;
	if ((word & 0x3f000000) == 0x08000000)
		return run_exclusive(interpreter, word);
	if ((word & 0x3b000000) == 0x18000000)
		return run_literal(interpreter, word, address);
	if ((word & 0x3a000000) == 0x28000000)
		return run_pair(interpreter, word);
	if ((word & 0x3b000000) == 0x38000000)
		return run_single(interpreter, word);
	if ((word & 0x3b000000) != 0x39000000)
		return false;
	if (is_prefetch(word))
		return true;
	if (!access_of(word, &access))
		return false;
	move_register(interpreter, &access, RD(word),
		      moved(read_x_sp(interpreter, RN(word), 64),
			    (uint64_t)word_bits(word, 10, 12) * access.bytes));
	return true;
}

/* Clearing, copies between vectors, and from and to general registers. */
bool aarch64_run_vector(struct interpreter *interpreter, uint32_t word)
{
	struct known_bits *to = interpreter->vectors[RD(word)];
	struct known_bits *from = interpreter->vectors[RN(word)];
	bool whole = word_bits(word, 30, 1);
	if ((word & 0xbff8fc00) == 0x0f00e400 || (word & 0xfff8fc00) == 0x6f00e400) {
		uint64_t value = word_bits(word, 16, 3) << 5 | word_bits(word, 5, 5);
		if (value) /* MOVI of anything but 0 */
			return false;
		to[0] = to[1] = bits_of(0);
		return true;
	}
	bool same = RN(word) == RM(word);
	if ((word & 0xbfe0fc00) == 0x0ea01c00 && same) { /* ORR: a copy */
		struct known_bits high = whole ? from[1] : bits_of(0);
		to[0] = from[0];
		to[1] = high;
		return true;
	}
	if ((word & 0xbfe0fc00) == 0x2e201c00 && same) { /* EOR */
		to[0] = to[1] = bits_of(0);
		return true;
	}
	switch (word & 0xfffffc00) {
	case 0x9e670000: /* FMOV d, x */
		to[0] = read_x(interpreter, RN(word), 64);
		to[1] = bits_of(0);
		return true;
	case 0x9e660000: /* FMOV x, d */
		write_x(interpreter, RD(word), 64, from[0]);
		return true;
	case 0x1e270000: /* FMOV s, w */
		to[0] = read_x(interpreter, RN(word), 32);
		to[1] = bits_of(0);
		return true;
	case 0x1e260000: /* FMOV w, s */
		write_x(interpreter, RD(word), 32, from[0]);
		return true;
	case 0x1e604000: /* FMOV d, d */
		to[0] = from[0];
		to[1] = bits_of(0);
		return true;
	}
	return false;
}
