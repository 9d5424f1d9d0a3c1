/*
 * AArch64, A64 encodings of the Arm ARM (DDI 0487) C4.1. Of register 31 only the
 * stack pointer counts; the zero register reads as a constant and is not written.
 */
#include "isa/aarch64_word.h"
#include "isa/transfer.h"

#define SP	 31
#define BIT(reg) (UINT64_C(1) << (reg))
/* AAPCS64: x0 to x18 and x30 are the callee's. */
#define CALL_WRITES (UINT64_C(0x4007ffff) | TRANSFER_WRITES_MEMORY | TRANSFER_CALLS)

static uint8_t rd(uint32_t word)
{
	return (uint8_t)(word & 31);
}

static uint8_t rn(uint32_t word)
{
	return (uint8_t)word_bits(word, 5, 5);
}

static uint8_t rm(uint32_t word)
{
	return (uint8_t)word_bits(word, 16, 5);
}

/* Bit of a register whose number 31 is the zero register. */
static uint64_t general_bit(uint8_t reg)
{
	return reg == 31 ? 0 : BIT(reg);
}

static void set(struct transfer *out, enum transfer_kind kind, uint8_t to)
{
	out->kind = kind;
	out->to = to;
}

/* A 32-bit form clears the upper half. */
static uint64_t cut(uint64_t value, uint32_t word)
{
	return word >> 31 ? value : value & UINT32_MAX;
}

static void read_add_immediate(uint32_t word, struct transfer *out)
{
	uint64_t value = (uint64_t)word_bits(word, 10, 12) << (word_bits(word, 22, 1) ? 12 : 0);
	bool subtracts = word & 0x40000000, flags = word & 0x20000000;
	out->writes = flags ? general_bit(rd(word)) : BIT(rd(word));
	out->sets_flags = flags;
	if (flags && subtracts) {
		out->compares = true;
		out->compared = value;
	}
	out->from = rn(word);
	out->size_bytes = word >> 31 ? 8 : 4;
	if (out->writes) {
		set(out, TRANSFER_ADD, rd(word));
		out->constant = subtracts ? UINT64_C(0) - value : value;
	}
}

/* ADD, SUB of registers, shifted or extended. */
static void read_add_register(uint32_t word, struct transfer *out)
{
	bool flags = word & 0x20000000, extended = word & 0x00200000;
	out->writes = flags || !extended ? general_bit(rd(word)) : BIT(rd(word));
	out->sets_flags = flags;
	if (!out->writes || (word & 0x40000000))
		return;
	unsigned option = word_bits(word, 13, 3);
	if (extended ? word_bits(word, 10, 3) > 4 : word_bits(word, 22, 2) != 0)
		return;
	set(out, TRANSFER_ADD, rd(word));
	out->from = rn(word);
	out->other = rm(word);
	out->shift = (uint8_t)(extended ? word_bits(word, 10, 3) : word_bits(word, 10, 6));
	out->size_bytes = extended ? (uint8_t)(1u << (option & 3)) : 8;
	out->is_signed = extended && (option & 4);
}

/* ORR with the zero register is mov; everything else only writes. */
static void read_logical_register(uint32_t word, struct transfer *out)
{
	out->writes = general_bit(rd(word));
	out->sets_flags = word_bits(word, 29, 2) == 3;
	if (word_bits(word, 29, 2) == 1 && rn(word) == 31 && !word_bits(word, 10, 6) &&
	    !word_bits(word, 21, 3) && rm(word) != 31 && out->writes) {
		set(out, TRANSFER_COPY, rd(word));
		out->from = rm(word);
		out->size_bytes = word >> 31 ? 8 : 4;
	}
}

static void read_logical_immediate(uint32_t word, struct transfer *out)
{
	unsigned work = word_bits(word, 29, 2), ones = word_bits(word, 10, 6) + 1;
	out->sets_flags = work == 3;
	out->writes = work == 3 ? general_bit(rd(word)) : BIT(rd(word));
	/* and with the lowest `ones` bits: no rotation, one element of 32 or 64 bits */
	bool one_element = word_bits(word, 22, 1) || !(word & 0x8000); /* N, or imms 0xxxxx */
	if (work == 0 && one_element && !word_bits(word, 16, 6) && ones < 32) {
		set(out, TRANSFER_LIMIT, rd(word));
		out->constant = UINT64_C(1) << ones;
	}
}

static void read_bitfield(uint32_t word, struct transfer *out)
{
	unsigned immr = word_bits(word, 16, 6), imms = word_bits(word, 10, 6);
	unsigned width = word >> 31 ? 64 : 32;
	out->writes = general_bit(rd(word));
	unsigned work = word_bits(word, 29, 2);
	if (!out->writes || work == 1 || work == 3)
		return;
	out->from = rn(word);
	if (immr == 0 && (imms == 7 || imms == 15 || imms == 31)) { /* sxtb ... uxth */
		set(out, TRANSFER_EXTEND, rd(word));
		out->size_bytes = (uint8_t)((imms + 1) / 8);
		out->is_signed = work == 0;
	} else if (work == 2 && imms + 1 == immr) { /* lsl */
		set(out, TRANSFER_SHIFT, rd(word));
		out->shift = (uint8_t)(width - immr);
	} else if (work == 2 && imms >= immr && imms - immr < 31) { /* ubfx, lsr */
		set(out, TRANSFER_LIMIT, rd(word));
		out->constant = UINT64_C(2) << (imms - immr);
	}
}

static void read_move_wide(uint32_t word, struct transfer *out)
{
	uint64_t value = (uint64_t)word_bits(word, 5, 16) << (word_bits(word, 21, 2) * 16);
	out->writes = general_bit(rd(word));
	unsigned work = word_bits(word, 29, 2);
	if (!out->writes || work == 1)
		return;
	if (work == 3) { /* movk, on what is there already */
		out->from = rd(word);
		return;
	}
	set(out, TRANSFER_CONSTANT, rd(word));
	out->constant = cut(work == 0 ? ~value : value, word);
}

/* op0 100x: immediates. */
static void read_immediate(uint32_t word, uint64_t vaddr, struct transfer *out)
{
	switch (word_bits(word, 23, 3)) {
	case 0:
	case 1: { /* ADR, ADRP */
		uint64_t offset =
			word_sign_extend(word_bits(word, 5, 19) << 2 | word_bits(word, 29, 2), 21);
		out->writes = general_bit(rd(word));
		if (!out->writes)
			return;
		set(out, TRANSFER_CONSTANT, rd(word));
		out->constant =
			word >> 31 ? (vaddr & ~UINT64_C(0xfff)) + (offset << 12) : vaddr + offset;
		return;
	}
	case 2:
		read_add_immediate(word, out);
		return;
	case 3: /* ADDG, SUBG, and MIN and MAX */
		out->writes = BIT(rd(word));
		return;
	case 4:
		read_logical_immediate(word, out);
		return;
	case 5:
		read_move_wide(word, out);
		return;
	case 6:
		read_bitfield(word, out);
		return;
	}
	out->writes = general_bit(rd(word));
}

static void read_branch(uint32_t word, struct transfer *out)
{
	if ((word & 0xff000010) == 0x54000000) {
		static const uint8_t conditions[16] = { [2] = CONDITION_ABOVE_EQUAL,
							[3] = CONDITION_BELOW,
							[8] = CONDITION_ABOVE,
							[9] = CONDITION_BELOW_EQUAL };
		out->condition = conditions[word & 15];
	} else if ((word & 0xfc000000) == 0x94000000 || (word & 0xfeff0000) == 0xd63f0000 ||
		   (word & 0xffe0001f) == 0xd4000001) {
		out->writes = CALL_WRITES; /* BL, BLR and BLRA., SVC */
	} else if ((word & 0xfe1f0000) == 0xd61f0000 && !word_bits(word, 21, 3)) {
		out->kind = TRANSFER_JUMP;
		out->from = rn(word);
		out->size_bytes = 8;
	} else if ((word & 0xfffff01f) == 0xd503201f) { /* hints: pointer authentication */
		unsigned which = word_bits(word, 5, 7);
		if (which == 7 || (which >= 24 && which < 32))
			out->writes = BIT(30);
		else if (which >= 8 && which < 16)
			out->writes = BIT(17);
	} else if ((word & 0xfff80000) == 0xd5080000) { /* SYS: DC ZVA */
		out->writes = TRANSFER_WRITES_MEMORY;
	} else if ((word & 0xfff00000) == 0xd5300000) { /* MRS */
		out->writes = general_bit(rd(word));
	}
}

static void read_load_pair(uint32_t word, struct transfer *out)
{
	bool vector = word & 0x04000000, loads = word & 0x00400000;
	if (word_bits(word, 23, 2) == 1 || word_bits(word, 23, 2) == 3) /* writes back */
		out->writes |= BIT(rn(word));
	if (!loads)
		out->writes |= TRANSFER_WRITES_MEMORY;
	else if (!vector)
		out->writes |= general_bit(rd(word)) | general_bit((uint8_t)word_bits(word, 10, 5));
}

static void read_load_single(uint32_t word, struct transfer *out)
{
	unsigned size = word_bits(word, 30, 2), work = word_bits(word, 22, 2);
	bool vector = word & 0x04000000, unscaled = !(word & 0x01000000);
	bool by_register = unscaled && (word & 0x00200000);
	unsigned index_kind = word_bits(word, 10, 2);
	if (unscaled && !by_register && (index_kind & 1)) /* writes back */
		out->writes |= BIT(rn(word));
	if (by_register && index_kind != 2) { /* atomics, pointer-authenticated loads */
		out->writes |= general_bit(rd(word)) | BIT(rn(word)) | TRANSFER_WRITES_MEMORY;
		return;
	}
	if (vector) {
		out->writes |= work & 1 ? 0 : TRANSFER_WRITES_MEMORY;
		return;
	}
	bool prefetches = size == 3 && work == 2;
	if (work == 0)
		out->writes |= TRANSFER_WRITES_MEMORY;
	else if (!prefetches)
		out->writes |= general_bit(rd(word));
	if (prefetches || rd(word) == 31 || (unscaled && !by_register && index_kind))
		return;
	out->has_memory = true;
	out->memory.base = rn(word);
	out->size_bytes = (uint8_t)(1u << size);
	out->is_signed = work >= 2;
	if (by_register) { /* UXTW, LSL, SXTW, SXTX */
		out->memory.index = rm(word);
		out->memory.scale = (uint8_t)(word & 0x1000 ? 1u << size : 1);
	} else {
		out->memory.displacement = unscaled ? word_signed_bits(word, 12, 9)
						    : (uint64_t)word_bits(word, 10, 12) << size;
	}
	if (work == 0) {
		out->kind = TRANSFER_STORE;
		out->from = rd(word);
	} else {
		set(out, TRANSFER_LOAD, rd(word));
	}
}

/* op0 x1x0: loads and stores. */
static void read_memory(uint32_t word, uint64_t vaddr, struct transfer *out)
{
	if ((word & 0x3b000000) == 0x18000000) { /* literal */
		bool vector = word & 0x04000000, prefetches = word >> 30 == 3;
		if (vector || prefetches)
			return;
		out->writes = general_bit(rd(word));
		if (!out->writes)
			return;
		set(out, TRANSFER_LOAD, rd(word));
		out->has_memory = true;
		out->memory.displacement = vaddr + word_signed_bits(word, 5, 19) * 4;
		out->size_bytes = word >> 30 == 1 ? 8 : 4;
		out->is_signed = word >> 30 == 2;
	} else if ((word & 0x3a000000) == 0x28000000) {
		read_load_pair(word, out);
	} else if ((word & 0x3a000000) == 0x38000000) {
		read_load_single(word, out);
	} else { /* exclusives, atomics, vector structures, tags */
		out->writes = TRANSFER_WRITES_MEMORY;
		bool structure = (word & 0x3e000000) == 0x0c000000;
		bool copies = (word & 0x3b200c00) == 0x19000400; /* CPY, SET */
		if (structure || copies)
			out->writes |= BIT(rn(word));
		if ((word & 0xbfa07c00) == 0x08207c00) /* CASP */
			out->writes |= general_bit((uint8_t)(rm(word) | 1));
		if (!structure)
			out->writes |= general_bit(rd(word)) |
				       general_bit((uint8_t)word_bits(word, 10, 5)) |
				       general_bit(rm(word));
	}
}

/* op0 x111: only moves and conversions to general registers matter. */
static void read_vector(uint32_t word, struct transfer *out)
{
	bool converts = (word & 0x5f20fc00) == 0x1e200000;
	bool fixed = (word & 0x5f200000) == 0x1e000000;
	bool moves = (word & 0xbfe0dc00) == 0x0e001c00 || (word & 0xbfe0fc00) == 0x0e002c00;
	if (converts || fixed || moves)
		out->writes = general_bit(rd(word));
	out->sets_flags = (word & 0xff203c00) == 0x1e202000 || (word & 0xff200c00) == 0x1e200400;
}

void transfer_read_aarch64(uint32_t word, uint64_t vaddr, struct transfer *out)
{
	unsigned group = word_bits(word, 25, 4);
	if ((group & 14) == 8) {
		read_immediate(word, vaddr, out);
	} else if ((group & 14) == 10) {
		read_branch(word, out);
	} else if ((group & 5) == 4) {
		read_memory(word, vaddr, out);
	} else if ((group & 7) == 5) {
		if ((word & 0x1f000000) == 0x0b000000)
			read_add_register(word, out);
		else if ((word & 0x1f000000) == 0x0a000000)
			read_logical_register(word, out);
		else {
			out->writes = general_bit(rd(word));
			/* CCMP, CCMN, ADDS with carry */
			out->sets_flags = (word & 0x3fe00000) == 0x3a400000 || (word & 0x20000000);
		}
	} else if ((group & 7) == 7) {
		read_vector(word, out);
	} else { /* SVE, SME, reserved */
		out->writes = UINT64_MAX;
	}
}
