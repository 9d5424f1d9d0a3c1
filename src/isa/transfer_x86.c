/*
 * What x86-64 and i386 instructions make of the values that jump tables are reached by (Intel SDM
 * volume 2, chapters 3 to 6): constants, moves, loads, additions, shifts, comparisons.
 */
#include "isa/transfer_x86_private.h"

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
	uint64_t value = x86_form_signed(form, form->behind, bytes);
	uint64_t cut = width < 8 ? value & ((UINT64_C(1) << (width * 8)) - 1) : value;
	out->size_bytes = width;
	out->sets_flags = true;
	bool high = width == 1 && form->is_register && x86_form_is_high_byte(form, form->rm);
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

/* C1, D1: shifts by a constant or by 1. */
static void read_shift(const struct x86_form *form, struct transfer *out)
{
	unsigned work = form->reg & 7;
	uint8_t width = width_of(form);
	unsigned by = form->opcode == 0xc1 ? (unsigned)x86_form_signed(form, form->behind, 1) : 1;
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

/* movzx, movsx and mov: `size` bytes of a register or memory, extended. */
static void read_load(const struct x86_form *form, uint8_t size, bool is_signed,
		      struct transfer *out)
{
	if (size == 1 && form->is_register && x86_form_is_high_byte(form, form->rm))
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

static void read_two_byte(const struct x86_form *form, struct transfer *out)
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

/* mov, lea, movsxd. */
static void read_move(const struct x86_form *form, struct transfer *out)
{
	unsigned op = form->opcode;
	uint8_t width = width_of(form);
	if (form->half) /* writes a part of the register */
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
		out->constant = x86_form_signed(form, form->behind, 4);
		if (width == 4)
			out->constant &= UINT32_MAX;
	}
}

/* Opcodes below 40: add, and, sub, xor, cmp with registers, and with constants of rax. */
static void read_arithmetic(const struct x86_form *form, struct transfer *out)
{
	unsigned op = form->opcode;
	out->sets_flags = true;
	if (op == 0x3c || op == 0x3d) { /* cmp of al, ax, eax, rax */
		out->compares = true;
		out->from = RAX;
		out->size_bytes = op == 0x3c ? 1 : width_of(form);
		out->compared = x86_form_signed(form, form->behind,
						out->size_bytes < 4 ? out->size_bytes : 4);
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
		uint64_t mask = x86_form_signed(form, form->behind, 4) & UINT32_MAX;
		if (mask < INT32_MAX) {
			set_kind(out, TRANSFER_LIMIT, RAX);
			out->constant = mask + 1;
		}
	} else if (op == 0x2d || op == 0x05) {
		uint64_t value = x86_form_signed(form, form->behind, 4);
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
		out->constant = x86_form_signed(form, form->behind, form->rex & 8 ? 8 : 4);
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
	if (!x86_form_read(&form)) {
		out->writes = ANY_WRITES;
		out->sets_flags = true;
		return;
	}
	out->writes = x86_form_writes(&form);
	/* thread-local memory and parts of registers are not followed */
	if (form.is_vector || (form.far_segment && form.has_modrm && !form.is_register))
		return;
	if (form.map == 0)
		read_one_byte(&form, out);
	else if (form.map == 1)
		read_two_byte(&form, out);
}
