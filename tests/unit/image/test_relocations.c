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
#include "image/relocations.h"
#include "support/elf_bytes.h"

#define DATA_VADDR 0x30000

static void put_rela(struct buffer *out, uint64_t vaddr, uint64_t symbol, uint32_t type,
		     uint64_t addend)
{
	buffer_append_u64(out, vaddr);
	buffer_append_u64(out, symbol << 32 | type);
	buffer_append_u64(out, addend);
}

/* A file with a section of data, relocations for it, and the symbols "" and "puts". */
static struct buffer make_file(uint16_t machine, const struct buffer *rela,
			       const struct buffer *relr, const struct buffer *data)
{
	CLEANUP(buffer_release) struct buffer symbols = { 0 };
	static const uint8_t puts_symbol[24] = { 1 };
	memset(buffer_extend(&symbols, 24), 0, 24);
	buffer_append(&symbols, puts_symbol, sizeof(puts_symbol));
	struct elf_bytes_section sections[] = {
		{ .name = ".dynstr",
		  .type = SHT_STRTAB,
		  .flags = SHF_ALLOC,
		  .bytes = "\0puts@V1",
		  .size_bytes = 9 },
		{ .name = ".dynsym",
		  .type = SHT_DYNSYM,
		  .flags = SHF_ALLOC,
		  .bytes = symbols.data,
		  .size_bytes = symbols.size,
		  .link = 1,
		  .entry_bytes = 24 },
		{ .name = ".rela.dyn",
		  .type = SHT_RELA,
		  .flags = SHF_ALLOC,
		  .bytes = rela->data,
		  .size_bytes = rela->size,
		  .link = 2,
		  .entry_bytes = 24 },
		{ .name = ".relr.dyn",
		  .type = 19,
		  .flags = SHF_ALLOC,
		  .bytes = relr->data,
		  .size_bytes = relr->size,
		  .entry_bytes = 8 },
		{ .name = ".data",
		  .type = SHT_PROGBITS,
		  .flags = SHF_ALLOC,
		  .bytes = data->data,
		  .size_bytes = data->size },
	};
	return elf_bytes_make(true, machine, 0x10000, sections, 5);
}

static void relative_ones_and_symbols_are_found_by_place(void **state)
{
	(void)state;
	static const struct {
		uint16_t machine;
		uint32_t relative, slot, address, other;
	} cases[] = {
		{ EM_X86_64, R_X86_64_RELATIVE, R_X86_64_GLOB_DAT, R_X86_64_64, R_X86_64_COPY },
		{ EM_AARCH64, R_AARCH64_RELATIVE, R_AARCH64_JUMP_SLOT, R_AARCH64_ABS64,
		  R_AARCH64_COPY },
	};
	for (size_t i = 0; i < 2; i++) {
		CLEANUP(buffer_release) struct buffer rela = { 0 };
		CLEANUP(buffer_release) struct buffer none = { 0 };
		put_rela(&rela, 0x3010, 0, cases[i].relative, 0x1234);
		put_rela(&rela, 0x3000, 1, cases[i].slot, 0);
		put_rela(&rela, 0x3018, 1, cases[i].address, 0);
		put_rela(&rela, 0x3020, 1, cases[i].address, 8); /* inside it: no name */
		put_rela(&rela, 0x3028, 1, cases[i].other, 0);
		put_rela(&rela, 0x3030, 9, cases[i].slot, 0); /* there is no such symbol */
		CLEANUP(buffer_release)
		struct buffer bytes = make_file(cases[i].machine, &rela, &none, &none);
		CLEANUP(elf_file_release) struct elf_file file;
		CLEANUP(relocations_release) struct relocations found;
		assert_int_equal(elf_file_parse(bytes.data, bytes.size, &file, NULL), 0);
		assert_int_equal(relocations_read(&file, &found), 0);
		assert_int_equal(found.count, 3);
		assert_true(
			span_equal(relocations_find(&found, 0x3000)->symbol, span_of_text("puts")));
		assert_int_equal(relocations_find(&found, 0x3010)->symbol.size, 0);
		assert_int_equal(relocations_find(&found, 0x3010)->value, 0x1234);
		assert_null(relocations_find(&found, 0x3011));
		assert_int_equal(relocations_from(&found, 0x3011), 2);
		assert_int_equal(relocations_from(&found, 0x3019), 3);

		CLEANUP(relocations_release) struct relocations all;
		assert_int_equal(relocations_read_all(&file, &all), 0);
		assert_int_equal(all.count, 6);
		for (uint64_t vaddr = 0x3000; vaddr <= 0x3030; vaddr += 8)
			if (vaddr != 0x3008)
				assert_int_equal(relocations_find(&all, vaddr)->other,
						 vaddr >= 0x3020);
		uint8_t copy[8] = { 1 };
		relocations_apply(&all, 0x3028, copy, sizeof(copy));
		assert_int_equal(copy[0], 1);
	}
}

static void packed_ones_take_their_value_from_the_data(void **state)
{
	(void)state;
	CLEANUP(buffer_release) struct buffer rela = { 0 };
	CLEANUP(buffer_release) struct buffer relr = { 0 };
	CLEANUP(buffer_release) struct buffer data = { 0 };
	for (uint64_t i = 0; i < 80; i++)
		buffer_append_u64(&data, 0x1000 + i);
	/* where the data lies is known once the file is made; its size does not change */
	uint64_t vaddr = 0;
	for (int round = 0; round < 2; round++) {
		relr.size = 0;
		buffer_append_u64(&relr, vaddr);	       /* slot 0 */
		buffer_append_u64(&relr, 1 | 1 << 1 | 1 << 4); /* slots 1 and 4 */
		buffer_append_u64(&relr, 1 | 1 << 2);	       /* slot 1 + 63 + 1 */
		CLEANUP(buffer_release)
		struct buffer bytes = make_file(EM_X86_64, &rela, &relr, &data);
		CLEANUP(elf_file_release) struct elf_file file;
		CLEANUP(relocations_release) struct relocations found;
		assert_int_equal(elf_file_parse(bytes.data, bytes.size, &file, NULL), 0);
		assert_int_equal(relocations_read(&file, &found), 0);
		vaddr = elf_file_section(&file, ".data")->vaddr;
		if (round == 0)
			continue;
		assert_int_equal(found.count, 4);
		static const uint64_t slots[] = { 0, 1, 4, 65 };
		for (size_t i = 0; i < 4; i++) {
			assert_int_equal(found.list[i].vaddr, vaddr + slots[i] * 8);
			assert_int_equal(found.list[i].value, 0x1000 + slots[i]);
		}
	}
}

static void values_are_written_where_they_lie(void **state)
{
	(void)state;
	struct relocation list[] = {
		{ 0x100, { NULL, 0 }, 0x1122334455667788, false },
		{ 0x108, { "puts", 4 }, 0, false },
		{ 0x110, { NULL, 0 }, 0xa1a2a3a4a5a6a7a8, false },
	};
	const struct relocations relocations = { list, 3, 3 };
	/* every window over the three, and the bytes around it untouched */
	for (uint64_t vaddr = 0xf0; vaddr < 0x120; vaddr++)
		for (size_t size = 0; size < 40; size++) {
			uint8_t bytes[48];
			memset(bytes, 0xee, sizeof(bytes));
			relocations_apply(&relocations, vaddr, bytes, size);
			for (size_t i = 0; i < sizeof(bytes); i++) {
				uint8_t wanted = 0xee;
				for (size_t j = 0; j < 3; j += 2)
					if (i < size && vaddr + i >= list[j].vaddr &&
					    vaddr + i < list[j].vaddr + 8)
						wanted = (uint8_t)(list[j].value >>
								   (vaddr + i - list[j].vaddr) * 8);
				assert_int_equal(bytes[i], wanted);
			}
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(relative_ones_and_symbols_are_found_by_place),
		cmocka_unit_test(packed_ones_take_their_value_from_the_data),
		cmocka_unit_test(values_are_written_where_they_lie),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
