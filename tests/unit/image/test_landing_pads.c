#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "image/landing_pads.h"

#define LSDA  0x5000
#define START 0x1000

static const struct frame_base base = { LSDA, 0, true };

/* Two call sites that land, one that does not, and the first one's pad again. */
static void put_sites(struct buffer *out, uint8_t encoding, uint64_t shift)
{
	static const uint16_t sites[][3] = {
		{ 0, 5, 0x40 }, { 8, 5, 0 }, { 16, 5, 0x30 }, { 24, 5, 0x40 }
	};
	CLEANUP(buffer_release) struct buffer table = { 0 };
	for (size_t i = 0; i < 4; i++) {
		for (size_t field = 0; field < 3; field++) {
			uint64_t value = sites[i][field];
			if (field == 2 && value)
				value += shift;
			if (encoding == PE_ULEB128)
				buffer_append_varint(&table, value);
			else
				buffer_append_u32(&table, (uint32_t)value);
		}
		buffer_append_varint(&table, 1);
	}
	buffer_append_u8(out, encoding);
	buffer_append_varint(out, table.size);
	buffer_append(out, table.data, table.size);
}

static void assert_two_pads(const struct buffer *lsda)
{
	struct landing_pads pads;
	assert_int_equal(
		landing_pads_read((struct span){ lsda->data, lsda->size }, &base, START, &pads), 0);
	assert_int_equal(pads.count, 2);
	assert_int_equal(pads.list[0], START + 0x30);
	assert_int_equal(pads.list[1], START + 0x40);
	landing_pads_release(&pads);
}

static void pads_count_from_the_function(void **state)
{
	(void)state;
	static const uint8_t encodings[] = { PE_ULEB128, PE_U32 };
	for (size_t i = 0; i < 2; i++) {
		CLEANUP(buffer_release) struct buffer lsda = { 0 };
		buffer_append_u8(&lsda, PE_OMIT);
		buffer_append_u8(&lsda, 0x9b); /* of types, which follow */
		buffer_append_varint(&lsda, 999);
		put_sites(&lsda, encodings[i], 0);
		buffer_append_text(&lsda, "actions and types");
		assert_two_pads(&lsda);
	}
}

static void pads_count_from_where_the_data_says(void **state)
{
	(void)state;
	CLEANUP(buffer_release) struct buffer lsda = { 0 };
	buffer_append_u8(&lsda, PE_RELATIVE_TO_HERE | PE_S32);
	buffer_append_u32(&lsda, (uint32_t)(START - 0x10 - (LSDA + 1)));
	buffer_append_u8(&lsda, PE_OMIT);
	put_sites(&lsda, PE_ULEB128, 0x10);
	assert_two_pads(&lsda);
}

static void cut_and_flipped_data_does_no_harm(void **state)
{
	(void)state;
	CLEANUP(buffer_release) struct buffer lsda = { 0 };
	buffer_append_u8(&lsda, PE_OMIT);
	buffer_append_u8(&lsda, PE_OMIT);
	put_sites(&lsda, PE_ULEB128, 0);
	for (size_t at = 0; at < lsda.size * 9; at++) {
		size_t size = at < lsda.size ? at : lsda.size;
		CLEANUP(free_pointer) uint8_t *exact = malloc(size ? size : 1);
		struct landing_pads pads;
		assert_non_null(exact);
		memcpy(exact, lsda.data, size);
		if (at >= lsda.size)
			exact[(at - lsda.size) / 8] ^= (uint8_t)(1u << at % 8);
		assert_int_equal(
			landing_pads_read((struct span){ exact, size }, &base, START, &pads), 0);
		for (size_t i = 1; i < pads.count; i++)
			assert_true(pads.list[i] > pads.list[i - 1]);
		assert_true(at >= lsda.size || pads.count == 0);
		landing_pads_release(&pads);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pads_count_from_the_function),
		cmocka_unit_test(pads_count_from_where_the_data_says),
		cmocka_unit_test(cut_and_flipped_data_does_no_harm),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
