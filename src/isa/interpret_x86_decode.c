/*
 * x86-64 instructions as the interpreter keeps them, from Capstone's operands.
 */
#include <string.h>

#include "isa/interpret_x86.h"
#include "isa/transfer.h"
#include "isa/x86_operands.h"
#include "isa/x86_vendor_differences.h"

struct row {
	uint16_t id;
	uint8_t work;
	uint8_t detail; /* width in bytes, where no operand tells */
};

static const struct row rows[] = {
	{ X86_INS_MOV, WORK_MOVE, 0 },
	{ X86_INS_MOVABS, WORK_MOVE, 0 },
	{ X86_INS_MOVZX, WORK_MOVE_ZERO, 0 },
	{ X86_INS_MOVSX, WORK_MOVE_SIGN, 0 },
	{ X86_INS_MOVSXD, WORK_MOVE_SIGN, 0 },
	{ X86_INS_LEA, WORK_ADDRESS, 0 },
	{ X86_INS_XCHG, WORK_EXCHANGE, 0 },
	{ X86_INS_PUSH, WORK_PUSH, 0 },
	{ X86_INS_PUSHFQ, WORK_PUSH, 0 },
	{ X86_INS_POP, WORK_POP, 0 },
	{ X86_INS_LEAVE, WORK_LEAVE, 0 },
	{ X86_INS_BSWAP, WORK_SWAP_BYTES, 0 },
	{ X86_INS_CBW, WORK_EXTEND_A, 2 },
	{ X86_INS_CWDE, WORK_EXTEND_A, 4 },
	{ X86_INS_CDQE, WORK_EXTEND_A, 8 },
	{ X86_INS_CWD, WORK_EXTEND_D, 2 },
	{ X86_INS_CDQ, WORK_EXTEND_D, 4 },
	{ X86_INS_CQO, WORK_EXTEND_D, 8 },
	{ X86_INS_STC, WORK_SET_CARRY, 0 },
	{ X86_INS_CLC, WORK_CLEAR_CARRY, 0 },
	{ X86_INS_CMC, WORK_FLIP_CARRY, 0 },
	{ X86_INS_STD, WORK_SET_DIRECTION, 0 },
	{ X86_INS_CLD, WORK_CLEAR_DIRECTION, 0 },
	{ X86_INS_ADD, WORK_ADD, 0 },
	{ X86_INS_ADC, WORK_ADD_CARRY, 0 },
	{ X86_INS_SUB, WORK_SUBTRACT, 0 },
	{ X86_INS_SBB, WORK_SUBTRACT_BORROW, 0 },
	{ X86_INS_CMP, WORK_COMPARE, 0 },
	{ X86_INS_AND, WORK_AND, 0 },
	{ X86_INS_TEST, WORK_TEST, 0 },
	{ X86_INS_OR, WORK_OR, 0 },
	{ X86_INS_XOR, WORK_XOR, 0 },
	{ X86_INS_ANDN, WORK_AND_NOT, 0 },
	{ X86_INS_INC, WORK_INCREMENT, 0 },
	{ X86_INS_DEC, WORK_DECREMENT, 0 },
	{ X86_INS_NEG, WORK_NEGATE, 0 },
	{ X86_INS_NOT, WORK_NOT, 0 },
	{ X86_INS_XADD, WORK_ADD_EXCHANGE, 0 },
	{ X86_INS_CMPXCHG, WORK_COMPARE_EXCHANGE, 0 },
	{ X86_INS_BLSR, WORK_CLEAR_LOWEST, 0 },
	{ X86_INS_BLSI, WORK_ISOLATE_LOWEST, 0 },
	{ X86_INS_BLSMSK, WORK_MASK_LOWEST, 0 },
	{ X86_INS_SHL, WORK_SHIFT_LEFT, 0 },
	{ X86_INS_SAL, WORK_SHIFT_LEFT, 0 },
	{ X86_INS_SHR, WORK_SHIFT_RIGHT, 0 },
	{ X86_INS_SAR, WORK_SHIFT_SIGNED, 0 },
	{ X86_INS_ROL, WORK_ROTATE_LEFT, 0 },
	{ X86_INS_ROR, WORK_ROTATE_RIGHT, 0 },
	{ X86_INS_SHLD, WORK_SHIFT_LEFT_DOUBLE, 0 },
	{ X86_INS_SHRD, WORK_SHIFT_RIGHT_DOUBLE, 0 },
	{ X86_INS_SHLX, WORK_SHIFT_LEFT_ONLY, 0 },
	{ X86_INS_SHRX, WORK_SHIFT_RIGHT_ONLY, 0 },
	{ X86_INS_SARX, WORK_SHIFT_SIGNED_ONLY, 0 },
	{ X86_INS_RORX, WORK_ROTATE_RIGHT_ONLY, 0 },
	{ X86_INS_BT, WORK_BIT_TEST, 0 },
	{ X86_INS_BTS, WORK_BIT_SET, 0 },
	{ X86_INS_BTR, WORK_BIT_CLEAR, 0 },
	{ X86_INS_BTC, WORK_BIT_FLIP, 0 },
	{ X86_INS_BSF, WORK_LOWEST_BIT, 0 },
	{ X86_INS_BSR, WORK_HIGHEST_BIT, 0 },
	{ X86_INS_TZCNT, WORK_COUNT_LOW_ZEROS, 0 },
	{ X86_INS_LZCNT, WORK_COUNT_HIGH_ZEROS, 0 },
	{ X86_INS_POPCNT, WORK_COUNT_ONES, 0 },
	{ X86_INS_MUL, WORK_MULTIPLY, 0 },
	{ X86_INS_IMUL, WORK_MULTIPLY_SIGNED, 0 },
	{ X86_INS_DIV, WORK_DIVIDE, 0 },
	{ X86_INS_IDIV, WORK_DIVIDE_SIGNED, 0 },
	{ X86_INS_MOVSB, WORK_STRING_MOVE, 0 },
	{ X86_INS_MOVSW, WORK_STRING_MOVE, 0 },
	{ X86_INS_MOVSQ, WORK_STRING_MOVE, 0 },
	{ X86_INS_STOSB, WORK_STRING_STORE, 0 },
	{ X86_INS_STOSW, WORK_STRING_STORE, 0 },
	{ X86_INS_STOSD, WORK_STRING_STORE, 0 },
	{ X86_INS_STOSQ, WORK_STRING_STORE, 0 },
	{ X86_INS_MOVAPS, WORK_VECTOR_MOVE, 0 },
	{ X86_INS_MOVAPD, WORK_VECTOR_MOVE, 0 },
	{ X86_INS_MOVUPS, WORK_VECTOR_MOVE, 0 },
	{ X86_INS_MOVUPD, WORK_VECTOR_MOVE, 0 },
	{ X86_INS_MOVDQA, WORK_VECTOR_MOVE, 0 },
	{ X86_INS_MOVDQU, WORK_VECTOR_MOVE, 0 },
	{ X86_INS_LDDQU, WORK_VECTOR_MOVE, 0 },
	{ X86_INS_MOVNTPS, WORK_VECTOR_MOVE, 0 },
	{ X86_INS_MOVNTDQ, WORK_VECTOR_MOVE, 0 },
	{ X86_INS_VMOVAPS, WORK_VECTOR_MOVE, 0 },
	{ X86_INS_VMOVAPD, WORK_VECTOR_MOVE, 0 },
	{ X86_INS_VMOVUPS, WORK_VECTOR_MOVE, 0 },
	{ X86_INS_VMOVUPD, WORK_VECTOR_MOVE, 0 },
	{ X86_INS_VMOVDQA, WORK_VECTOR_MOVE, 0 },
	{ X86_INS_VMOVDQU, WORK_VECTOR_MOVE, 0 },
	{ X86_INS_MOVD, WORK_VECTOR_LOW, 0 },
	{ X86_INS_MOVQ, WORK_VECTOR_LOW, 0 },
	{ X86_INS_VMOVD, WORK_VECTOR_LOW, 0 },
	{ X86_INS_VMOVQ, WORK_VECTOR_LOW, 0 },
	{ X86_INS_MOVSS, WORK_VECTOR_SCALAR, 0 },
	{ X86_INS_MOVSD, WORK_VECTOR_SCALAR, 0 },
	{ X86_INS_VMOVSS, WORK_VECTOR_SCALAR, 0 },
	{ X86_INS_VMOVSD, WORK_VECTOR_SCALAR, 0 },
	{ X86_INS_MOVLPS, WORK_VECTOR_LOW_HALF, 0 },
	{ X86_INS_MOVLPD, WORK_VECTOR_LOW_HALF, 0 },
	{ X86_INS_MOVHPS, WORK_VECTOR_HIGH_HALF, 0 },
	{ X86_INS_MOVHPD, WORK_VECTOR_HIGH_HALF, 0 },
	{ X86_INS_PUNPCKLQDQ, WORK_VECTOR_UNPACK, 0 },
	{ X86_INS_UNPCKLPD, WORK_VECTOR_UNPACK, 0 },
	{ X86_INS_MOVLHPS, WORK_VECTOR_UNPACK, 0 },
	{ X86_INS_VPUNPCKLQDQ, WORK_VECTOR_UNPACK, 0 },
	{ X86_INS_PAND, WORK_VECTOR_AND, 0 },
	{ X86_INS_ANDPS, WORK_VECTOR_AND, 0 },
	{ X86_INS_ANDPD, WORK_VECTOR_AND, 0 },
	{ X86_INS_VPAND, WORK_VECTOR_AND, 0 },
	{ X86_INS_PANDN, WORK_VECTOR_AND_NOT, 0 },
	{ X86_INS_ANDNPS, WORK_VECTOR_AND_NOT, 0 },
	{ X86_INS_VPANDN, WORK_VECTOR_AND_NOT, 0 },
	{ X86_INS_POR, WORK_VECTOR_OR, 0 },
	{ X86_INS_ORPS, WORK_VECTOR_OR, 0 },
	{ X86_INS_ORPD, WORK_VECTOR_OR, 0 },
	{ X86_INS_VPOR, WORK_VECTOR_OR, 0 },
	{ X86_INS_PXOR, WORK_VECTOR_XOR, 0 },
	{ X86_INS_XORPS, WORK_VECTOR_XOR, 0 },
	{ X86_INS_XORPD, WORK_VECTOR_XOR, 0 },
	{ X86_INS_VPXOR, WORK_VECTOR_XOR, 0 },
	{ X86_INS_VXORPS, WORK_VECTOR_XOR, 0 },
	{ X86_INS_VXORPD, WORK_VECTOR_XOR, 0 },
	{ X86_INS_JRCXZ, WORK_BRANCH_COUNT_ZERO, 0 },
	{ X86_INS_JECXZ, WORK_BRANCH_COUNT_ZERO, 0 },
	{ X86_INS_LOOP, WORK_LOOP, 0 },
	{ X86_INS_LOOPE, WORK_LOOP_EQUAL, 0 },
	{ X86_INS_LOOPNE, WORK_LOOP_NOT_EQUAL, 0 },
	{ X86_INS_JMP, WORK_JUMP, 0 },
	{ X86_INS_CALL, WORK_CALL, 0 },
	{ X86_INS_RET, WORK_RETURN, 0 },
	{ X86_INS_SYSCALL, WORK_SYSTEM, 0 },
	{ X86_INS_SYSENTER, WORK_SYSTEM, 0 },
	{ X86_INS_INT, WORK_SYSTEM, 0 },
	{ X86_INS_INT1, WORK_SYSTEM, 0 },
	{ X86_INS_INT3, WORK_SYSTEM, 0 },
	{ X86_INS_INTO, WORK_SYSTEM, 0 },
	{ X86_INS_HLT, WORK_SYSTEM, 0 },
	{ X86_INS_UD0, WORK_SYSTEM, 0 },
	{ X86_INS_UD2, WORK_SYSTEM, 0 },
	{ X86_INS_UD2B, WORK_SYSTEM, 0 },
};

/* Those with a condition, in the order of its four bits. */
static const uint16_t branches[16] = {
	X86_INS_JO,  X86_INS_JNO, X86_INS_JB,  X86_INS_JAE, X86_INS_JE, X86_INS_JNE,
	X86_INS_JBE, X86_INS_JA,  X86_INS_JS,  X86_INS_JNS, X86_INS_JP, X86_INS_JNP,
	X86_INS_JL,  X86_INS_JGE, X86_INS_JLE, X86_INS_JG,
};
static const uint16_t selections[16] = {
	X86_INS_CMOVO, X86_INS_CMOVNO, X86_INS_CMOVB,  X86_INS_CMOVAE,
	X86_INS_CMOVE, X86_INS_CMOVNE, X86_INS_CMOVBE, X86_INS_CMOVA,
	X86_INS_CMOVS, X86_INS_CMOVNS, X86_INS_CMOVP,  X86_INS_CMOVNP,
	X86_INS_CMOVL, X86_INS_CMOVGE, X86_INS_CMOVLE, X86_INS_CMOVG,
};
static const uint16_t sets[16] = {
	X86_INS_SETO,  X86_INS_SETNO, X86_INS_SETB,  X86_INS_SETAE, X86_INS_SETE, X86_INS_SETNE,
	X86_INS_SETBE, X86_INS_SETA,  X86_INS_SETS,  X86_INS_SETNS, X86_INS_SETP, X86_INS_SETNP,
	X86_INS_SETL,  X86_INS_SETGE, X86_INS_SETLE, X86_INS_SETG,
};

size_t x86_works_size(void)
{
	return 2 * X86_INS_ENDING; /* works, then details */
}

void x86_works_fill(uint8_t *works)
{
	uint8_t *details = works + X86_INS_ENDING;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		works[rows[i].id] = rows[i].work;
		details[rows[i].id] = rows[i].detail;
	}
	for (uint8_t i = 0; i < 16; i++) {
		works[branches[i]] = WORK_BRANCH;
		works[selections[i]] = WORK_SELECT;
		works[sets[i]] = WORK_SET;
		details[branches[i]] = details[selections[i]] = details[sets[i]] = i;
	}
}

static void decode_memory(const cs_x86_op *from, uint64_t next, struct step_operand *to)
{
	const x86_op_mem *memory = &from->mem;
	const struct x86_numbered *base = x86_number_of(memory->base);
	const struct x86_numbered *index = x86_number_of(memory->index);
	to->kind = OPERAND_MEMORY;
	to->base = to->index = REGISTER_NONE;
	to->scale = (uint8_t)memory->scale;
	to->constant = (uint64_t)memory->disp;
	if (memory->base == X86_REG_RIP || memory->base == X86_REG_EIP)
		to->constant += next;
	else if (base->number)
		to->base = base->number - 1;
	if (index->number)
		to->index = index->number - 1;
	if (memory->segment == X86_REG_FS)
		to->segment = X86_FS;
	else if (memory->segment == X86_REG_GS)
		to->segment = X86_GS;
	if ((to->base != REGISTER_NONE && to->base > X86_R15) ||
	    (to->index != REGISTER_NONE && to->index > X86_R15))
		to->kind = OPERAND_FOREIGN; /* gathers */
}

static void decode_operand(const cs_x86_op *from, uint64_t next, struct step_operand *to)
{
	*to = (struct step_operand){ .bytes = from->size, .kind = OPERAND_FOREIGN };
	if (from->type == X86_OP_IMM) {
		to->kind = OPERAND_IMMEDIATE;
		to->constant = (uint64_t)from->imm;
	} else if (from->type == X86_OP_MEM) {
		decode_memory(from, next, to);
	} else if (from->type == X86_OP_REG) {
		const struct x86_numbered *numbered = x86_number_of(from->reg);
		unsigned number = numbered->number - 1u;
		if (!numbered->number)
			return;
		if (number <= X86_R15) {
			to->kind = OPERAND_GENERAL;
			to->number = (uint8_t)number;
			to->bytes = numbered->bytes;
			to->high = from->reg == X86_REG_AH || from->reg == X86_REG_BH ||
				   from->reg == X86_REG_CH || from->reg == X86_REG_DH;
		} else if (number >= X86_XMM0 && number < X86_XMM0 + 32) {
			to->kind = OPERAND_VECTOR;
			to->number = (uint8_t)(number - X86_XMM0);
			to->bytes = numbered->bytes;
		}
	}
}

/* The general register that an AVX512-FP16 instruction (EVEX, map 5) writes, or REGISTER_NONE. */
static unsigned half_precision_target(const uint8_t *bytes)
{
	unsigned opcode = bytes[4], modrm = bytes[5], extends = ~(unsigned)bytes[1];
	if (bytes[0] != 0x62 || (bytes[1] & 7) != 5)
		return REGISTER_NONE;
	if (opcode == 0x2c || opcode == 0x2d || opcode == 0x78 || opcode == 0x79) /* vcvt*2si */
		return (modrm >> 3 & 7) | (extends >> 4 & 8);
	if (opcode == 0x7e && modrm >= 0xc0) /* vmovw */
		return (modrm & 7) | (extends >> 2 & 8);
	return REGISTER_NONE;
}

/*
 * A VEX or EVEX instruction newer than the disassembler: the general registers that it writes are
 * known from its opcode map, and it may write all other registers. False: it is none.
 */
static bool decode_newer(struct span code, const struct instruction *instruction, struct step *step)
{
	const uint8_t *bytes = code.data;
	if (instruction->length_bytes < 4 ||
	    (bytes[0] != 0x62 && bytes[0] != 0xc4 && bytes[0] != 0xc5))
		return false;
	struct transfer transfer = { 0 };
	struct span whole = { code.data, instruction->length_bytes };
	transfer_read_x86(true, whole, step->address, &transfer);
	step->writes = register_set_all(ISA_X86_64);
	step->writes.bits[0] &= ~UINT64_C(0xffff);
	step->writes.bits[0] |= transfer.writes & 0xffff;
	if (instruction->length_bytes >= 6 && half_precision_target(bytes) != REGISTER_NONE)
		register_set_add(&step->writes, half_precision_target(bytes));
	register_set_remove(&step->writes, X86_DIRECTION);
	step->known = true;
	return true;
}

/* movsd is a string's (A5) or a vector's; only prefixes stand before the string's. */
static bool is_string_move(const cs_x86 *x86)
{
	return x86->opcode[0] == 0xa4 || x86->opcode[0] == 0xa5;
}

static uint8_t work_of(const struct interpreter *interpreter, const cs_insn *decoded,
		       enum instruction_kind kind)
{
	const cs_x86 *x86 = &decoded->detail->x86;
	uint8_t work = decoded->id < X86_INS_ENDING ? interpreter->works[decoded->id] : WORK_OTHER;
	struct x86_vector_prefix prefix = x86_vector_prefix_of(decoded);
	if (decoded->id == X86_INS_MOVSD && !prefix.vex && is_string_move(x86))
		return WORK_STRING_MOVE;
	if (prefix.vector_bytes) /* EVEX: masks, broadcasts */
		return WORK_OTHER;
	if (work == WORK_OTHER && kind != INSTRUCTION_OTHER)
		return WORK_SYSTEM; /* far transfers, transactions */
	return work;
}

/* F2 or F3 before the opcode; Capstone does not report an F2 that means the same as F3. */
static bool has_repeat(const struct step *step, const uint8_t *bytes)
{
	for (unsigned i = 0; i < step->length; i++) {
		if (bytes[i] == 0xf2 || bytes[i] == 0xf3)
			return true;
		if (bytes[i] >= 0xa4 && bytes[i] <= 0xaf)
			break;
	}
	return false;
}

/* 63 without REX.W moves 32 bits; Capstone names 64. */
static void narrow_sign_move(const cs_x86 *x86, struct step *step)
{
	if (x86->rex & 8 || step->narrow_operand)
		return;
	step->operands[0].bytes = 4;
}

/* Takes from the step what CPUs of different vendors do not agree on. */
static void apply_differences(struct span code, struct step *step)
{
	const struct x86_difference *difference = x86_difference_of(code);
	if (!difference)
		return;
	step->work = WORK_OTHER;
	if (difference->differs < X86_DIFFERS_RESULT)
		step->known = false;
	/* where the result differs, the upper half may be kept or cleared */
	if (step->operands[0].kind == OPERAND_GENERAL)
		step->operands[0].bytes = 8;
}

bool x86_step_decode(struct interpreter *interpreter, struct span code, uint64_t address,
		     struct step *step)
{
	struct instruction instruction;
	struct instruction_effects effects;
	if (code.size > 15)
		code.size = 15;
	decoder_effects(interpreter->decoder, code, address, &instruction, &effects);
	step->address = address;
	step->length = (uint8_t)instruction.length_bytes;
	if (instruction.kind == INSTRUCTION_DATA)
		return decode_newer(code, &instruction, step);

	const cs_insn *decoded = interpreter->decoder->room;
	const cs_x86 *x86 = &decoded->detail->x86;
	step->work = work_of(interpreter, decoded, instruction.kind);
	if (decoded->id < X86_INS_ENDING)
		step->detail = interpreter->works[X86_INS_ENDING + decoded->id];
	step->operand_count = x86->op_count;
	for (unsigned i = 0; i < STEP_OPERANDS && i < x86->op_count; i++)
		decode_operand(&x86->operands[i], address + step->length, &step->operands[i]);
	/* Capstone 4 looks past EVEX.W: whether the upper half is cleared is not known */
	if (x86_vector_prefix_of(decoded).vector_bytes && step->operands[0].kind == OPERAND_GENERAL)
		step->operands[0].bytes = 8;
	step->repeats = has_repeat(step, code.data);
	step->narrow_address = x86->addr_size == 4;
	step->narrow_operand = x86->prefix[2] == X86_PREFIX_OPSIZE && !(x86->rex & 8);
	if (decoded->id == X86_INS_MOVSXD)
		narrow_sign_move(x86, step);
	step->known = effects.known;
	step->writes = effects.writes;
	step->writes_memory = effects.writes_memory;
	step->written_bytes = effects.written_bytes;
	apply_differences(code, step);
	return true;
}
