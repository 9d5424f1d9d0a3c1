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
#include "image/eh_frame.h"
#include "image/elf_file.h"
#include "support/elf_bytes.h"

#define FRAMES_VADDR 0x20000
#define START	     0x1234
#define SIZE	     0x56

/* A length and what it counts. */
static void put_entry(struct buffer *out, const struct buffer *content)
{
	buffer_append_u32(out, (uint32_t)content->size);
	buffer_append(out, content->data, content->size);
}

static void put_cie(struct buffer *out, const char *augmentation, uint8_t encoding)
{
	CLEANUP(buffer_release) struct buffer cie = { 0 };
	buffer_append_u32(&cie, 0);
	buffer_append_u8(&cie, 1);
	buffer_append(&cie, augmentation, strlen(augmentation) + 1);
	buffer_append_varint(&cie, 1);
	buffer_append_u8(&cie, 0x78); /* -8 */
	buffer_append_u8(&cie, 16);
	if (augmentation[0] == 'z') {
		buffer_append_varint(&cie, strlen(augmentation) - 1);
		for (const char *letter = augmentation + 1; *letter; letter++) {
			if (*letter == 'R')
				buffer_append_u8(&cie, encoding);
			if (*letter == 'L')
				buffer_append_u8(&cie, 0x1b);
			if (*letter == 'P') {
				buffer_append_u8(&cie, 0x9b);
				buffer_append_u32(&cie, 0x1111);
			}
		}
	}
	put_entry(out, &cie);
}

/* The value of an address as `encoding` has it, at `here`. */
static void put_value(struct buffer *out, uint8_t encoding, uint64_t value)
{
	switch (encoding & 0xf) {
	case 0x1:
		buffer_append_varint(out, value);
		break;
	case 0x2:
	case 0xa:
		buffer_append(out, &value, 2);
		break;
	case 0x3:
	case 0xb:
		buffer_append(out, &value, 4);
		break;
	default:
		buffer_append(out, &value, 8);
	}
}

static void put_fde(struct buffer *out, size_t cie_at, uint8_t encoding, uint64_t start,
		    uint64_t size)
{
	CLEANUP(buffer_release) struct buffer fde = { 0 };
	buffer_append_u32(&fde, (uint32_t)(out->size + 4 - cie_at));
	uint64_t here = FRAMES_VADDR + out->size + 4 + fde.size;
	put_value(&fde, encoding, (encoding & 0x70) == 0x10 ? start - here : start);
	put_value(&fde, encoding & 0xf, size);
	put_entry(out, &fde);
}

static struct extents read_frames(const struct buffer *frames, bool wide)
{
	struct elf_bytes_section section = { .name = ".eh_frame",
					     .type = SHT_PROGBITS,
					     .flags = SHF_ALLOC,
					     .vaddr = FRAMES_VADDR,
					     .bytes = frames->data,
					     .size_bytes = frames->size };
	CLEANUP(buffer_release)
	struct buffer bytes = elf_bytes_make(wide, EM_X86_64, 0, &section, 1);
	CLEANUP(elf_file_release) struct elf_file file;
	struct extents extents;
	assert_int_equal(elf_file_parse(bytes.data, bytes.size, &file, NULL), 0);
	assert_int_equal(extents_read(&file, &extents), 0);
	return extents;
}

static void every_usual_encoding_gives_the_same_extent(void **state)
{
	(void)state;
	static const struct {
		const char *augmentation;
		uint8_t encoding;
	} cases[] = {
		{ "zR", 0x1b },	     { "zPLR", 0x1b }, { "zRS", 0x1b }, { "zLRB", 0x1b },
		{ "zR", 0x03 },	     { "zR", 0x0b },   { "zR", 0x04 },	{ "zR", 0x0c },
		{ "zR", 0x00 },	     { "", 0x00 },     { "zR", 0x01 },	{ "zR", 0x02 },
		{ "zPLRSBG", 0x1c },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CLEANUP(buffer_release) struct buffer frames = { 0 };
		put_cie(&frames, cases[i].augmentation, cases[i].encoding);
		put_fde(&frames, 0, cases[i].encoding, START, SIZE);
		buffer_append_u32(&frames, 0);
		CLEANUP(extents_release) struct extents extents = read_frames(&frames, true);
		assert_int_equal(extents.bad, 0);
		assert_int_equal(extents.count, 1);
		assert_int_equal(extents.list[0].start, START);
		assert_int_equal(extents.list[0].size_bytes, SIZE);
	}
}

static void extents_are_sorted_and_each_there_once(void **state)
{
	(void)state;
	CLEANUP(buffer_release) struct buffer frames = { 0 };
	put_cie(&frames, "zR", 0x1b);
	put_fde(&frames, 0, 0x1b, 0x3000, 8);
	buffer_append_u32(&frames, 0); /* between two input files */
	size_t second = frames.size;
	put_cie(&frames, "zR", 0x03);
	put_fde(&frames, second, 0x03, 0x1000, 16);
	put_fde(&frames, 0, 0x1b, 0x3000, 8);
	put_fde(&frames, 0, 0x1b, 0x2000, 0); /* of no size */
	CLEANUP(extents_release) struct extents extents = read_frames(&frames, true);
	assert_int_equal(extents.bad, 0);
	assert_int_equal(extents.count, 2);
	assert_int_equal(extents.list[0].start, 0x1000);
	assert_int_equal(extents.list[1].start, 0x3000);
}

static void what_makes_no_sense_is_counted(void **state)
{
	(void)state;
	CLEANUP(buffer_release) struct buffer frames = { 0 };
	put_cie(&frames, "zX", 0x1b); /* an unknown letter */
	put_fde(&frames, 0, 0x1b, START, SIZE);
	size_t indirect = frames.size;
	put_cie(&frames, "zR", 0x9b);
	put_fde(&frames, indirect, 0x9b, START, SIZE);
	size_t good = frames.size;
	put_cie(&frames, "zR", 0x04);
	put_fde(&frames, good, 0x04, UINT64_MAX - 1, SIZE); /* wraps */
	put_fde(&frames, good + 1, 0x04, START, SIZE);	    /* its CIE is none */
	put_fde(&frames, good, 0x04, START, SIZE);
	CLEANUP(extents_release) struct extents extents = read_frames(&frames, true);
	assert_int_equal(extents.bad, 4);
	assert_int_equal(extents.count, 1);
	assert_int_equal(extents.list[0].start, START);
}

static void addresses_of_32_bit_files_wrap_at_32_bits(void **state)
{
	(void)state;
	CLEANUP(buffer_release) struct buffer frames = { 0 };
	put_cie(&frames, "zR", 0x1b);
	put_fde(&frames, 0, 0x1b, START, SIZE);
	CLEANUP(extents_release) struct extents extents = read_frames(&frames, false);
	assert_int_equal(extents.count, 1);
	assert_int_equal(extents.list[0].start, START);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_usual_encoding_gives_the_same_extent),
		cmocka_unit_test(extents_are_sorted_and_each_there_once),
		cmocka_unit_test(what_makes_no_sense_is_counted),
		cmocka_unit_test(addresses_of_32_bit_files_wrap_at_32_bits),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
