/*
 * Effects of AArch64 instructions, all from the bits: Capstone 4's lists of accessed
 * registers miss sources that are destinations too, and newer instructions. It only
 * tells whether a word is an instruction at all; LSE atomics, acquiring loads,
 * pointer authentication, dot products and memory copies are known without it. SVE
 * and SME are not known.
 */
#include "isa/aarch64_work.h"

/* Data processing, immediate. */
static bool immediate_effects(struct aarch64_work *work)
{
	unsigned opc = field(work, 29, 2);
	switch (field(work, 23, 3)) {
	case 0:
	case 1: /* ADR, ADRP */
		write_x(work, rd(work));
		return settle(work, LATENCY_ALU);
	case 2: { /* ADD, SUB */
		bool sets = opc & 1;
		read_x_sp(work, rn(work));
		if (!sets) {
			write_x_sp(work, rd(work));
			bool moves = !(opc & 2) && !field(work, 10, 13) &&
				     (rn(work) == 31 || rd(work) == 31);
			return settle(work, moves ? LATENCY_MOVE : LATENCY_ALU);
		}
		write_x(work, rd(work));
		write_flags(work);
		return settle(work, LATENCY_ALU);
	}
	case 3: /* ADDG, SUBG */
		read_x_sp(work, rn(work));
		write_x_sp(work, rd(work));
		work->newer = (work->word & 0xbfc0c000) == 0x91800000;
		return settle(work, LATENCY_ALU);
	case 4: /* AND, ORR, EOR, ANDS */
		read_x(work, rn(work));
		if (opc == 3) {
			write_x(work, rd(work));
			write_flags(work);
		} else {
			write_x_sp(work, rd(work));
		}
		return settle(work, opc == 1 && rn(work) == 31 ? LATENCY_MOVE : LATENCY_ALU);
	case 5: /* MOVN, MOVZ, MOVK */
		write_x(work, rd(work));
		if (opc == 3)
			read_x(work, rd(work));
		return opc != 1 && settle(work, opc == 3 ? LATENCY_ALU : LATENCY_MOVE);
	case 6: /* SBFM, BFM, UBFM */
		read_x(work, rn(work));
		write_x(work, rd(work));
		if (opc == 1)
			read_x(work, rd(work));
		return opc != 3 && settle(work, LATENCY_SHIFT);
	default: /* EXTR */
		read_x(work, rn(work));
		read_x(work, rm(work));
		write_x(work, rd(work));
		return settle(work, LATENCY_SHIFT);
	}
}

/* BR, BLR, RET, and with authentication; ERET is a system instruction. */
static bool register_branch_effects(struct aarch64_work *work)
{
	unsigned opc = field(work, 21, 4);
	unsigned authentication = field(work, 10, 6);
	bool authenticates = authentication == 2 || authentication == 3;
	if (field(work, 16, 5) != 31 || (authentication && !authenticates))
		return false;
	work->newer = authenticates;
	switch (opc) {
	case 0:
	case 1:
	case 8:
	case 9: /* with the modifier in Rm, which stands where Rd is */
		read_x(work, rn(work));
		if (opc & 8)
			read_x_sp(work, rd(work));
		if (opc & 1)
			write_x(work, 30);
		return settle(work, opc & 1 ? LATENCY_CALL : LATENCY_BRANCH);
	case 2:
		read_x(work, authenticates ? 30 : rn(work));
		if (authenticates)
			read_x_sp(work, AARCH64_SP);
		return settle(work, LATENCY_RETURN);
	}
	return false;
}

static bool hint_effects(struct aarch64_work *work)
{
	switch (field(work, 5, 7)) {
	case 0:
	case 32:
	case 34:
	case 36:
	case 38: /* NOP, BTI */
		return settle(work, LATENCY_NOP);
	case 7: /* XPACLRI */
	case 24:
	case 26:
	case 28:
	case 30: /* PACIAZ, PACIBZ, AUTIAZ, AUTIBZ */
		read_x(work, 30);
		write_x(work, 30);
		return settle(work, LATENCY_CRYPTO);
	case 25:
	case 27:
	case 29:
	case 31: /* PACIASP, PACIBSP, AUTIASP, AUTIBSP */
		read_x(work, 30);
		read_x_sp(work, AARCH64_SP);
		write_x(work, 30);
		return settle(work, LATENCY_CRYPTO);
	case 8:
	case 10:
	case 12:
	case 14: /* PACIA1716 and its kin */
		read_x(work, 16);
		read_x(work, 17);
		write_x(work, 17);
		return settle(work, LATENCY_CRYPTO);
	case 1:
	case 2:
	case 3:
	case 4:
	case 5:
	case 6:
	case 16:
	case 17:
	case 18:
	case 20: /* YIELD, WFE, ..., CSDB */
		return settle(work, LATENCY_BARRIER);
	}
	return settle(work, LATENCY_NOP); /* not allocated: does nothing */
}

/* The register that MRS and MSR name, as our number. */
static unsigned system_register(uint32_t word)
{
	switch (word & 0x000fffe0) {
	case 0x000b4200:
		return AARCH64_NZCV;
	case 0x000b4400:
		return AARCH64_FPCR;
	case 0x000b4420:
		return AARCH64_FPSR;
	}
	return AARCH64_SYSTEM;
}

static bool system_effects(struct aarch64_work *work)
{
	uint32_t word = work->word;
	if ((word & 0xfffff01f) == 0xd503201f)
		return hint_effects(work);
	if ((word & 0xfffff01f) == 0xd503301f) { /* DSB, DMB, ISB, CLREX, SB */
		work->newer = field(work, 5, 3) == 7;
		return settle(work, LATENCY_BARRIER);
	}
	if ((word & 0xffffff9f) == 0xd500401f &&
	    field(work, 5, 2) != 3) { /* CFINV, XAFLAG, AXFLAG */
		read_flags(work);
		write_flags(work);
		work->newer = true;
		return settle(work, LATENCY_ALU);
	}
	if ((word & 0xfff8f01f) == 0xd500401f) { /* MSR of a constant */
		write_x_sp(work, AARCH64_SYSTEM);
		return settle(work, LATENCY_SYSTEM);
	}
	if ((word & 0xffffffe0) == 0xd50b7420) { /* DC ZVA */
		register_set_add(&work->address, rd(work));
		if (rd(work) == 31)
			work->address = (struct register_set){ 0 };
		work->effects->writes_memory = true;
		return settle(work, LATENCY_STORE);
	}
	switch (word & 0xfff80000) {
	case 0xd5080000: /* SYS: DC, IC, AT, TLBI */
		read_x(work, rd(work));
		return settle(work, LATENCY_BARRIER);
	case 0xd5280000: /* SYSL */
		register_set_add(&work->data, AARCH64_SYSTEM);
		write_x(work, rd(work));
		return settle(work, LATENCY_SYSTEM);
	}
	switch (word & 0xfff00000) {
	case 0xd5100000: /* MSR */
		read_x(work, rd(work));
		register_set_add(&work->effects->writes, system_register(word));
		return settle(work, LATENCY_SYSTEM);
	case 0xd5300000: /* MRS */
		register_set_add(&work->data, system_register(word));
		write_x(work, rd(work));
		return settle(work, LATENCY_SYSTEM);
	}
	return false;
}

/* Branches, exception generating and system instructions. */
static bool branch_effects(struct aarch64_work *work)
{
	uint32_t word = work->word;
	if ((word & 0x7c000000) == 0x14000000) { /* B, BL */
		if (word & 0x80000000)
			write_x(work, 30);
		return settle(work, word & 0x80000000 ? LATENCY_CALL : LATENCY_BRANCH);
	}
	if ((word & 0xff000000) == 0x54000000) { /* B.cond, BC.cond */
		read_flags(work);
		work->newer = true;
		return settle(work, LATENCY_BRANCH);
	}
	if ((word & 0x7c000000) == 0x34000000) { /* CBZ, CBNZ, TBZ, TBNZ */
		read_x(work, rd(work));
		return settle(work, LATENCY_BRANCH);
	}
	if ((word & 0xfe000000) == 0xd6000000)
		return register_branch_effects(work);
	if ((word & 0xffe0001f) == 0xd4000001) { /* SVC: arguments and results of Linux */
		for (unsigned n = 0; n < 6; n++)
			read_x(work, n);
		read_x(work, 8);
		write_x(work, 0);
		return settle(work, LATENCY_SYSTEM);
	}
	if ((word & 0xff000000) == 0xd4000000) /* BRK, HLT, HVC, SMC */
		return settle(work, LATENCY_SYSTEM);
	if ((word & 0xff000000) == 0xd5000000)
		return system_effects(work);
	return false;
}

static bool two_source_effects(struct aarch64_work *work)
{
	unsigned opcode = field(work, 10, 6);
	read_x(work, rn(work));
	read_x(work, rm(work));
	write_x(work, rd(work));
	if (field(work, 29, 1))
		return false; /* SUBPS */
	switch (opcode) {
	case 2:
	case 3: /* UDIV, SDIV */
		work->effects->width_bits = field(work, 31, 1) ? 64 : 32;
		return settle(work, LATENCY_DIVIDE);
	case 8:
	case 9:
	case 10:
	case 11: /* LSLV, LSRV, ASRV, RORV */
		return settle(work, LATENCY_SHIFT);
	case 12: /* PACGA: its modifier may be sp */
		read_x_sp(work, rm(work));
		work->newer = field(work, 31, 1);
		return settle(work, LATENCY_CRYPTO);
	}
	if (opcode >= 16 && opcode < 24) /* CRC32 */
		return settle(work, LATENCY_BIT_COUNT);
	return false;
}

static bool one_source_effects(struct aarch64_work *work)
{
	unsigned opcode = field(work, 10, 6);
	write_x(work, rd(work));
	if (field(work, 29, 1))
		return false;
	if (field(work, 16, 5) == 0) { /* RBIT, REV, CLZ, CLS */
		read_x(work, rn(work));
		return opcode < 6 && settle(work, LATENCY_ALU);
	}
	if (field(work, 16, 5) != 1 || !field(work, 31, 1) || opcode > 17)
		return false;
	read_x(work, rd(work)); /* PACIA, AUTIA, ..., with a modifier below 8; XPACI, XPACD */
	if (opcode < 8)
		read_x_sp(work, rn(work));
	work->newer = true;
	return settle(work, LATENCY_CRYPTO);
}

/* ADC, SBC; RMIF, SETF8, SETF16 */
static bool carry_effects(struct aarch64_work *work)
{
	read_x(work, rn(work));
	if (field(work, 10, 6) == 0) {
		read_x(work, rm(work));
		read_flags(work);
		write_x(work, rd(work));
		if (field(work, 29, 1))
			write_flags(work);
		return settle(work, LATENCY_ALU);
	}
	bool rotates = (work->word & 0xffe07c10) == 0xba000400;
	bool narrow = (work->word & 0xffffbc1f) == 0x3a00080d;
	write_flags(work);
	work->effects->merges_flags = true;
	work->newer = rotates || narrow;
	return work->newer && settle(work, LATENCY_ALU);
}

static bool three_source_effects(struct aarch64_work *work)
{
	unsigned operation = field(work, 21, 3);
	bool high = operation == 2 || operation == 6; /* SMULH, UMULH have no addend */
	if (field(work, 29, 2) || (operation && !field(work, 31, 1)) ||
	    (operation != 0 && operation != 1 && operation != 5 && !high))
		return false;
	read_x(work, rn(work));
	read_x(work, rm(work));
	if (!high)
		read_x(work, ra(work));
	write_x(work, rd(work));
	return settle(work, LATENCY_MULTIPLY);
}

/* Logical, and add and subtract, of a shifted or extended register. */
static bool shifted_effects(struct aarch64_work *work)
{
	bool logical = !field(work, 24, 1);
	bool extended = !logical && field(work, 21, 1);
	bool sets = logical ? field(work, 29, 2) == 3 : field(work, 29, 1);
	bool shifted =
		extended ? field(work, 10, 3) || field(work, 13, 2) != 3 : field(work, 10, 6);
	read_x(work, rm(work));
	if (extended)
		read_x_sp(work, rn(work));
	else
		read_x(work, rn(work));
	if (extended && !sets)
		write_x_sp(work, rd(work));
	else
		write_x(work, rd(work));
	if (sets)
		write_flags(work);
	bool moves = logical && field(work, 29, 2) == 1 && !field(work, 21, 1) && rn(work) == 31;
	return settle(work, shifted ? LATENCY_SHIFT : moves ? LATENCY_MOVE : LATENCY_ALU);
}

/* Data processing, register. */
static bool register_effects(struct aarch64_work *work)
{
	if (!field(work, 28, 1))
		return shifted_effects(work);
	if (field(work, 24, 1))
		return three_source_effects(work);
	switch (field(work, 21, 3)) {
	case 0:
		return carry_effects(work);
	case 2: /* CCMN, CCMP */
		read_x(work, rn(work));
		if (!field(work, 11, 1))
			read_x(work, rm(work));
		read_flags(work);
		write_flags(work);
		return settle(work, LATENCY_ALU);
	case 4: /* CSEL, CSINC, CSINV, CSNEG */
		read_x(work, rn(work));
		read_x(work, rm(work));
		read_flags(work);
		write_x(work, rd(work));
		work->effects->conditional_move = true;
		return settle(work, LATENCY_ALU);
	case 6:
		return field(work, 30, 1) ? one_source_effects(work) : two_source_effects(work);
	}
	return false;
}

static bool dispatch(struct aarch64_work *work)
{
	unsigned op0 = field(work, 25, 4);
	if ((op0 & 0xe) == 8)
		return immediate_effects(work);
	if ((op0 & 0xe) == 10)
		return branch_effects(work);
	if ((op0 & 5) == 4)
		return aarch64_memory_effects(work);
	if ((op0 & 7) == 5)
		return register_effects(work);
	if ((op0 & 7) == 7)
		return aarch64_vector_effects(work);
	return false; /* SVE, SME, reserved */
}

void aarch64_effects(uint32_t word, bool decoded, struct instruction_effects *effects)
{
	*effects = (struct instruction_effects){ .known = true };
	struct aarch64_work work = { .word = word, .effects = effects };
	if (!dispatch(&work) || (!decoded && !work.newer)) {
		effects_unknown(ISA_AARCH64, effects);
		return;
	}
	effects->reads = register_set_union(&work.data, &work.address);
	effects->address = register_set_without(&work.address, &work.data);
	effects->reads_flags = register_set_has(&effects->reads, AARCH64_NZCV);
	effects->writes_flags = register_set_has(&effects->writes, AARCH64_NZCV);
}
