/*
 * AArch64: branches, hints, and instructions of which only the effects are known;
 * interpret_aarch64_data.c and interpret_aarch64_memory.c have the rest.
 */
#include <string.h>

#include "isa/interpret_aarch64.h"

#define ADDRESS_BITS 48

/* How far a check of the stack protector's guard has come, instruction by instruction. */
enum guard_stage {
	GUARD_NONE,
	GUARD_LOADED,	  /* ldr xB, [xN] */
	GUARD_SUBTRACTED, /* subs xA, xA, xB */
	GUARD_CLEARED,	  /* mov xB, #0; a b.ne comes next */
};

struct facts facts_of_nzcv(unsigned nzcv)
{
	struct facts facts = { 0, 0 };
	fact_set(&facts, FACT_SIGN, nzcv & 8);
	fact_set(&facts, FACT_ZERO, nzcv & 4);
	fact_set(&facts, FACT_CARRY, !(nzcv & 2)); /* inverted: "below" */
	fact_set(&facts, FACT_OVERFLOW, nzcv & 1);
	facts_conclude(&facts);
	return facts;
}

void aarch64_start_flags(struct interpreter *interpreter, const struct interpret_start *start)
{
	interpreter->guard_stage = GUARD_NONE;
	if (start->flags_known)
		interpreter->facts = facts_of_nzcv(start->flags >> 28 & 15);
}

static enum truth negate(enum truth truth, bool really)
{
	return really ? truth_not(truth) : truth;
}

enum truth aarch64_condition(const struct interpreter *interpreter, unsigned condition)
{
	static const struct {
		uint8_t fact;
		bool inverted;
	} asked[7] = {
		{ FACT_ZERO, false },	  { FACT_CARRY, true },	      { FACT_SIGN, false },
		{ FACT_OVERFLOW, false }, { FACT_BELOW_EQUAL, true }, /* hi */
		{ FACT_LESS, true },	  { FACT_LESS_EQUAL, true },
	};
	unsigned which = condition >> 1;
	if (which == 7) /* al, nv */
		return TRUTH_TRUE;
	enum truth truth = fact_of(&interpreter->facts, asked[which].fact);
	return negate(truth, asked[which].inverted != (condition & 1));
}

struct known_bits aarch64_strip_pointer(struct known_bits pointer)
{
	return bits_low(pointer, ADDRESS_BITS);
}

/* A machine without pointer authentication leaves the pointer alone: the bits are unknown. */
struct known_bits aarch64_sign_pointer(struct known_bits pointer)
{
	return bits_insert(bits_unknown(), pointer, bits_mask(ADDRESS_BITS));
}

bool aarch64_step_decode(struct interpreter *interpreter, struct span code, uint64_t address,
			 struct step *step)
{
	struct instruction instruction;
	struct instruction_effects effects;
	if (code.size < 4)
		return false;
	decoder_effects(interpreter->decoder, code, address, &instruction, &effects);
	step->address = address;
	step->length = 4;
	step->known = effects.known;
	step->writes = effects.writes;
	step->writes_memory = effects.writes_memory;
	step->written_bytes = effects.written_bytes;
	return true;
}

static bool branch(struct interpreter *interpreter, const struct step *step, enum truth taken,
		   uint64_t distance, uint64_t *next, enum interpret_end *end)
{
	return interpreter_branch(interpreter, step, taken, step->address + distance * 4, next,
				  end);
}

/* BR, BLR, RET, and with authentication. */
static bool run_register_branch(struct interpreter *interpreter, const struct step *step,
				uint32_t word, uint64_t *next, enum interpret_end *end)
{
	static const enum interpret_edge edges[] = { INTERPRET_INDIRECT, INTERPRET_CALL,
						     INTERPRET_RETURN };
	unsigned which = word_bits(word, 21, 3);
	bool authenticates = word_bits(word, 11, 1);
	if (which > 2)
		return *end = INTERPRET_END_SYSTEM, false;
	unsigned number = which == 2 && authenticates ? 30 : RN(word);
	struct known_bits target = read_x(interpreter, number, 64);
	if (authenticates)
		target = aarch64_strip_pointer(target);
	*end = which == 2 ? INTERPRET_END_RETURN : INTERPRET_END_INDIRECT;
	if (!bits_are_known(target, 64))
		return false;
	if (which == 1)
		interpreter->general[30] = bits_of(*next);
	*next = target.value;
	interpreter_report(interpreter, step->address, *next, edges[which]);
	return true;
}

static bool run_hint(struct interpreter *interpreter, uint32_t word)
{
	struct known_bits *general = interpreter->general;
	switch (word_bits(word, 5, 7)) {
	case 24:
	case 25:
	case 26:
	case 27: /* PACIAZ, PACIASP, PACIBZ, PACIBSP */
		general[30] = aarch64_sign_pointer(general[30]);
		return true;
	case 7:
	case 28:
	case 29:
	case 30:
	case 31: /* XPACLRI, AUTIAZ and its kin */
		general[30] = aarch64_strip_pointer(general[30]);
		return true;
	case 8:
	case 10:
		general[17] = aarch64_sign_pointer(general[17]);
		return true;
	case 12:
	case 14:
		general[17] = aarch64_strip_pointer(general[17]);
		return true;
	}
	return true; /* changes nothing that the interpreter keeps */
}

/* Makes unknown what a store of unknown data may overwrite: at most FORGET_BYTES around its base.
 */
static void forget_stored(struct interpreter *interpreter, const struct step *step, uint32_t word)
{
	bool structures = (word & 0xbe000000) == 0x0c000000; /* ST1 and its kin, at the base */
	bool copies = (word & 0x3b200c00) == 0x19000400;     /* CPY, SET: Rd is where to */
	bool zeroes = (word & 0xffffffe0) == 0xd50b7420;     /* DC ZVA */
	struct known_bits base = interpreter->general[copies || zeroes ? RD(word) : RN(word)];
	if (!bits_are_known(base, 64))
		return;
	if (structures && step->written_bytes)
		memory_forget(&interpreter->memory, base.value, step->written_bytes);
	else
		memory_forget(&interpreter->memory, base.value - FORGET_BYTES, 2 * FORGET_BYTES);
}

/* Makes unknown all that the effects say is written. */
static bool forget(struct interpreter *interpreter, const struct step *step, uint32_t word,
		   enum interpret_end *end)
{
	if (!step->known)
		return *end = INTERPRET_END_UNKNOWN, false;
	if (step->writes_memory)
		forget_stored(interpreter, step, word);
	interpreter_forget(interpreter, step);
	if (register_set_has(&step->writes, AARCH64_NZCV))
		interpreter->facts = (struct facts){ 0, 0 };
	return true;
}

/*
 * Recognises gcc's check of the guard, which no other code looks like: its outcome is known though
 * the guard is not, since a program whose guard differs ends.
 */
static void watch_guard(struct interpreter *interpreter, uint64_t address, uint32_t word)
{
	unsigned stage = GUARD_NONE;
	unsigned guard = interpreter->guard_register;
	if (address == interpreter->guard_address)
		stage = interpreter->guard_stage;
	interpreter->guard_stage = GUARD_NONE;
	interpreter->guard_address = address + 4;
	if ((word & 0xfffffc00) == 0xf9400000 && RN(word) != 31) {
		interpreter->guard_register = (uint8_t)RD(word);
		interpreter->guard_stage = GUARD_LOADED;
	} else if (stage == GUARD_LOADED && (word & 0xffe0fc00) == 0xeb000000 &&
		   RD(word) == RN(word) && RM(word) == guard && RD(word) != guard) {
		interpreter->guard_stage = GUARD_SUBTRACTED;
	} else if (stage == GUARD_SUBTRACTED && word == (0xd2800000 | guard)) {
		interpreter->guard_stage = GUARD_CLEARED;
	}
}

/* Whether a B.cond is taken; that of a guard's check is not. */
static enum truth branch_condition(const struct interpreter *interpreter, const struct step *step,
				   unsigned condition)
{
	enum truth truth = aarch64_condition(interpreter, condition);
	bool guards = interpreter->guard_stage == GUARD_CLEARED && condition == 1 &&
		      step->address == interpreter->guard_address;
	return truth == TRUTH_UNKNOWN && guards ? TRUTH_FALSE : truth;
}

/* Branches, exceptions, system instructions. *done false: another instruction, not executed. */
static bool run_flow(struct interpreter *interpreter, const struct step *step, uint32_t word,
		     uint64_t *next, enum interpret_end *end, bool *done)
{
	*done = true;
	if ((word & 0x7c000000) == 0x14000000) { /* B, BL */
		if (word & 0x80000000)
			interpreter->general[30] = bits_of(*next);
		*next = step->address + word_signed_bits(word, 0, 26) * 4;
		return true;
	}
	if ((word & 0xff000000) == 0x54000000) /* B.cond, BC.cond */
		return branch(interpreter, step,
			      branch_condition(interpreter, step, word_bits(word, 0, 4)),
			      word_signed_bits(word, 5, 19), next, end);
	if ((word & 0x7e000000) == 0x34000000) { /* CBZ, CBNZ */
		enum truth zero = bits_are_zero(
			read_x(interpreter, RD(word), word_bits(word, 31, 1) ? 64 : 32));
		return branch(interpreter, step, negate(zero, word_bits(word, 24, 1)),
			      word_signed_bits(word, 5, 19), next, end);
	}
	if ((word & 0x7e000000) == 0x36000000) { /* TBZ, TBNZ */
		unsigned bit = word_bits(word, 31, 1) << 5 | word_bits(word, 19, 5);
		struct known_bits value = bits_right(read_x(interpreter, RD(word), 64), bit);
		enum truth zero = bits_are_zero(bits_low(value, 1));
		return branch(interpreter, step, negate(zero, word_bits(word, 24, 1)),
			      word_signed_bits(word, 5, 14), next, end);
	}
	if ((word & 0xfe1f0000) == 0xd61f0000)
		return run_register_branch(interpreter, step, word, next, end);
	if ((word & 0xff000000) == 0xd4000000 || (word & 0xfe000000) == 0xd6000000) {
		*end = INTERPRET_END_SYSTEM;
		return false;
	}
	if ((word & 0xfffff01f) == 0xd503201f)
		return run_hint(interpreter, word);
	*done = false;
	return true;
}

/* Instructions that are no branches, by op0 (C4.1). */
static bool run_plain(struct interpreter *interpreter, const struct step *step, uint32_t word)
{
	unsigned op0 = word_bits(word, 25, 4);
	if ((op0 & 0xe) == 8)
		return aarch64_run_immediate(interpreter, word, step->address);
	if ((op0 & 5) == 4)
		return aarch64_run_memory(interpreter, word, step->address);
	if ((op0 & 7) == 5)
		return aarch64_run_register(interpreter, word);
	if ((op0 & 7) == 7)
		return aarch64_run_vector(interpreter, word);
	return false;
}

bool aarch64_step_run(struct interpreter *interpreter, const struct step *step, uint64_t *next,
		      enum interpret_end *end)
{
	uint32_t word;
	memcpy(&word, step->bytes, sizeof(word));
	if ((word_bits(word, 25, 4) & 0xe) == 10) {
		bool done;
		bool goes_on = run_flow(interpreter, step, word, next, end, &done);
		if (done)
			return goes_on;
	} else {
		watch_guard(interpreter, step->address, word);
		if (step->known && run_plain(interpreter, step, word))
			return true;
	}
	return forget(interpreter, step, word, end);
}
