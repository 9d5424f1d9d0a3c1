#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <capstone/capstone.h>

#include "isa/x86_modrm.h"

struct decoded {
	size_t size;
	size_t modrm; /* its place; 0: there is none */
};

/* What Capstone says; false where it knows no such instruction. */
static bool decode(csh capstone, const uint8_t *bytes, size_t size, struct decoded *out)
{
	cs_insn *instruction;
	if (cs_disasm(capstone, bytes, size, 0, 1, &instruction) != 1)
		return false;
	*out = (struct decoded){ instruction->size,
				 instruction->detail->x86.encoding.modrm_offset };
	cs_free(instruction, 1);
	return true;
}

static csh open_capstone(cs_mode mode)
{
	csh capstone;
	assert_int_equal(cs_open(CS_ARCH_X86, mode, &capstone), CS_ERR_OK);
	assert_int_equal(cs_option(capstone, CS_OPT_DETAIL, CS_OPT_ON), CS_ERR_OK);
	return capstone;
}

/* And what Capstone takes for shorter than it is: ud1 and, on newer CPUs, ud0. */
static bool is_left_out(enum x86_map map, unsigned opcode)
{
	if (map == X86_MAP_0F)
		return opcode == 0x38 || opcode == 0x3a || opcode == 0xb9 || opcode == 0xff;
	return (opcode & 0xe7) == 0x26 || (opcode >= 0x64 && opcode <= 0x67) || opcode == 0x0f ||
	       opcode == 0x9b || opcode == 0xf0 || opcode == 0xf2 || opcode == 0xf3 ||
	       (opcode & 0xf0) == 0x40 || opcode == 0xc4 || opcode == 0xc5 || opcode == 0x62;
}

/* By all values of the byte behind: of a group some are no instruction. */
static unsigned compare(csh capstone, enum x86_map map, unsigned opcode)
{
	unsigned compared = 0;
	for (unsigned next = 0; next < 256; next++) {
		uint8_t bytes[15] = { 0 };
		size_t at = map == X86_MAP_0F;
		struct decoded decoded;
		bytes[0] = 0x0f;
		bytes[at] = (uint8_t)opcode;
		bytes[at + 1] = (uint8_t)next;
		if (!decode(capstone, bytes, sizeof(bytes), &decoded))
			continue;
		bool takes = x86_takes_modrm(map, (uint8_t)opcode);
		if ((decoded.modrm != 0) != takes)
			fail_msg("map %u, opcode %02x, then %02x: ModRM at %zu, %s here", map,
				 opcode, next, decoded.modrm, takes ? "one" : "none");
		compared++;
		/* Behind it stands at most an immediate of 4 bytes; those of 20 to 23 name
		 * registers whatever they say. */
		if (!takes || (map == X86_MAP_0F && opcode >= 0x20 && opcode <= 0x23))
			continue;
		size_t length = x86_modrm_length((struct span){ bytes, sizeof(bytes) }, at + 1);
		if (at + 1 + length > decoded.size || decoded.size - length > at + 1 + 4)
			fail_msg("map %u, opcode %02x, then %02x: %zu bytes, %zu of them from "
				 "ModRM on",
				 map, opcode, next, decoded.size, length);
	}
	return compared;
}

static void opcodes_have_it_where_capstone_says(void **state)
{
	(void)state;
	csh capstone = open_capstone(CS_MODE_64);
	unsigned compared = 0;
	for (unsigned opcode = 0; opcode < 256; opcode++) {
		if (!is_left_out(X86_ONE_BYTE, opcode))
			compared += compare(capstone, X86_ONE_BYTE, opcode) != 0;
		if (!is_left_out(X86_MAP_0F, opcode))
			compared += compare(capstone, X86_MAP_0F, opcode) != 0;
	}
	cs_close(&capstone);
	print_message("%u opcodes compared\n", compared);
	assert_true(compared > 350);
}

static void its_length_is_not_known_where_the_code_ends(void **state)
{
	(void)state;
	static const uint8_t sib[] = { 0x44, 0x24, 0x08 }, relative[] = { 0x05, 1, 2, 3, 4 };
	assert_int_equal(x86_modrm_length((struct span){ sib, 0 }, 0), 0);
	assert_int_equal(x86_modrm_length((struct span){ sib, 1 }, 0), 0);
	assert_int_equal(x86_modrm_length((struct span){ sib, 3 }, 0), 3);
	assert_int_equal(x86_modrm_length((struct span){ relative, 5 }, 0), 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(opcodes_have_it_where_capstone_says),
		cmocka_unit_test(its_length_is_not_known_where_the_code_ends),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
