/*
 * Floating point, SIMD and cryptography of AArch64 (Arm ARM DDI 0487, C4.1.95 "Data
 * Processing -- Scalar Floating-Point and Advanced SIMD"). Vector and scalar forms share
 * their opcodes. What matters most is whether the destination is a source as well.
 */
#include "isa/aarch64_work.h"

/* Element width that type or size and Q say: of fp. */
static unsigned fp_bits(unsigned type)
{
	return type == 0 ? 32 : type == 1 ? 64 : 16;
}

static bool is_scalar(const struct aarch64_work *work)
{
	return field(work, 28, 1);
}

/* The upper half of the destination is written, the lower stays (xtn2, addhn2). */
static bool is_upper_half(const struct aarch64_work *work)
{
	return !is_scalar(work) && field(work, 30, 1);
}

static void destination(struct aarch64_work *work, bool accumulates)
{
	write_v(work, rd(work));
	if (accumulates)
		read_v(work, rd(work));
}

static bool sources_3(struct aarch64_work *work, bool accumulates, enum latency_class class)
{
	read_v(work, rn(work));
	read_v(work, rm(work));
	destination(work, accumulates);
	return settle(work, class);
}

static bool sources_2(struct aarch64_work *work, bool accumulates, enum latency_class class)
{
	read_v(work, rn(work));
	destination(work, accumulates);
	return settle(work, class);
}

/* Between fp and integers in general registers, with or without a fixed point. */
static bool general_conversion(struct aarch64_work *work)
{
	bool fixed = !field(work, 21, 1);
	unsigned opcode = field(work, 16, 3);
	unsigned mode = field(work, 19, 2);
	bool moves = !fixed && opcode >= 6 && !(opcode == 6 && mode == 3);
	if (opcode == 2 || opcode == 3 || (!fixed && opcode == 7)) {
		read_x(work, rn(work));
		destination(work, opcode == 7 && mode == 1); /* fmov v.d[1] keeps the low half */
	} else {
		read_v(work, rn(work));
		write_x(work, rd(work));
		if (!fixed && opcode == 6 && mode == 3) { /* FJCVTZS */
			write_flags(work);
			work->newer = (work->word & 0xfffffc00) == 0x1e7e0000;
			return work->newer && settle(work, LATENCY_CONVERT);
		}
	}
	return settle(work, moves ? LATENCY_TRANSFER : LATENCY_CONVERT);
}

static bool scalar_one_source(struct aarch64_work *work)
{
	unsigned opcode = field(work, 15, 6);
	enum latency_class class = LATENCY_FP_ADD; /* fabs, fneg, frint */
	if (opcode == 0)
		class = LATENCY_VECTOR_MOVE;
	else if (opcode == 3)
		class = LATENCY_FP_ROOT;
	else if (opcode >= 4 && opcode < 8)
		class = LATENCY_CONVERT;
	if (opcode == 3)
		work->effects->width_bits = (uint16_t)fp_bits(field(work, 22, 2));
	if ((opcode >= 16 && opcode < 20) || opcode == 6) /* FRINT32Z and its kin, BFCVT */
		work->newer = field(work, 22, 2) < 2;
	return opcode < 20 && sources_2(work, false, class);
}

static bool scalar_two_source(struct aarch64_work *work)
{
	unsigned opcode = field(work, 12, 4);
	enum latency_class class = LATENCY_FP_ADD;
	if (opcode == 0 || opcode == 8)
		class = LATENCY_FP_MULTIPLY;
	else if (opcode == 1)
		class = LATENCY_FP_DIVIDE;
	if (opcode == 1)
		work->effects->width_bits = (uint16_t)fp_bits(field(work, 22, 2));
	return opcode <= 8 && sources_3(work, false, class);
}

static bool scalar_fp_effects(struct aarch64_work *work)
{
	work->newer = field(work, 22, 2) == 3; /* half precision */
	if (field(work, 24, 1)) {	       /* FMADD, FMSUB, FNMADD, FNMSUB */
		read_v(work, ra(work));
		return sources_3(work, false, LATENCY_FP_FUSED);
	}
	if (!field(work, 21, 1) || !field(work, 10, 6))
		return general_conversion(work);
	if (field(work, 10, 5) == 16)
		return scalar_one_source(work);
	if (field(work, 10, 4) == 8) { /* FCMP, FCMPE; bit 3 compares with zero */
		read_v(work, rn(work));
		if (!field(work, 3, 1))
			read_v(work, rm(work));
		write_flags(work);
		return settle(work, LATENCY_FP_ADD);
	}
	if (field(work, 10, 3) == 4) { /* FMOV of a constant */
		destination(work, false);
		return settle(work, LATENCY_VECTOR_MOVE);
	}
	switch (field(work, 10, 2)) {
	case 1: /* FCCMP */
		read_v(work, rn(work));
		read_v(work, rm(work));
		read_flags(work);
		write_flags(work);
		return settle(work, LATENCY_FP_ADD);
	case 2:
		return scalar_two_source(work);
	case 3: /* FCSEL */
		read_flags(work);
		work->effects->conditional_move = true;
		return sources_3(work, false, LATENCY_VECTOR_MOVE);
	}
	return false;
}

/* Opcodes 18h and above of three of the same, also of the half-precision forms. */
static bool fp_three_same(struct aarch64_work *work, unsigned opcode, unsigned bits)
{
	bool u = field(work, 29, 1);
	switch (opcode) {
	case 0x19: /* FMLA, FMLS; FMLAL2, FMLSL2 */
		return sources_3(work, true, LATENCY_FP_FUSED);
	case 0x1b: /* FMUL, FMULX */
		return sources_3(work, false, LATENCY_FP_MULTIPLY);
	case 0x1d: /* FMLAL, FMLSL; FACGE, FACGT */
		return u ? sources_3(work, false, LATENCY_FP_ADD)
			 : sources_3(work, true, LATENCY_FP_FUSED);
	case 0x1f:
		if (!u) /* FRECPS, FRSQRTS */
			return sources_3(work, false, LATENCY_FP_FUSED);
		work->effects->width_bits = (uint16_t)bits;
		return sources_3(work, false, LATENCY_FP_DIVIDE);
	}
	return sources_3(work, false, LATENCY_FP_ADD);
}

static bool three_same(struct aarch64_work *work)
{
	unsigned opcode = field(work, 11, 5);
	unsigned size = field(work, 22, 2);
	bool u = field(work, 29, 1);
	if (opcode >= 0x18)
		return fp_three_same(work, opcode, fp_bits(size & 1));
	switch (opcode) {
	case 3: /* AND, BIC, ORR, ORN; EOR, BSL, BIT, BIF */
		if (!u && size == 2 && rn(work) == rm(work))
			return sources_2(work, false, LATENCY_VECTOR_MOVE);
		return sources_3(work, u && size, LATENCY_VECTOR_INTEGER);
	case 0x0f: /* SABA, UABA */
		return sources_3(work, true, LATENCY_VECTOR_INTEGER);
	case 0x12: /* MLA, MLS */
		return sources_3(work, true, LATENCY_VECTOR_MULTIPLY);
	case 0x13:
	case 0x16: /* MUL, PMUL, SQDMULH */
		return sources_3(work, false, LATENCY_VECTOR_MULTIPLY);
	}
	return sources_3(work, false, LATENCY_VECTOR_INTEGER);
}

/* SQRDMLAH, SDOT, USDOT, SMMLA, FCMLA, FCADD, BFDOT, ...: all newer than ARMv8.0. */
static bool three_same_extra(struct aarch64_work *work)
{
	unsigned opcode = field(work, 11, 4);
	if (opcode == 6 || opcode == 7)
		return false;
	work->newer = true;
	if (opcode == 12 || opcode == 14)
		return sources_3(work, false, LATENCY_FP_ADD); /* FCADD */
	return sources_3(work, true, opcode >= 8 ? LATENCY_FP_FUSED : LATENCY_VECTOR_MULTIPLY);
}

static bool three_different(struct aarch64_work *work)
{
	unsigned opcode = field(work, 12, 4);
	switch (opcode) {
	case 4:
	case 6: /* ADDHN, SUBHN */
		return sources_3(work, is_upper_half(work), LATENCY_VECTOR_INTEGER);
	case 5: /* SABAL */
		return sources_3(work, true, LATENCY_VECTOR_INTEGER);
	case 8:
	case 9:
	case 10:
	case 11: /* SMLAL, SQDMLAL, SMLSL, SQDMLSL */
		return sources_3(work, true, LATENCY_VECTOR_MULTIPLY);
	case 12:
	case 13:
		return sources_3(work, false, LATENCY_VECTOR_MULTIPLY);
	case 14: /* PMULL; of 64 bits it belongs to the cryptography */
		return sources_3(work, false,
				 field(work, 22, 2) == 3 ? LATENCY_CRYPTO
							 : LATENCY_VECTOR_MULTIPLY);
	case 15:
		return false;
	}
	return sources_3(work, false, LATENCY_VECTOR_INTEGER);
}

static bool two_misc_fp(struct aarch64_work *work, unsigned opcode)
{
	bool u = field(work, 29, 1);
	bool second = field(work, 23, 1);
	switch (opcode) {
	case 0x16: /* FCVTN, FCVTXN, BFCVTN */
		work->newer |= field(work, 22, 2) == 2;
		return sources_2(work, is_upper_half(work), LATENCY_CONVERT);
	case 0x17: /* FCVTL */
	case 0x1a:
	case 0x1b: /* FCVTNS, FCVTPS, FCVTMS, FCVTZS */
		return sources_2(work, false, LATENCY_CONVERT);
	case 0x1c: /* FCVTAS; URECPE, URSQRTE */
		return sources_2(work, false, second ? LATENCY_FP_MULTIPLY : LATENCY_CONVERT);
	case 0x1d: /* SCVTF; FRECPE, FRSQRTE */
		return sources_2(work, false, second ? LATENCY_FP_MULTIPLY : LATENCY_CONVERT);
	case 0x1f: /* FRECPX; FSQRT */
		if (u && second)
			work->effects->width_bits = (uint16_t)fp_bits(field(work, 22, 1));
		return sources_2(work, false, u && second ? LATENCY_FP_ROOT : LATENCY_FP_MULTIPLY);
	}
	return sources_2(work, false, LATENCY_FP_ADD); /* comparisons with 0, FABS, FRINT */
}

static bool two_misc(struct aarch64_work *work)
{
	unsigned opcode = field(work, 12, 5);
	switch (opcode) {
	case 0:
	case 1: /* REV64, REV32, REV16 */
		return sources_2(work, false, LATENCY_SHUFFLE);
	case 3:
	case 6: /* SUQADD, SADALP */
		return sources_2(work, true, LATENCY_VECTOR_INTEGER);
	case 0x12:
	case 0x14: /* XTN, SQXTUN, SQXTN */
		return sources_2(work, is_upper_half(work), LATENCY_SHUFFLE);
	case 0x13: /* SHLL */
		return sources_2(work, false, LATENCY_VECTOR_INTEGER);
	}
	if (opcode >= 0x0c)
		return two_misc_fp(work, opcode);
	return sources_2(work, false, LATENCY_VECTOR_INTEGER);
}

/* DUP, INS, SMOV, UMOV */
static bool copies(struct aarch64_work *work)
{
	unsigned operation = field(work, 11, 4);
	if (is_scalar(work) || (!field(work, 29, 1) && operation == 0)) /* DUP of a lane */
		return sources_2(work, false, LATENCY_SHUFFLE);
	if (field(work, 29, 1)) /* INS of a lane */
		return sources_2(work, true, LATENCY_SHUFFLE);
	switch (operation) {
	case 1:
	case 3: /* DUP, INS of a general register */
		read_x(work, rn(work));
		destination(work, operation == 3);
		return settle(work, LATENCY_TRANSFER);
	case 5:
	case 7: /* SMOV, UMOV */
		read_v(work, rn(work));
		write_x(work, rd(work));
		return settle(work, LATENCY_TRANSFER);
	}
	return false;
}

static bool table_lookup(struct aarch64_work *work)
{
	unsigned count = field(work, 13, 2) + 1;
	for (unsigned n = 0; n < count; n++)
		read_v(work, rn(work) + n);
	read_v(work, rm(work));
	destination(work, field(work, 12, 1)); /* TBX keeps lanes out of range */
	return settle(work, LATENCY_SHUFFLE);
}

static bool modified_immediate(struct aarch64_work *work)
{
	unsigned mode = field(work, 12, 4);
	destination(work, mode < 12 && mode & 1); /* ORR, BIC */
	return settle(work, mode < 12 && mode & 1 ? LATENCY_VECTOR_INTEGER : LATENCY_VECTOR_MOVE);
}

static bool shift_immediate(struct aarch64_work *work)
{
	unsigned opcode = field(work, 11, 5);
	bool u = field(work, 29, 1);
	switch (opcode) {
	case 0x02:
	case 0x06: /* SSRA, SRSRA */
		return sources_2(work, true, LATENCY_VECTOR_INTEGER);
	case 0x08: /* SRI */
		return u && sources_2(work, true, LATENCY_VECTOR_INTEGER);
	case 0x0a: /* SHL; SLI */
		return sources_2(work, u, LATENCY_VECTOR_INTEGER);
	case 0x10:
	case 0x11:
	case 0x12:
	case 0x13: /* SHRN, SQSHRN */
		return sources_2(work, is_upper_half(work), LATENCY_VECTOR_INTEGER);
	case 0x1c:
	case 0x1f: /* SCVTF, FCVTZS */
		return sources_2(work, false, LATENCY_CONVERT);
	}
	return sources_2(work, false, LATENCY_VECTOR_INTEGER);
}

/* By element: the second source may be one of the first 16 registers, its top bit an index. */
static bool by_element(struct aarch64_work *work)
{
	unsigned opcode = field(work, 12, 4);
	unsigned size = field(work, 22, 2);
	bool u = field(work, 29, 1);
	bool complex = u && (opcode & 9) == 1 && !is_scalar(work); /* FCMLA */
	bool mixed = !u && opcode == 15;			   /* USDOT, BFDOT, BFMLAL */
	bool dot = opcode == 14;				   /* SDOT, UDOT */
	bool widening = (!u && (opcode & 11) == 0) || (u && (opcode & 11) == 8); /* FMLAL, FMLSL */
	bool fp = opcode == 1 || opcode == 5 || opcode == 9;
	bool half = (size == 1 && !complex && !mixed) || (fp && size == 0 && !complex) ||
		    (widening && size == 2 && !(u && opcode == 0)) || (mixed && size == 3);
	/* integer MLA and MLS have the numbers 0 and 4 with U set */
	bool accumulates = u ? opcode != 9 && opcode != 10 : opcode < 8 || opcode >= 14;
	enum latency_class class = LATENCY_VECTOR_MULTIPLY;
	if (complex || (fp && opcode != 9) || (widening && (!u || opcode >= 8)) ||
	    (mixed && size & 1))
		class = LATENCY_FP_FUSED;
	else if (opcode == 9)
		class = LATENCY_FP_MULTIPLY;
	read_v(work, rn(work));
	read_v(work, half ? field(work, 16, 4) : rm(work));
	destination(work, accumulates);
	bool rounding = u && (opcode == 13 || opcode == 15); /* SQRDMLAH, SQRDMLSH */
	work->newer =
		dot || complex || mixed || rounding || (widening && size == 2) || (fp && size == 0);
	return settle(work, class);
}

/* AES and SHA of ARMv8.0. */
static bool crypto_effects(struct aarch64_work *work)
{
	unsigned opcode = field(work, 12, 5);
	if ((work->word & 0xff3e0c00) == 0x4e280800)
		return sources_2(work, opcode == 4 || opcode == 5, LATENCY_CRYPTO);
	if ((work->word & 0xff3e0c00) == 0x5e280800) /* SHA1H alone writes afresh */
		return sources_2(work, opcode != 0, LATENCY_CRYPTO);
	return sources_3(work, true, LATENCY_CRYPTO); /* SHA1C, SHA256H, ... */
}

/* SHA3, SHA512, SM3, SM4 */
static bool newer_crypto_effects(struct aarch64_work *work)
{
	uint32_t word = work->word;
	work->newer = true;
	if ((word & 0xff808000) == 0xce000000 && field(work, 21, 2) != 3) { /* EOR3, BCAX, SM3SS1 */
		read_v(work, ra(work));
		return sources_3(work, false, LATENCY_CRYPTO);
	}
	if ((word & 0xffe00000) == 0xce800000) /* XAR */
		return sources_3(work, false, LATENCY_CRYPTO);
	if ((word & 0xffe0c000) == 0xce408000) /* SM3TT */
		return sources_3(work, true, LATENCY_CRYPTO);
	if ((word & 0xffe0f000) == 0xce608000) /* SHA512H, SHA512H2, SHA512SU1; RAX1 */
		return sources_3(work, field(work, 10, 2) != 3, LATENCY_CRYPTO);
	if ((word & 0xffe0f000) == 0xce60c000 && field(work, 10, 2) != 3) /* SM3PARTW; SM4EKEY */
		return sources_3(work, field(work, 10, 2) != 2, LATENCY_CRYPTO);
	if ((word & 0xfffff800) == 0xcec08000) /* SHA512SU0, SM4E */
		return sources_2(work, true, LATENCY_CRYPTO);
	return false;
}

/* Whether U, bit 23 and opcode are a half-precision operation: FMAXNM, FMLA, FADD, ... */
static bool is_half_operation(struct aarch64_work *work)
{
	static const uint8_t allocated[4] = { 0xdf, 0xc7, 0xfd, 0x75 };
	work->newer = true;
	return allocated[field(work, 29, 1) * 2 + field(work, 23, 1)] >> field(work, 11, 3) & 1;
}

/* Words of 01110 and 11110 in bits 28 to 24. */
static bool arithmetic_effects(struct aarch64_work *work)
{
	uint32_t word = work->word;
	if ((word & 0xff3e0c00) == 0x4e280800 || (word & 0xff3e0c00) == 0x5e280800 ||
	    (word & 0xffe08c00) == 0x5e000000)
		return crypto_effects(work);
	if (field(work, 21, 1)) {
		if (field(work, 10, 1))
			return three_same(work);
		if (!field(work, 11, 1))
			return three_different(work);
		switch (field(work, 17, 4)) {
		case 0:
			return two_misc(work);
		case 8: { /* across lanes; scalar: pairwise */
			unsigned opcode = field(work, 12, 5);
			bool fp = (opcode >= 0x0c && opcode <= 0x0f);
			return sources_2(work, false, fp ? LATENCY_FP_ADD : LATENCY_VECTOR_INTEGER);
		}
		case 12: /* half precision */
			work->newer = true;
			return field(work, 22, 1) && two_misc_fp(work, field(work, 12, 5));
		}
		return false;
	}
	if (field(work, 10, 1)) {
		if (field(work, 15, 1))
			return three_same_extra(work);
		if ((word & 0x00e00000) == 0)
			return copies(work);
		if ((word & 0x0060c000) == 0x00400000 && is_half_operation(work))
			return fp_three_same(work, field(work, 11, 3) | 0x18, 16);
		return false;
	}
	if (is_scalar(work) || field(work, 15, 1))
		return false;
	if (field(work, 29, 1)) /* EXT */
		return sources_3(work, false, LATENCY_SHUFFLE);
	if (field(work, 11, 1)) /* ZIP, UZP, TRN */
		return sources_3(work, false, LATENCY_SHUFFLE);
	return field(work, 22, 2) == 0 && table_lookup(work);
}

bool aarch64_vector_effects(struct aarch64_work *work)
{
	uint32_t word = work->word;
	if ((word & 0x7e000000) == 0x1e000000 || (word & 0x7f000000) == 0x1f000000)
		return scalar_fp_effects(work);
	if ((word & 0xff000000) == 0xce000000)
		return newer_crypto_effects(work);
	bool vector = (word & 0x9e000000) == 0x0e000000;
	if (!vector && (word & 0xde000000) != 0x5e000000)
		return false;
	if (!field(work, 24, 1))
		return arithmetic_effects(work);
	if (!field(work, 10, 1))
		return by_element(work);
	if (field(work, 23, 1))
		return false;
	if (vector && !field(work, 19, 4))
		return modified_immediate(work);
	return shift_immediate(work);
}
