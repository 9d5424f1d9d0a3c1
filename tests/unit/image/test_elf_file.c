#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <errno.h>
#include <cmocka.h>
#include <elf.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "image/eh_frame.h"
#include "image/elf_file.h"
#include "image/identity.h"
#include "image/plt.h"
#include "image/vdso.h"
#include "support/elf_bytes.h"
#include "support/skip.h"

#define LOAD_VADDR 0x10000

static const uint8_t note[] = { 4, 0, 0, 0, 4, 0, 0, 0, 3, 0, 0, 0, 'G', 'N', 'U', 0, 1, 2, 3, 4 };
static const uint8_t code[] = { 0x90, 0x91, 0x92, 0xc3 };

static struct buffer make(bool wide, uint16_t machine, bool with_note)
{
	struct elf_bytes_section sections[] = {
		{ .name = ".text",
		  .type = SHT_PROGBITS,
		  .flags = SHF_ALLOC | SHF_EXECINSTR,
		  .bytes = code,
		  .size_bytes = sizeof(code) },
		{ .name = ".note.gnu.build-id",
		  .type = SHT_NOTE,
		  .flags = SHF_ALLOC,
		  .bytes = note,
		  .size_bytes = sizeof(note) },
	};
	return elf_bytes_make(wide, machine, LOAD_VADDR, sections, with_note ? 2 : 1);
}

static void both_widths_are_read(void **state)
{
	(void)state;
	static const uint16_t machines[] = { EM_X86_64, EM_AARCH64, EM_386, EM_ARM };
	for (size_t i = 0; i < 4; i++) {
		CLEANUP(buffer_release) struct buffer bytes = make(i < 2, machines[i], true);
		CLEANUP(elf_file_release) struct elf_file file;
		struct identity identity;
		assert_int_equal(elf_file_parse(bytes.data, bytes.size, &file, NULL), 0);
		assert_int_equal(file.wide, i < 2);
		assert_int_equal(file.machine, machines[i]);
		assert_int_equal(file.segment_count, 2);
		assert_int_equal(file.section_count, 3);
		const struct elf_section *text = elf_file_section(&file, ".text");
		assert_non_null(text);
		assert_ptr_equal(text, elf_file_section_at(&file, 1));
		struct span found = elf_file_code(&file, text->vaddr + 1, 2);
		assert_int_equal(found.size, 2);
		assert_memory_equal(found.data, code + 1, 2);
		uint64_t vaddr = 0, offset = 0;
		assert_true(elf_file_offset_of_vaddr(&file, text->vaddr, &offset));
		assert_int_equal(offset, text->offset);
		assert_false(elf_file_offset_of_vaddr(&file, LOAD_VADDR - 1, &offset));

		identity_of_file(&file, &identity);
		assert_int_equal(identity.build_id_bytes, 4);
		assert_memory_equal(identity.build_id, note + 16, 4);
		assert_int_equal(identity.segment_count, 1);
		assert_true(identity_vaddr_of_offset(&identity, text->offset + 3, &vaddr));
		assert_int_equal(vaddr, text->vaddr + 3);
	}
}

static void the_old_hash_is_of_headers_and_text(void **state)
{
	(void)state;
	struct identity first, again, changed;
	CLEANUP(buffer_release) struct buffer bytes = make(true, EM_X86_64, false);
	CLEANUP(elf_file_release) struct elf_file file;
	assert_int_equal(elf_file_parse(bytes.data, bytes.size, &file, NULL), 0);
	const struct span none = { NULL, 0 };
	identity_of_file(&file, &first);
	assert_false(first.hash.high || first.hash.low);
	identity_add_content(&file, CONTENT_OLD, none, &first);
	identity_of_file(&file, &again);
	identity_add_content(&file, CONTENT_OLD, none, &again);
	assert_int_equal(first.build_id_bytes, 0);
	assert_true(first.hash.high || first.hash.low);
	assert_memory_equal(&first, &again, sizeof(first));
	bytes.data[elf_file_section(&file, ".text")->offset] ^= 1;
	identity_of_file(&file, &changed);
	identity_add_content(&file, CONTENT_OLD, none, &changed);
	assert_memory_not_equal(&first.hash, &changed.hash, sizeof(first.hash));
}

static void other_files_are_refused_with_their_cause(void **state)
{
	(void)state;
	struct elf_file file;
	struct error err;
	CLEANUP(buffer_release) struct buffer bytes = make(true, EM_X86_64, true);
	assert_int_equal(elf_file_parse("#!/bin/sh\n", 10, &file, &err), -ENOEXEC);
	assert_string_equal(err.text, "not an ELF file");
	assert_int_equal(elf_file_parse(NULL, 0, &file, &err), -ENOEXEC);
	bytes.data[EI_DATA] = ELFDATA2MSB;
	assert_int_equal(elf_file_parse(bytes.data, bytes.size, &file, &err), -ENOTSUP);
	assert_string_equal(err.text, "not a little-endian ELF file");
	bytes.data[EI_DATA] = ELFDATA2LSB;
	assert_int_equal(elf_file_parse(bytes.data, 63, &file, &err), -EBADMSG);
	assert_string_equal(err.text, "the ELF file ends at byte 63, inside its header");
}

/* All that can be read from a file, from a copy of just its size. */
static void read_everything(const uint8_t *bytes, size_t size)
{
	CLEANUP(free_pointer) uint8_t *exact = malloc(size ? size : 1);
	assert_non_null(exact);
	memcpy(exact, bytes, size);
	struct elf_file file;
	struct identity identity;
	struct extents extents;
	struct plt plt;
	if (elf_file_parse(exact, size, &file, NULL) < 0)
		return;
	identity_of_file(&file, &identity);
	assert_int_equal(extents_read(&file, &extents), 0);
	assert_int_equal(plt_read(&file, &plt), 0);
	for (size_t i = 0; i < file.section_count; i++) {
		struct span content = elf_file_section_bytes(&file, &file.sections[i]);
		if (content.size)
			assert_true((const uint8_t *)content.data >= exact &&
				    (const uint8_t *)content.data + content.size <= exact + size);
	}
	plt_release(&plt);
	extents_release(&extents);
	elf_file_release(&file);
}

static void cuts_and_flips_do_no_harm(void **state)
{
	(void)state;
	for (int wide = 0; wide < 2; wide++) {
		CLEANUP(buffer_release) struct buffer bytes = make(wide, EM_X86_64, true);
		for (size_t cut = 0; cut <= bytes.size; cut++)
			read_everything(bytes.data, cut);
		for (size_t at = 0; at < bytes.size; at++)
			for (int bit = 0; bit < 8; bit++) {
				bytes.data[at] ^= (uint8_t)(1 << bit);
				read_everything(bytes.data, bytes.size);
				bytes.data[at] ^= (uint8_t)(1 << bit);
			}
	}
}

static void notes_give_the_build_id_and_nothing_else(void **state)
{
	(void)state;
	struct span found = notes_find_build_id((struct span){ note, sizeof(note) });
	assert_int_equal(found.size, 4);
	for (size_t cut = 0; cut < sizeof(note); cut++)
		assert_int_equal(notes_find_build_id((struct span){ note, cut }).size, 0);
	uint8_t longer[sizeof(note)];
	memcpy(longer, note, sizeof(note));
	longer[4] = 0xff; /* a descriptor past the end */
	assert_int_equal(notes_find_build_id((struct span){ longer, sizeof(longer) }).size, 0);
}

static void the_vdso_in_memory_is_an_elf_file_with_a_build_id(void **state)
{
	(void)state;
	CLEANUP(buffer_release) struct buffer bytes = { 0 };
	CLEANUP(elf_file_release) struct elf_file file = { 0 };
	CLEANUP(extents_release) struct extents extents = { 0 };
	struct error err;
	struct identity identity;
	if (vdso_read(&bytes, &err) == -ENOENT) {
		SKIP("this kernel has no vdso");
	}
	assert_int_equal(elf_file_parse(bytes.data, bytes.size, &file, &err), 0);
	identity_of_file(&file, &identity);
	assert_true(identity.build_id_bytes > 0);
	assert_int_equal(extents_read(&file, &extents), 0);
#ifdef __x86_64__
	assert_true(extents.count > 0);
#else
	/* Linux leaves .eh_frame out of arm64's */
	assert_int_equal(extents.count, 0);
#endif
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_widths_are_read),
		cmocka_unit_test(the_old_hash_is_of_headers_and_text),
		cmocka_unit_test(other_files_are_refused_with_their_cause),
		cmocka_unit_test(cuts_and_flips_do_no_harm),
		cmocka_unit_test(notes_give_the_build_id_and_nothing_else),
		cmocka_unit_test(the_vdso_in_memory_is_an_elf_file_with_a_build_id),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
