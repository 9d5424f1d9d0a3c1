/*
 * SDM: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2 where none is
 * named. APM: AMD64 Architecture Programmer's Manual, volume 3 where none is named. Their pages
 * are by the instruction's name.
 */
#include "isa/x86_vendor_differences.h"

#include <stdbool.h>
#include <stdint.h>

#include "isa/x86_prefix.h"

/* Prefixes of an instruction; of a VEX prefix those that it stands for. */
#define PREFIX_66     (1u << 0)
#define PREFIX_F2     (1u << 1)
#define PREFIX_F3     (1u << 2)
#define PREFIX_FS     (1u << 3)
#define PREFIX_GS     (1u << 4)
#define PREFIX_REX_B  (1u << 5)
#define PREFIX_REX_W  (1u << 6)
#define PREFIX_VECTOR (1u << 7) /* VEX; its pp is 66, F3, F2 */

enum operand_form {
	FORM_ANY, /* whatever ModRM is, or none */
	FORM_REGISTER,
	FORM_MEMORY,
};

#define MAP_ANY	  0xff
#define ALL_REGS  0xff
#define REG(n)	  (1u << (n))
#define PART_ONLY 0xfe /* matches no encoding */

struct pattern {
	uint8_t map; /* 0: one byte, 1: 0F */
	uint8_t first, last;
	uint8_t with, without; /* prefixes */
	uint8_t form;
	uint8_t regs; /* bit r: ModRM.reg may be r */
};

struct row {
	struct x86_difference difference;
	struct pattern pattern;
};

#define NEAR_BRANCH                                                                                \
	"Intel ignores the prefix; AMD takes a 16-bit operand: of a near branch with a distance "  \
	"a shorter instruction, and an instruction pointer cut to 16 bits"
#define NEAR_BRANCH_SOURCE "SDM A.2.5, superscript f64 of table A-2; APM volume 1, 3.7.9, table 3-9"
#define FAR_POINTER	   "of a far pointer Intel takes 64 bits of offset, AMD 32 whatever REX.W says"

static const struct row rows[] = {
	{ { "66 70-7F cb", X86_DIFFERS_FLOW, NEAR_BRANCH, NEAR_BRANCH_SOURCE },
	  { 0, 0x70, 0x7f, PREFIX_66, PREFIX_REX_W, FORM_ANY, ALL_REGS } },
	{ { "66 E0-E3 cb", X86_DIFFERS_FLOW, NEAR_BRANCH, NEAR_BRANCH_SOURCE },
	  { 0, 0xe0, 0xe3, PREFIX_66, PREFIX_REX_W, FORM_ANY, ALL_REGS } },
	{ { "66 E8-E9 cd", X86_DIFFERS_FLOW, NEAR_BRANCH, NEAR_BRANCH_SOURCE },
	  { 0, 0xe8, 0xe9, PREFIX_66, PREFIX_REX_W, FORM_ANY, ALL_REGS } },
	{ { "66 EB cb", X86_DIFFERS_FLOW, NEAR_BRANCH, NEAR_BRANCH_SOURCE },
	  { 0, 0xeb, 0xeb, PREFIX_66, PREFIX_REX_W, FORM_ANY, ALL_REGS } },
	{ { "66 0F 80-8F cd", X86_DIFFERS_FLOW, NEAR_BRANCH, NEAR_BRANCH_SOURCE },
	  { 1, 0x80, 0x8f, PREFIX_66, PREFIX_REX_W, FORM_ANY, ALL_REGS } },
	{ { "66 C2-C3", X86_DIFFERS_FLOW, NEAR_BRANCH, NEAR_BRANCH_SOURCE },
	  { 0, 0xc2, 0xc3, PREFIX_66, PREFIX_REX_W, FORM_ANY, ALL_REGS } },
	{ { "66 FF /2, /4", X86_DIFFERS_FLOW, NEAR_BRANCH, NEAR_BRANCH_SOURCE },
	  { 0, 0xff, 0xff, PREFIX_66, PREFIX_REX_W, FORM_ANY, REG(2) | REG(4) } },
	{ { "REX.W FF /3, /5 m", X86_DIFFERS_FLOW, FAR_POINTER,
	    "SDM CALL, JMP; APM CALL (far), JMP (far)" },
	  { 0, 0xff, 0xff, PREFIX_REX_W, 0, FORM_MEMORY, REG(3) | REG(5) } },
	{ { "0F FF", X86_DIFFERS_FLOW,
	    "UD0 has a ModRM byte on newer Intel CPUs alone; it never completes",
	    "SDM UD; APM UD0" },
	  { 1, 0xff, 0xff, 0, PREFIX_VECTOR, FORM_ANY, ALL_REGS } },
	{ { "F2 and F3", X86_DIFFERS_EFFECTS,
	    "of prefixes of one group the last counts, on most CPUs: both manuals leave it open",
	    "SDM 2.1.1; APM volume 1, 3.5.1" },
	  { MAP_ANY, 0, 0xff, PREFIX_F2 | PREFIX_F3, PREFIX_VECTOR, FORM_ANY, ALL_REGS } },
	{ { "64 and 65", X86_DIFFERS_EFFECTS, "FS and GS: as of F2 and F3",
	    "SDM 2.1.1; APM volume 1, 3.5.1" },
	  { MAP_ANY, 0, 0xff, PREFIX_FS | PREFIX_GS, 0, FORM_ANY, ALL_REGS } },
	{ { "F3 REX.B 90", X86_DIFFERS_EFFECTS, "PAUSE on Intel, XCHG of r8 and rax on AMD",
	    "SDM PAUSE; APM XCHG; seen on CPUs of both" },
	  { 0, 0x90, 0x90, PREFIX_F3 | PREFIX_REX_B, 0, FORM_ANY, ALL_REGS } },
	{ { "F2 A4-A5", X86_DIFFERS_EFFECTS,
	    "REPNE is for CMPS and SCAS; with MOVS, STOS and LODS most CPUs repeat as by F3",
	    "SDM 2.1.1 and REP; APM 1.2.6" },
	  { 0, 0xa4, 0xa5, PREFIX_F2, 0, FORM_ANY, ALL_REGS } },
	{ { "F2 AA-AD", X86_DIFFERS_EFFECTS,
	    "REPNE is for CMPS and SCAS; with MOVS, STOS and LODS most CPUs repeat as by F3",
	    "SDM 2.1.1 and REP; APM 1.2.6" },
	  { 0, 0xaa, 0xad, PREFIX_F2, 0, FORM_ANY, ALL_REGS } },
	{ { "0F 0D /r with a register", X86_DIFFERS_EFFECTS,
	    "does nothing on Intel, an invalid opcode on AMD",
	    "SDM table A-6, group P; APM PREFETCH" },
	  { 1, 0x0d, 0x0d, 0, PREFIX_VECTOR, FORM_REGISTER, ALL_REGS } },
	{ { "0F 1A-1B /r", X86_DIFFERS_EFFECTS,
	    "MPX: writes bounds and memory where a CPU has it and it is on, else does nothing",
	    "SDM BNDMOV, BNDSTX (volume 1, appendix E since its removal); APM NOP" },
	  { 1, 0x1a, 0x1b, 0, PREFIX_VECTOR, FORM_ANY, ALL_REGS } },
	{ { "F3 0F 1E /1 with a register", X86_DIFFERS_EFFECTS,
	    "RDSSP: writes the register where shadow stacks are on, else does nothing",
	    "SDM RDSSPD; APM RDSSPQ" },
	  { 1, 0x1e, 0x1e, PREFIX_F3, 0, FORM_REGISTER, REG(1) } },
	{ { "0F 34-35", X86_DIFFERS_EFFECTS, "SYSENTER, SYSEXIT: invalid in long mode on AMD",
	    "SDM SYSENTER; APM SYSENTER" },
	  { 1, 0x34, 0x35, 0, PREFIX_VECTOR, FORM_ANY, ALL_REGS } },
	{ { "REX.W 0F B2", X86_DIFFERS_EFFECTS, FAR_POINTER, "SDM LDS/LES/LFS/LGS/LSS; APM LSS" },
	  { 1, 0xb2, 0xb2, PREFIX_REX_W, PREFIX_VECTOR, FORM_MEMORY, ALL_REGS } },
	{ { "REX.W 0F B4-B5", X86_DIFFERS_EFFECTS, FAR_POINTER,
	    "SDM LDS/LES/LFS/LGS/LSS; APM LFS, LGS" },
	  { 1, 0xb4, 0xb5, PREFIX_REX_W, PREFIX_VECTOR, FORM_MEMORY, ALL_REGS } },
	{ { "0F A6-A7", X86_DIFFERS_EFFECTS,
	    "PadLock on VIA and Zhaoxin, with lengths and registers of its own; invalid elsewhere",
	    "VIA PadLock Programming Guide, chapter 2" },
	  { 1, 0xa6, 0xa7, 0, PREFIX_VECTOR, FORM_ANY, ALL_REGS } },
	{ { "66 63 /r", X86_DIFFERS_RESULT, "MOVSXD of 16 bits: Intel reads 16 bits, AMD 32",
	    "SDM MOVSXD; APM MOVSXD" },
	  { 0, 0x63, 0x63, PREFIX_66, PREFIX_REX_W, FORM_ANY, ALL_REGS } },
	{ { "66 0F A4-A5", X86_DIFFERS_RESULT, "SHLD of 16 bits by more than 16: undefined",
	    "SDM SHLD; APM SHLD" },
	  { 1, 0xa4, 0xa5, PREFIX_66, PREFIX_REX_W | PREFIX_VECTOR, FORM_ANY, ALL_REGS } },
	{ { "66 0F AC-AD", X86_DIFFERS_RESULT, "SHRD of 16 bits by more than 16: undefined",
	    "SDM SHRD; APM SHRD" },
	  { 1, 0xac, 0xad, PREFIX_66, PREFIX_REX_W | PREFIX_VECTOR, FORM_ANY, ALL_REGS } },
	{ { "66 0F C8-CF", X86_DIFFERS_RESULT, "BSWAP of 16 bits: undefined",
	    "SDM BSWAP; APM BSWAP" },
	  { 1, 0xc8, 0xcf, PREFIX_66, PREFIX_REX_W | PREFIX_VECTOR, FORM_ANY, ALL_REGS } },
	{ { "F3 0F BC", X86_DIFFERS_RESULT,
	    "TZCNT; on CPUs without BMI1 (Intel before Haswell, AMD before Piledriver) BSF, with "
	    "other flags and of zero another result",
	    "SDM TZCNT; APM TZCNT" },
	  { 1, 0xbc, 0xbc, PREFIX_F3, PREFIX_VECTOR, FORM_ANY, ALL_REGS } },
	{ { "F3 0F BD", X86_DIFFERS_RESULT,
	    "LZCNT; on CPUs without it (Intel before Haswell, AMD before K10) BSR, which counts "
	    "from the other end",
	    "SDM LZCNT; APM LZCNT" },
	  { 1, 0xbd, 0xbd, PREFIX_F3, PREFIX_VECTOR, FORM_ANY, ALL_REGS } },
	{ { "(F3, VEX) 0F 52-53", X86_DIFFERS_RESULT,
	    "RSQRTPS, RSQRTSS, RCPPS, RCPSS: any result within 1.5 * 2^-12",
	    "SDM RCPPS, RSQRTPS; APM volume 4, RCPPS, RSQRTPS" },
	  { 1, 0x52, 0x53, 0, PREFIX_66 | PREFIX_F2, FORM_ANY, ALL_REGS } },
	{ { "0F A2", X86_DIFFERS_RESULT, "CPUID: what the CPU is", "SDM CPUID; APM CPUID" },
	  { 1, 0xa2, 0xa2, 0, PREFIX_VECTOR, FORM_ANY, ALL_REGS } },
	{ { "0F 02-03 /r", X86_DIFFERS_RESULT,
	    "LAR, LSL: of a descriptor that may not be read the register stays, and which those "
	    "are differs",
	    "SDM LAR, LSL; APM LAR, LSL" },
	  { 1, 0x02, 0x03, 0, PREFIX_VECTOR, FORM_ANY, ALL_REGS } },
	{ { "0F AE /0, /4, /6 m", X86_DIFFERS_RESULT,
	    "FXSAVE, XSAVE, XSAVEOPT: AMD stores the x87 pointers with a pending exception alone",
	    "SDM FXSAVE, volume 1, 8.1.8; APM volume 5, FXSAVE" },
	  { 1, 0xae, 0xae, 0, PREFIX_66 | PREFIX_F2 | PREFIX_F3 | PREFIX_VECTOR, FORM_MEMORY,
	    REG(0) | REG(4) | REG(6) } },

#define PART                                                                                       \
	{                                                                                          \
		PART_ONLY, 0, 0, 0, 0, 0, 0                                                        \
	}
	{ { "0F BC-BD", X86_DIFFERS_PART,
	    "BSF, BSR of zero: the register stays (AMD; Intel since 2023, but of 32 bits the upper "
	    "half may be cleared), or is undefined; flags but ZF: undefined",
	    "SDM BSF, BSR; APM BSF, BSR" },
	  PART },
	{ { "0F A3, AB, B3, BB, BA", X86_DIFFERS_PART,
	    "BT, BTS, BTR, BTC: flags but CF: undefined, but Intel leaves ZF as it was",
	    "SDM BT; APM BT and appendix F" },
	  PART },
	{ { "C0-C1, D0-D3 /4, /5", X86_DIFFERS_PART,
	    "SHL, SHR: CF of a count of the operand's width or more, OF of one other than 1",
	    "SDM SAL/SAR/SHL/SHR; APM SHL, SHR" },
	  PART },
	{ { "C0-C1, D0-D3 /7", X86_DIFFERS_PART, "SAR: OF of a count other than 1",
	    "SDM SAL/SAR/SHL/SHR; APM SAR" },
	  PART },
	{ { "C0-C1, D0-D3 /0, /1", X86_DIFFERS_PART, "ROL, ROR: OF of a count other than 1",
	    "SDM RCL/RCR/ROL/ROR; APM ROL, ROR" },
	  PART },
	{ { "0F A4-A5, AC-AD", X86_DIFFERS_PART, "SHLD, SHRD: OF of a count other than 1",
	    "SDM SHLD, SHRD; APM SHLD, SHRD" },
	  PART },
	{ { "F6-F7 /4, /5; 69, 6B, 0F AF", X86_DIFFERS_PART, "MUL, IMUL: SF, ZF, AF, PF",
	    "SDM MUL, IMUL; APM MUL, IMUL" },
	  PART },
	{ { "F6-F7 /6, /7", X86_DIFFERS_PART, "DIV, IDIV: all flags",
	    "SDM DIV, IDIV; APM DIV, IDIV" },
	  PART },
	{ { "0F B1", X86_DIFFERS_PART,
	    "CMPXCHG of 32 bits: the upper halves of the registers that are not exchanged",
	    "SDM CMPXCHG; APM CMPXCHG" },
	  PART },
	{ { "VEX 0F 38 F2-F3", X86_DIFFERS_PART, "ANDN, BLSR, BLSMSK, BLSI: PF and AF",
	    "SDM ANDN, BLSR; APM ANDN, BLSR" },
	  PART },
#undef PART
};

#define ROWS (sizeof(rows) / sizeof(rows[0]))

struct parsed {
	unsigned prefixes;
	uint8_t map, opcode;
	bool has_modrm;
	uint8_t modrm;
};

static unsigned prefix_of(uint8_t byte)
{
	switch (byte) {
	case 0x66:
		return PREFIX_66;
	case 0xf2:
		return PREFIX_F2;
	case 0xf3:
		return PREFIX_F3;
	case 0x64:
		return PREFIX_FS;
	case 0x65:
		return PREFIX_GS;
	}
	return 0;
}

/* Parses the VEX prefix at bytes[at]; returns the place of the opcode. */
static size_t parse_vex(const uint8_t *bytes, size_t at, struct parsed *out)
{
	static const unsigned implied[4] = { 0, PREFIX_66, PREFIX_F3, PREFIX_F2 };
	bool is_short = bytes[at] == 0xc5;
	out->prefixes |= PREFIX_VECTOR | implied[bytes[at + (is_short ? 1 : 2)] & 3];
	out->map = is_short ? 1 : bytes[at + 1] & 0x1f;
	return at + (is_short ? 2 : 3);
}

/* REX counts where it stands right before the opcode (SDM 2.2.1). False: `code` is cut. */
static bool parse(struct span code, struct parsed *out)
{
	const uint8_t *bytes = code.data;
	size_t at = 0;
	unsigned rex = 0;
	*out = (struct parsed){ 0 };
	for (; at < code.size; at++) {
		bool is_rex = x86_is_rex(bytes[at]);
		if (!is_rex && !x86_is_legacy_prefix(bytes[at]))
			break;
		rex = is_rex ? bytes[at] : 0;
		out->prefixes |= prefix_of(bytes[at]);
	}
	if (at >= code.size)
		return false;
	out->prefixes |= (rex & 1 ? PREFIX_REX_B : 0) | (rex & 8 ? PREFIX_REX_W : 0);
	if ((bytes[at] == 0xc4 || bytes[at] == 0xc5) && code.size - at > 3) {
		at = parse_vex(bytes, at, out);
	} else if (bytes[at] == 0x0f && code.size - at > 1) {
		out->map = 1;
		at++;
		if (bytes[at] == 0x38 || bytes[at] == 0x3a)
			out->map = bytes[at] == 0x38 ? 2 : 3;
	} else if (bytes[at] == 0x62) { /* EVEX has no row */
		return false;
	}
	out->opcode = bytes[at];
	out->has_modrm = code.size - at > 1;
	out->modrm = out->has_modrm ? bytes[at + 1] : 0;
	return true;
}

static bool fits(const struct pattern *pattern, const struct parsed *parsed)
{
	if (pattern->map != MAP_ANY && pattern->map != parsed->map)
		return false;
	if (parsed->opcode < pattern->first || parsed->opcode > pattern->last ||
	    (parsed->prefixes & pattern->with) != pattern->with ||
	    parsed->prefixes & pattern->without)
		return false;
	if (pattern->form == FORM_ANY && pattern->regs == ALL_REGS)
		return true;
	bool in_register = parsed->modrm >= 0xc0;
	return parsed->has_modrm && pattern->regs >> (parsed->modrm >> 3 & 7) & 1 &&
	       (pattern->form == FORM_ANY || in_register == (pattern->form == FORM_REGISTER));
}

const struct x86_difference *x86_difference_of(struct span code)
{
	struct parsed parsed;
	if (!parse(code, &parsed))
		return NULL;
	for (size_t i = 0; i < ROWS; i++)
		if (rows[i].pattern.map != PART_ONLY && fits(&rows[i].pattern, &parsed))
			return &rows[i].difference;
	return NULL;
}

const struct x86_difference *x86_difference_at(size_t number)
{
	return number < ROWS ? &rows[number].difference : NULL;
}
