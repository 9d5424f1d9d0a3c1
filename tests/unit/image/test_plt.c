#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <elf.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "image/elf_file.h"
#include "image/plt.h"
#include "support/elf_bytes.h"

#define PLT_VADDR  0x10400
#define SLOT_VADDR 0x20018

static void put_symbol(struct buffer *out, uint32_t name)
{
	buffer_append_u32(out, name);
	buffer_append_u32(out, STB_GLOBAL << 4 | STT_FUNC);
	buffer_append_u64(out, 0);
	buffer_append_u64(out, 0);
}

static void put_relocation(struct buffer *out, uint64_t slot, uint32_t symbol, uint32_t type,
			   uint64_t addend)
{
	buffer_append_u64(out, slot);
	buffer_append_u64(out, (uint64_t)symbol << 32 | type);
	buffer_append_u64(out, addend);
}

/* A file with `code` as .plt and three slots: puts, exit and one without a symbol. */
static struct plt read_plt(uint16_t machine, const char *section, struct span code,
			   uint64_t entry_bytes, struct buffer *bytes)
{
	static const char names[] = "\0puts\0exit@VERS_1";
	bool x86 = machine == EM_X86_64;
	CLEANUP(buffer_release) struct buffer symbols = { 0 };
	CLEANUP(buffer_release) struct buffer relocations = { 0 };
	put_symbol(&symbols, 0);
	put_symbol(&symbols, 1);
	put_symbol(&symbols, 6);
	uint32_t jump = x86 ? R_X86_64_JUMP_SLOT : R_AARCH64_JUMP_SLOT;
	put_relocation(&relocations, SLOT_VADDR, 1, jump, 0);
	put_relocation(&relocations, SLOT_VADDR + 8, 2, jump, 0);
	put_relocation(&relocations, SLOT_VADDR + 16, 0,
		       x86 ? R_X86_64_IRELATIVE : R_AARCH64_IRELATIVE, 0x10999);
	struct elf_bytes_section sections[] = {
		{ .name = section,
		  .type = SHT_PROGBITS,
		  .flags = SHF_ALLOC | SHF_EXECINSTR,
		  .vaddr = PLT_VADDR,
		  .bytes = code.data,
		  .size_bytes = code.size,
		  .entry_bytes = entry_bytes },
		{ .name = ".dynstr",
		  .type = SHT_STRTAB,
		  .bytes = names,
		  .size_bytes = sizeof(names) },
		{ .name = ".dynsym",
		  .type = SHT_DYNSYM,
		  .bytes = symbols.data,
		  .size_bytes = symbols.size,
		  .link = 2 },
		{ .name = ".rela.plt",
		  .type = SHT_RELA,
		  .flags = SHF_ALLOC,
		  .vaddr = 0x10300,
		  .bytes = relocations.data,
		  .size_bytes = relocations.size,
		  .link = 3 },
	};
	*bytes = elf_bytes_make(true, machine, 0x10000, sections, 4);
	CLEANUP(elf_file_release) struct elf_file file;
	struct plt plt;
	assert_int_equal(elf_file_parse(bytes->data, bytes->size, &file, NULL), 0);
	assert_int_equal(plt_read(&file, &plt), 0);
	return plt;
}

static void assert_stub(const struct plt *plt, size_t i, uint64_t start, uint64_t size,
			const char *symbol)
{
	assert_true(i < plt->count);
	assert_int_equal(plt->stubs[i].start, start);
	assert_int_equal(plt->stubs[i].size_bytes, size);
	assert_true(span_equal(plt->stubs[i].symbol, span_of_text(symbol)));
}

/* jmp *slot(%rip) as instruction bytes at `vaddr`. */
static void put_jump(struct buffer *out, uint64_t vaddr, uint64_t slot)
{
	buffer_append(out, "\xff\x25", 2);
	buffer_append_u32(out, (uint32_t)(slot - (vaddr + 6)));
}

static void pad(struct buffer *out, size_t multiple)
{
	while (out->size % multiple)
		buffer_append_u8(out, 0x90);
}

static void x86_stubs_are_split_and_named(void **state)
{
	(void)state;
	CLEANUP(buffer_release) struct buffer code = { 0 };
	CLEANUP(buffer_release) struct buffer bytes = { 0 };
	/* The first entry calls the resolver. */
	buffer_append(&code, "\xff\x35\0\0\0\0", 6);
	put_jump(&code, PLT_VADDR + 6, SLOT_VADDR - 8);
	pad(&code, 16);
	for (int i = 0; i < 3; i++) {
		put_jump(&code, PLT_VADDR + code.size, SLOT_VADDR + 8 * (uint64_t)i);
		pad(&code, 16);
	}
	CLEANUP(plt_release)
	struct plt plt =
		read_plt(EM_X86_64, ".plt", (struct span){ code.data, code.size }, 16, &bytes);
	assert_int_equal(plt.count, 3);
	assert_stub(&plt, 0, PLT_VADDR + 16, 16, "puts");
	assert_stub(&plt, 1, PLT_VADDR + 32, 16, "exit");
	assert_stub(&plt, 2, PLT_VADDR + 48, 16, "");
	assert_int_equal(plt.stubs[2].target, 0x10999);
}

static void x86_stubs_under_branch_tracking_are_split_and_named(void **state)
{
	(void)state;
	CLEANUP(buffer_release) struct buffer lazy = { 0 };
	CLEANUP(buffer_release) struct buffer direct = { 0 };
	CLEANUP(buffer_release) struct buffer bytes = { 0 };
	for (uint32_t i = 0; i < 2; i++) {
		buffer_append(&lazy, "\xf3\x0f\x1e\xfa\x68", 5); /* endbr64; push */
		buffer_append_u32(&lazy, i);
		pad(&lazy, 16);
		buffer_append(&direct, "\xf3\x0f\x1e\xfa\xf2", 5); /* endbr64; bnd */
		put_jump(&direct, PLT_VADDR + direct.size, SLOT_VADDR + 8 * (uint64_t)i);
		pad(&direct, 16);
	}
	struct plt plt =
		read_plt(EM_X86_64, ".plt", (struct span){ lazy.data, lazy.size }, 16, &bytes);
	assert_int_equal(plt.count, 2);
	assert_stub(&plt, 1, PLT_VADDR + 16, 16, "exit");
	plt_release(&plt);
	buffer_release(&bytes);
	plt = read_plt(EM_X86_64, ".plt.sec", (struct span){ direct.data, direct.size }, 16,
		       &bytes);
	assert_int_equal(plt.count, 2);
	assert_stub(&plt, 0, PLT_VADDR, 16, "puts");
	plt_release(&plt);
}

static void short_x86_stubs_are_split(void **state)
{
	(void)state;
	CLEANUP(buffer_release) struct buffer code = { 0 };
	CLEANUP(buffer_release) struct buffer bytes = { 0 };
	for (int i = 0; i < 2; i++) {
		put_jump(&code, PLT_VADDR + code.size, SLOT_VADDR + 8 * (uint64_t)i);
		pad(&code, 8);
	}
	CLEANUP(plt_release)
	struct plt plt =
		read_plt(EM_X86_64, ".plt.got", (struct span){ code.data, code.size }, 8, &bytes);
	assert_int_equal(plt.count, 2);
	assert_stub(&plt, 0, PLT_VADDR, 8, "puts");
	assert_stub(&plt, 1, PLT_VADDR + 8, 8, "exit");
}

/* adrp x16; ldr x17, [x16, #]; add x16, x16, #; br x17 */
static void put_arm_stub(struct buffer *out, uint64_t slot)
{
	uint64_t here = PLT_VADDR + out->size;
	uint64_t pages = (slot >> 12) - (here >> 12);
	buffer_append_u32(out, 0x90000010 | (uint32_t)(pages & 3) << 29 |
				       (uint32_t)(pages >> 2 & 0x7ffff) << 5);
	buffer_append_u32(out, 0xf9400211 | (uint32_t)(slot & 0xfff) / 8 << 10);
	buffer_append_u32(out, 0x91000210 | (uint32_t)(slot & 0xfff) << 10);
	buffer_append_u32(out, 0xd61f0220);
}

static void arm_stubs_are_split_and_named(void **state)
{
	(void)state;
	for (int bti = 0; bti < 2; bti++) {
		CLEANUP(buffer_release) struct buffer code = { 0 };
		CLEANUP(buffer_release) struct buffer bytes = { 0 };
		uint64_t size = bti ? 24 : 16;
		buffer_append_u32(&code, bti ? 0xd503245f : 0xd503201f);
		buffer_append_u32(&code, 0xa9bf7bf0); /* stp x16, x30, [sp, #-16]! */
		put_arm_stub(&code, SLOT_VADDR - 8);
		buffer_append_u32(&code, 0xd503201f);
		buffer_append_u32(&code, 0xd503201f);
		for (int i = 0; i < 3; i++) {
			if (bti)
				buffer_append_u32(&code, 0xd503245f);
			put_arm_stub(&code, SLOT_VADDR + 8 * (uint64_t)i);
			if (bti)
				buffer_append_u32(&code, 0xd503201f);
		}
		CLEANUP(plt_release)
		struct plt plt = read_plt(EM_AARCH64, ".plt", (struct span){ code.data, code.size },
					  16, &bytes);
		assert_int_equal(plt.count, 3);
		assert_stub(&plt, 0, PLT_VADDR + 32, size, "puts");
		assert_stub(&plt, 1, PLT_VADDR + 32 + size, size, "exit");
		assert_stub(&plt, 2, PLT_VADDR + 32 + 2 * size, size, "");
	}
}

static void slots_below_the_code_are_reached_too(void **state)
{
	(void)state;
	/* adrp with a negative distance finds no slot, and does no harm. */
	CLEANUP(buffer_release) struct buffer code = { 0 };
	CLEANUP(buffer_release) struct buffer bytes = { 0 };
	put_arm_stub(&code, 0x8);
	put_arm_stub(&code, SLOT_VADDR);
	CLEANUP(plt_release)
	struct plt plt =
		read_plt(EM_AARCH64, ".plt", (struct span){ code.data, code.size }, 16, &bytes);
	assert_int_equal(plt.count, 1);
	assert_stub(&plt, 0, PLT_VADDR + 16, 16, "puts");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(x86_stubs_are_split_and_named),
		cmocka_unit_test(x86_stubs_under_branch_tracking_are_split_and_named),
		cmocka_unit_test(short_x86_stubs_are_split),
		cmocka_unit_test(arm_stubs_are_split_and_named),
		cmocka_unit_test(slots_below_the_code_are_reached_too),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
