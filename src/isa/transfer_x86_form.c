/*
 * Where the parts of an x86 instruction are: prefixes, opcode, and the operands that ModRM and
 * SIB name (Intel SDM volume 2, 2.1 to 2.3 and 2.7).
 */
#include <string.h>

#include "isa/transfer_x86_private.h"
#include "isa/x86_modrm.h"
#include "isa/x86_prefix.h"

uint64_t x86_form_signed(const struct x86_form *form, size_t at, unsigned bytes)
{
	if (at > form->size || form->size - at < bytes)
		return 0;
	uint64_t value = 0;
	memcpy(&value, form->bytes + at, bytes);
	if (bytes < 8 && value >> (bytes * 8 - 1))
		value |= UINT64_MAX << (bytes * 8);
	return value;
}

/* A REX prefix counts only right before the opcode. */
static bool read_prefixes(struct x86_form *form)
{
	for (; form->at < form->size; form->at++) {
		uint8_t byte = form->bytes[form->at];
		bool is_rex = form->wide && x86_is_rex(byte);
		form->has_rex = is_rex || (form->has_rex && !x86_is_legacy_prefix(byte));
		if (is_rex)
			form->rex = byte & 15;
		else if (!x86_is_legacy_prefix(byte))
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
	if (!read_prefixes(form) || is_xop(form))
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
		memory->displacement = x86_form_signed(form, form->at, displacement);
	if (relative)
		memory->displacement += form->vaddr + form->size;
	if (!form->wide)
		memory->displacement &= UINT32_MAX;
	form->behind = form->at + displacement;
	return true;
}

bool x86_form_read(struct x86_form *form)
{
	return read_opcode(form) && read_modrm(form);
}
