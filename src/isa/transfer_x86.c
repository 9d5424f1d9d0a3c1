/*
 * x86-64 and i386. Registers that are written come from the opcode maps (Intel SDM
 * volume 2, appendix A); of VEX and EVEX forms only the few that write general
 * registers matter.
 */
#include "isa/transfer.h"

#include <string.h>

#include "isa/x86_modrm.h"

#define RAX	      0
#define RCX	      1
#define RDX	      2
#define RBX	      3
#define RSP	      4
#define RBP	      5
#define RSI	      6
#define RDI	      7
#define BIT(reg)      (UINT64_C(1) << (reg))
#define ALL_REGISTERS UINT64_C(0xffff)
#define OTHER_WRITES  (ALL_REGISTERS | TRANSFER_WRITES_MEMORY) /* of who knows what */
/* System V ABI: rax, rcx, rdx, rsi, rdi, r8 to r11 are the callee's. */
#define CALL_WRITES (UINT64_C(0x0fc7) | TRANSFER_WRITES_MEMORY | TRANSFER_CALLS)

struct x86_form {
	const uint8_t *bytes;
	size_t size, at; /* `at`: of the byte behind the opcode */
	uint64_t vaddr;
	bool wide;    /* 64-bit mode */
	unsigned rex; /* its W, R, X, B bits, also from VEX */
	bool has_rex; /* byte registers 4 to 7 are then spl to dil, else ah to bh */
	unsigned map; /* 0: one byte, 1: 0F, 2: 0F 38, 3: 0F 3A */
	unsigned opcode;
	unsigned vvvv;
	bool is_vector; /* VEX or EVEX */
	bool half;	/* 66 */
	bool far_segment;
	/* of ModRM */
	bool has_modrm, is_register;
	uint8_t reg, rm; /* rm: of a register form */
	struct transfer_memory memory;
	size_t behind; /* of the byte behind ModRM, SIB and displacement */
};

static uint64_t signed_bytes(const struct x86_form *form, size_t at, unsigned bytes)
{
	if (at > form->size || form->size - at < bytes)
		return 0;
	uint64_t value = 0;
	memcpy(&value, form->bytes + at, bytes);
	if (bytes < 8 && value >> (bytes * 8 - 1))
		value |= UINT64_MAX << (bytes * 8);
	return value;
}

static bool is_legacy_prefix(uint8_t byte)
{
	return (byte & 0xe7) == 0x26 || (byte >= 0x64 && byte <= 0x67) || byte == 0xf0 ||
	       byte == 0xf2 || byte == 0xf3;
}

/* A REX prefix counts only right before the opcode. */
static bool read_prefixes(struct x86_form *form)
{
	for (; form->at < form->size; form->at++) {
		uint8_t byte = form->bytes[form->at];
		bool is_rex = form->wide && (byte & 0xf0) == 0x40;
		form->has_rex = is_rex || (form->has_rex && !is_legacy_prefix(byte));
		if (is_rex)
			form->rex = byte & 15;
		else if (!is_legacy_prefix(byte))
			break;
		else
			form->rex = 0;
		if (byte == 0x66)
			form->half = true;
		else if (byte == 0x64 || byte == 0x65)
			form->far_segment = true;
		else if (byte == 0x67) /* addresses of another size: not followed */
			return false;
	}
	return form->at < form->size;
}

/* VEX and EVEX prefixes; false: none. */
static bool read_vector_prefix(struct x86_form *form)
{
	const uint8_t *at = form->bytes + form->at;
	size_t left = form->size - form->at;
	if (left < 3 || (at[0] != 0xc4 && at[0] != 0xc5 && at[0] != 0x62) ||
	    (!form->wide && at[1] < 0xc0))
		return false;
	unsigned top = ~(unsigned)at[1] >> 5; /* R, X, B as in REX */
	size_t length = at[0] == 0xc5 ? 2 : at[0] == 0xc4 ? 3 : 4;
	if (left <= length)
		return false;
	form->is_vector = true;
	form->map = at[0] == 0xc5 ? 1 : at[1] & (at[0] == 0xc4 ? 0x1f : 7);
	form->rex = at[0] == 0xc5 ? top & 4 : top & 7;
	form->vvvv = ~((unsigned)at[at[0] == 0xc5 ? 1 : 2] >> 3) & 15;
	form->opcode = at[length];
	form->at += length + 1;
	return true;
}

/* AMD's XOP and TBM: what else would be a pop into memory (AMD APM volume 6, 1.2). */
static bool is_xop(const struct x86_form *form)
{
	const uint8_t *at = form->bytes + form->at;
	return at[0] == 0x8f && form->size - form->at > 1 && (at[1] & 0x1f) >= 8;
}

static bool read_opcode(struct x86_form *form)
{
	if (!read_prefixes(form))
		return false;
	if (is_xop(form))
		return false;
	if (read_vector_prefix(form))
		return true;
	form->opcode = form->bytes[form->at++];
	if (form->opcode != 0x0f)
		return true;
	if (form->at >= form->size)
		return false;
	form->map = 1;
	form->opcode = form->bytes[form->at++];
	if (form->opcode != 0x38 && form->opcode != 0x3a)
		return true;
	form->map = form->opcode == 0x38 ? 2 : 3;
	if (form->at >= form->size)
		return false;
	form->opcode = form->bytes[form->at++];
	return true;
}

/* Has this opcode a ModRM byte? */
static bool takes_modrm(const struct x86_form *form)
{
	if (form->is_vector)
		return !(form->map == 1 && form->opcode == 0x77);
	return x86_takes_modrm((enum x86_map)form->map, (uint8_t)form->opcode);
}

static bool read_modrm(struct x86_form *form)
{
	if (!takes_modrm(form)) {
		form->behind = form->at;
		return true;
	}
	if (form->at >= form->size)
		return false;
	uint8_t modrm = form->bytes[form->at++];
	unsigned mod = modrm >> 6, rm = modrm & 7;
	form->has_modrm = true;
	form->reg = (uint8_t)(((modrm >> 3) & 7) | (form->rex & 4) << 1);
	form->is_register = mod == 3;
	if (form->is_register) {
		form->rm = (uint8_t)(rm | (form->rex & 1) << 3);
		form->behind = form->at;
		return true;
	}
	struct transfer_memory *memory = &form->memory;
	*memory = (struct transfer_memory){ TRANSFER_NO_REGISTER, TRANSFER_NO_REGISTER, 1, 0 };
	unsigned displacement = mod == 1 ? 1 : mod == 2 ? 4 : 0;
	bool relative = false;
	if (rm == 4) {
		if (form->at >= form->size)
			return false;
		uint8_t sib = form->bytes[form->at++];
		uint8_t index = (uint8_t)(((sib >> 3) & 7) | (form->rex & 2) << 2);
		if (index != RSP) {
			memory->index = index;
			memory->scale = (uint8_t)(1u << (sib >> 6));
		}
		if ((sib & 7) == 5 && mod == 0)
			displacement = 4;
		else
			memory->base = (uint8_t)((sib & 7) | (form->rex & 1) << 3);
	} else if (rm == 5 && mod == 0) {
		displacement = 4;
		relative = form->wide;
	} else {
		memory->base = (uint8_t)(rm | (form->rex & 1) << 3);
	}
	if (displacement)
		memory->displacement = signed_bytes(form, form->at, displacement);
	if (relative)
		memory->displacement += form->vaddr + form->size;
	if (!form->wide)
		memory->displacement &= UINT32_MAX;
	form->behind = form->at + displacement;
	return true;
}

/* Bit of the register that r/m names, or that of memory. */
static uint64_t rm_bit(const struct x86_form *form)
{
	return form->is_register ? BIT(form->rm) : TRANSFER_WRITES_MEMORY;
}

static bool is_high_byte(const struct x86_form *form, uint8_t reg)
{
	return !form->has_rex && reg >= 4 && reg < 8;
}

/* Of a register that is named as a byte. */
static uint64_t byte_bit(const struct x86_form *form, uint8_t reg)
{
	return BIT(is_high_byte(form, reg) ? reg - 4 : reg);
}

static uint64_t rm_byte_bit(const struct x86_form *form)
{
	return form->is_register ? byte_bit(form, form->rm) : TRANSFER_WRITES_MEMORY;
}

/* 0F 3A, and its VEX forms: extractions and comparisons of strings. */
static uint64_t map3_writes(const struct x86_form *form)
{
	if (form->opcode >= 0x14 && form->opcode <= 0x17)
		return rm_bit(form);
	if (form->opcode == 0x61 || form->opcode == 0x63)
		return BIT(RCX);
	return form->is_register ? 0 : TRANSFER_WRITES_MEMORY;
}

static uint64_t vector_writes(const struct x86_form *form)
{
	unsigned op = form->opcode;
	uint64_t store = form->is_register ? 0 : TRANSFER_WRITES_MEMORY;
	switch (form->map) {
	case 1:
		if (op == 0x2c || op == 0x2d || op == 0x50 || op == 0x78 || op == 0x79 ||
		    op == 0xc5 || op == 0xd7 || op == 0x93)
			return BIT(form->reg);
		if (op == 0xf7) /* vmaskmovdqu */
			return TRANSFER_WRITES_MEMORY;
		return op == 0x7e ? rm_bit(form) : store;
	case 2: /* F2 to F7: BMI */
		if (op < 0xe0)
			return store;
		return BIT(form->reg) | BIT(form->vvvv) | rm_bit(form);
	case 3:
		return op == 0xf0 ? BIT(form->reg) : map3_writes(form);
	case 5: /* conversions and vmovw of half precision */
		if (op == 0x2c || op == 0x2d || op == 0x78 || op == 0x79)
			return BIT(form->reg);
		return op == 0x7e ? rm_bit(form) : store;
	case 6:
		return store;
	}
	return OTHER_WRITES;
}

static uint64_t map1_writes(const struct x86_form *form)
{
	unsigned op = form->opcode;
	uint64_t store = form->has_modrm && !form->is_register ? TRANSFER_WRITES_MEMORY : 0;
	if ((op >= 0x40 && op <= 0x4f) || op == 0x02 || op == 0x03 || op == 0x2c || op == 0x2d ||
	    op == 0x50 || op == 0xaf || op == 0xb6 || op == 0xb7 ||
	    (op >= 0xb8 && op <= 0xbf && op != 0xba && op != 0xbb) || op == 0xc5 || op == 0xd7)
		return BIT(form->reg);
	if (op >= 0x90 && op <= 0x9f)
		return rm_byte_bit(form);
	if (op == 0xa4 || op == 0xa5 || op == 0xab || op == 0xac || op == 0xad || op == 0xb3 ||
	    op == 0xba || op == 0xbb || op == 0x7e || op == 0x20 || op == 0x21 || op == 0x00)
		return rm_bit(form);
	switch (op) {
	case 0xb0:
		return rm_byte_bit(form) | BIT(RAX);
	case 0xb1:
		return rm_bit(form) | BIT(RAX);
	case 0xc0:
		return rm_byte_bit(form) | byte_bit(form, form->reg);
	case 0xc1:
		return rm_bit(form) | BIT(form->reg);
	case 0xc7:
		return rm_bit(form) | BIT(RAX) | BIT(RDX);
	case 0xa0: /* push, pop of fs and gs */
	case 0xa1:
	case 0xa8:
	case 0xa9:
		return BIT(RSP) | TRANSFER_WRITES_MEMORY;
	case 0xf7: /* maskmovq, maskmovdqu */
		return TRANSFER_WRITES_MEMORY;
	case 0xa3: /* bt */
	case 0x1e: /* endbr, nop */
	case 0x1f:
	case 0x18:
	case 0x0d:
		return 0;
	case 0xa2:
		return BIT(RAX) | BIT(RBX) | BIT(RCX) | BIT(RDX);
	case 0x01: /* system calls and tables, rdtscp among them */
	case 0x05:
	case 0x34:
		return CALL_WRITES;
	case 0x31:
	case 0x32:
	case 0x33:
		return BIT(RAX) | BIT(RDX);
	}
	if (op >= 0xc8 && op <= 0xcf)
		return BIT((op & 7) | (form->rex & 1) << 3);
	return store;
}

/* Opcodes that differ in three bits only. */
static uint64_t row_writes(const struct x86_form *form)
{
	unsigned op = form->opcode;
	unsigned low = (op & 7) | (form->rex & 1) << 3;
	if (op < 0x40) {
		if (op >= 0x38) /* cmp */
			return 0;
		switch (op & 7) {
		case 0:
			return rm_byte_bit(form);
		case 1:
			return rm_bit(form);
		case 2:
			return byte_bit(form, form->reg);
		case 3:
			return BIT(form->reg);
		}
		return BIT(RAX);
	}
	if (op < 0x50) /* inc, dec of 32-bit mode */
		return BIT(op & 7);
	if (op < 0x58)
		return BIT(RSP) | TRANSFER_WRITES_MEMORY;
	if (op < 0x60)
		return BIT(RSP) | BIT(low);
	if (op >= 0x70 && op <= 0x7f)
		return 0;
	if (op >= 0x91 && op <= 0x97)
		return BIT(RAX) | BIT(low);
	if (op >= 0xb0 && op <= 0xb7)
		return byte_bit(form, (uint8_t)low);
	if (op >= 0xb8 && op <= 0xbf)
		return BIT(low);
	if (op >= 0xd8 && op <= 0xdf) /* x87; fnstsw %ax */
		return op == 0xdf ? BIT(RAX) | TRANSFER_WRITES_MEMORY : TRANSFER_WRITES_MEMORY;
	return OTHER_WRITES;
}

/* Opcodes 0xf6, 0xf7 and 0xff, whose operation is the register's number. */
static uint64_t group_writes(const struct x86_form *form)
{
	unsigned operation = form->reg & 7;
	if (form->opcode != 0xff) {
		if (operation < 2)
			return 0;
		if (operation >= 4)
			return BIT(RAX) | BIT(RDX);
		return form->opcode == 0xf6 ? rm_byte_bit(form) : rm_bit(form);
	}
	switch (operation) {
	case 0:
	case 1:
		return rm_bit(form);
	case 2:
	case 3:
		return CALL_WRITES;
	case 6:
		return BIT(RSP) | TRANSFER_WRITES_MEMORY;
	}
	return 0;
}

static uint64_t one_byte_writes(const struct x86_form *form)
{
	unsigned op = form->opcode;
	unsigned low = (op & 7) | (form->rex & 1) << 3;
	switch (op) {
	case 0x63:
	case 0x69:
	case 0x6b:
	case 0x8b:
	case 0x8d:
		return BIT(form->reg);
	case 0x8a:
		return byte_bit(form, form->reg);
	case 0x80:
		return (form->reg & 7) == 7 ? 0 : rm_byte_bit(form);
	case 0x81:
	case 0x83:
		return (form->reg & 7) == 7 ? 0 : rm_bit(form);
	case 0x84:
	case 0x85:
	case 0xa8:
	case 0xa9:
	case 0x90:
	case 0x8e:
	case 0x9b:
	case 0xe9:
	case 0xeb:
	case 0xcc:
	case 0xf4:
		return op == 0x90 && form->rex ? BIT(low) | BIT(RAX) : 0;
	case 0x68: /* push */
	case 0x6a:
		return BIT(RSP) | TRANSFER_WRITES_MEMORY;
	case 0x86:
		return rm_byte_bit(form) | byte_bit(form, form->reg);
	case 0x87:
		return rm_bit(form) | BIT(form->reg);
	case 0x88:
	case 0xc0:
	case 0xc6:
	case 0xd0:
	case 0xd2:
	case 0xfe:
		return rm_byte_bit(form);
	case 0x89:
	case 0x8c:
	case 0xc1:
	case 0xc7:
	case 0xd1:
	case 0xd3:
		return rm_bit(form);
	case 0x8f:
		return BIT(RSP) | rm_bit(form);
	case 0x98:
		return BIT(RAX);
	case 0xc8: /* enter, leave */
		return BIT(RSP) | BIT(RBP) | TRANSFER_WRITES_MEMORY;
	case 0xc9:
		return BIT(RSP) | BIT(RBP);
	case 0x99:
		return BIT(RDX);
	case 0xa4:
	case 0xa5:
	case 0xa6:
	case 0xa7:
	case 0xaa:
	case 0xab:
	case 0xac:
	case 0xad:
	case 0xae:
	case 0xaf:
		return BIT(RAX) | BIT(RCX) | BIT(RSI) | BIT(RDI) | TRANSFER_WRITES_MEMORY;
	case 0xe0:
	case 0xe1:
	case 0xe2:
	case 0xe3:
		return BIT(RCX);
	case 0xc2: /* ret */
	case 0xc3:
	case 0xca:
	case 0xcb:
		return BIT(RSP);
	case 0xe8:
		return CALL_WRITES;
	case 0xf6:
	case 0xf7:
	case 0xff:
		return group_writes(form);
	}
	return row_writes(form);
}

static uint64_t writes_of(const struct x86_form *form)
{
	if (form->is_vector)
		return vector_writes(form);
	switch (form->map) {
	case 0:
		return one_byte_writes(form);
	case 1:
		return map1_writes(form);
	case 2: /* F0 to FF: crc32, movbe, adcx */
		return form->opcode >= 0xf0 ? BIT(form->reg) | rm_bit(form) : 0;
	default:
		return map3_writes(form);
	}
}

static uint8_t width_of(const struct x86_form *form)
{
	return form->rex & 8 ? 8 : form->half ? 2 : 4;
}

static void from_rm(const struct x86_form *form, struct transfer *out)
{
	out->has_memory = !form->is_register;
	if (form->is_register)
		out->from = form->rm;
	else
		out->memory = form->memory;
}

static void set_kind(struct transfer *out, enum transfer_kind kind, uint8_t to)
{
	out->kind = kind;
	out->to = to;
}

/* 80, 81, 83: arithmetic with an immediate. */
static void read_immediate_group(const struct x86_form *form, struct transfer *out)
{
	unsigned work = form->reg & 7;
	uint8_t width = form->opcode == 0x80 ? 1 : width_of(form);
	unsigned bytes = form->opcode == 0x81 ? (width == 2 ? 2 : 4) : 1;
	uint64_t value = signed_bytes(form, form->behind, bytes);
	uint64_t cut = width < 8 ? value & ((UINT64_C(1) << (width * 8)) - 1) : value;
	out->size_bytes = width;
	out->sets_flags = true;
	bool high = width == 1 && form->is_register && is_high_byte(form, form->rm);
	if ((work == 7 || work == 5) && !high) { /* cmp, sub */
		from_rm(form, out);
		out->compares = true;
		out->compared = cut;
	}
	if (!form->is_register || width < 4)
		return;
	if (work == 0 || work == 5) {
		set_kind(out, TRANSFER_ADD, form->rm);
		out->from = form->rm;
		out->constant = work == 0 ? value : UINT64_C(0) - value;
	} else if (work == 4 && cut < UINT32_MAX) {
		set_kind(out, TRANSFER_LIMIT, form->rm);
		out->constant = cut + 1;
	}
}

static void read_shift(const struct x86_form *form, struct transfer *out)
{
	unsigned work = form->reg & 7;
	uint8_t width = width_of(form);
	unsigned by = form->opcode == 0xc1 ? (unsigned)signed_bytes(form, form->behind, 1) : 1;
	by &= width == 8 ? 63 : 31;
	out->sets_flags = true;
	if (!form->is_register || width < 4)
		return;
	if (work == 4 || work == 6) {
		set_kind(out, TRANSFER_SHIFT, form->rm);
		out->from = form->rm;
		out->shift = (uint8_t)by;
	} else if (work == 5 && by && width * 8 - by < 32) {
		set_kind(out, TRANSFER_LIMIT, form->rm);
		out->constant = UINT64_C(1) << (width * 8 - by);
	}
}

static void read_load(const struct x86_form *form, uint8_t size, bool is_signed,
		      struct transfer *out)
{
	if (size == 1 && form->is_register && is_high_byte(form, form->rm))
		return; /* no low part of a register */
	set_kind(out, form->is_register ? TRANSFER_EXTEND : TRANSFER_LOAD, form->reg);
	from_rm(form, out);
	out->size_bytes = size;
	out->is_signed = is_signed;
}

static enum transfer_condition condition_of(unsigned opcode)
{
	switch (opcode & 15) {
	case 2:
		return CONDITION_BELOW;
	case 3:
		return CONDITION_ABOVE_EQUAL;
	case 6:
		return CONDITION_BELOW_EQUAL;
	case 7:
		return CONDITION_ABOVE;
	}
	return CONDITION_NONE;
}

static void read_map1(const struct x86_form *form, struct transfer *out)
{
	unsigned op = form->opcode;
	if (op >= 0x80 && op <= 0x8f)
		out->condition = condition_of(op);
	else if (op == 0xb6 || op == 0xb7)
		read_load(form, op == 0xb6 ? 1 : 2, false, out);
	else if (op == 0xbe || op == 0xbf)
		read_load(form, op == 0xbe ? 1 : 2, true, out);
	else if (op == 0xa3 || op == 0xaf || op == 0xba || (op >= 0xa4 && op <= 0xad) ||
		 (op >= 0xb0 && op <= 0xc1) || op == 0x2e || op == 0x2f)
		out->sets_flags = true;
}

/* mov, lea, xor and the additions of registers. */
static void read_move(const struct x86_form *form, struct transfer *out)
{
	unsigned op = form->opcode;
	uint8_t width = width_of(form);
	if (form->half) /* writes a part */
		return;
	if (op == 0x8d && !form->is_register) {
		set_kind(out, TRANSFER_ADDRESS, form->reg);
		from_rm(form, out);
	} else if ((op == 0x8b || op == 0x89) && form->is_register) {
		set_kind(out, TRANSFER_COPY, op == 0x8b ? form->reg : form->rm);
		out->from = op == 0x8b ? form->rm : form->reg;
		out->size_bytes = width;
	} else if (op == 0x8b) {
		read_load(form, width, false, out);
	} else if (op == 0x89) {
		out->kind = TRANSFER_STORE;
		out->from = form->reg;
		out->has_memory = true;
		out->memory = form->memory;
		out->size_bytes = width;
	} else if (op == 0x63) {
		read_load(form, 4, true, out);
	} else if (op == 0xc7 && form->is_register) {
		set_kind(out, TRANSFER_CONSTANT, form->rm);
		out->constant = signed_bytes(form, form->behind, 4);
		if (width == 4)
			out->constant &= UINT32_MAX;
	}
}

static void read_arithmetic(const struct x86_form *form, struct transfer *out)
{
	unsigned op = form->opcode;
	out->sets_flags = true;
	if (op == 0x3c || op == 0x3d) { /* cmp of al, ax, eax, rax */
		out->compares = true;
		out->from = RAX;
		out->size_bytes = op == 0x3c ? 1 : width_of(form);
		out->compared =
			signed_bytes(form, form->behind, out->size_bytes < 4 ? out->size_bytes : 4);
		if (out->size_bytes < 8)
			out->compared &= (UINT64_C(1) << (out->size_bytes * 8)) - 1;
		return;
	}
	if (form->half)
		return;
	if ((op == 0x01 || op == 0x03) && form->is_register) {
		set_kind(out, TRANSFER_ADD, op == 0x03 ? form->reg : form->rm);
		out->from = op == 0x03 ? form->rm : form->reg;
		out->other = out->to;
		out->size_bytes = 8;
	} else if ((op == 0x31 || op == 0x33) && form->is_register && form->reg == form->rm) {
		set_kind(out, TRANSFER_CONSTANT, form->reg);
	} else if (op == 0x25) {
		uint64_t mask = signed_bytes(form, form->behind, 4) & UINT32_MAX;
		if (mask < INT32_MAX) {
			set_kind(out, TRANSFER_LIMIT, RAX);
			out->constant = mask + 1;
		}
	} else if (op == 0x2d || op == 0x05) {
		uint64_t value = signed_bytes(form, form->behind, 4);
		set_kind(out, TRANSFER_ADD, RAX);
		out->from = RAX;
		out->constant = op == 0x05 ? value : UINT64_C(0) - value;
		out->compares = op == 0x2d;
		out->compared = width_of(form) == 4 ? value & UINT32_MAX : value;
		out->size_bytes = width_of(form);
	}
}

static void read_one_byte(const struct x86_form *form, struct transfer *out)
{
	unsigned op = form->opcode;
	if (op < 0x40) {
		read_arithmetic(form, out);
	} else if (op >= 0x70 && op <= 0x7f) {
		out->condition = condition_of(op);
	} else if (op >= 0xb8 && op <= 0xbf && !form->half) {
		set_kind(out, TRANSFER_CONSTANT, (uint8_t)((op & 7) | (form->rex & 1) << 3));
		out->constant = signed_bytes(form, form->behind, form->rex & 8 ? 8 : 4);
		if (!(form->rex & 8))
			out->constant &= UINT32_MAX;
	} else if (op == 0x98 && !form->half) {
		set_kind(out, TRANSFER_EXTEND, RAX);
		out->from = RAX;
		out->size_bytes = form->rex & 8 ? 4 : 2;
		out->is_signed = true;
	} else if (op == 0xff && (form->reg & 7) == 4) {
		out->kind = TRANSFER_JUMP;
		from_rm(form, out);
		out->size_bytes = form->wide ? 8 : 4;
	} else if (op == 0x80 || op == 0x81 || op == 0x83) {
		read_immediate_group(form, out);
	} else if (op == 0xc1 || op == 0xd1) {
		read_shift(form, out);
	} else if (op == 0x84 || op == 0x85 || op == 0xa8 || op == 0xa9 || op == 0xf6 ||
		   op == 0xf7 || op == 0xfe || op == 0xff || op == 0x69 || op == 0x6b ||
		   op == 0xd3 || op == 0xc0 || op == 0xd0 || op == 0xd2) {
		out->sets_flags = true;
	} else {
		read_move(form, out);
	}
}

void transfer_read_x86(bool wide, struct span code, uint64_t vaddr, struct transfer *out)
{
	struct x86_form form = {
		.bytes = code.data, .size = code.size, .vaddr = vaddr, .wide = wide
	};
	if (!read_opcode(&form) || !read_modrm(&form)) {
		out->writes = OTHER_WRITES;
		out->sets_flags = true;
		return;
	}
	out->writes = writes_of(&form);
	/* thread-local memory and parts of registers are not followed */
	if (form.is_vector || (form.far_segment && form.has_modrm && !form.is_register))
		return;
	if (form.map == 0)
		read_one_byte(&form, out);
	else if (form.map == 1)
		read_map1(&form, out);
}
