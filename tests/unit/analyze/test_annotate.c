#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "analyze/code/annotate.h"
#include "analyze/names/profile_isa.h"
#include "annotate_subject.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/random.h"
#include "profile/stash.h"
#include "support/random_profile.h"

/* A function of random bytes with samples at random addresses of it, and a little outside. */
static struct profile *random_code(uint64_t seed, const char *machine)
{
	struct random_state random = random_seed(seed);
	struct profile *profile = profile_new();
	uint32_t events[2], image;
	uint8_t bytes[400];
	const struct profile_source source = { .machine = span_of_text(machine) };
	const struct profile_image file = { .kind = IMAGE_FILE, .build_id = { "\x01\x02", 2 } };
	assert_non_null(profile);
	for (int i = 0; i < 2; i++) {
		const struct profile_event event = { .name = span_of_text(i ? "b" : "a"),
						     .unit = span_of_text("events"),
						     .sampled = 1 };
		assert_int_equal(profile_add_event(profile, &event, &events[i]), 0);
	}
	assert_int_equal(profile_add_source(profile, &source), 0);
	assert_int_equal(profile_add_image(profile, &file, &image), 0);
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)random_u64(&random);
	size_t known = 1 + random_below(&random, sizeof(bytes)); /* the code may end early */
	add_function(profile, image, "f", 0x1000, sizeof(bytes), (struct span){ bytes, known });
	for (int i = 0; i < 150; i++) {
		const struct profile_frame leaf = { .image = image,
						    .vaddr = 0x0ff0 + random_below(&random, 440) };
		uint64_t samples = 1 + random_below(&random, 9);
		const struct cell cell = { samples, samples * 7, samples * 49 };
		assert_int_equal(profile_add_flat(profile, events[random_below(&random, 2)], 0,
						  &leaf, &cell),
				 0);
	}
	return profile;
}

static struct annotation *annotation_of(const struct annotate_subject *subject, size_t position)
{
	static const struct annotate_options options = { .isa = ISA_UNKNOWN };
	struct annotation *annotation = NULL;
	struct error err;
	if (annotate(subject->index, position, &options, &annotation, &err) < 0)
		fail_msg("%s", err.text);
	return annotation;
}

/* Rows and lines tally with the procedure; rows rise; no address has two rows. */
static void expect_tally(const struct annotate_subject *subject,
			 const struct annotation *annotation)
{
	for (size_t c = 0; c < subject->columns.count; c++) {
		struct cell rows = { 0 }, lines = { 0 };
		const struct cell *whole = &annotation->procedure->cells[c];
		for (size_t i = 0; i < annotation->row_count; i++)
			cell_add(&rows, &annotation->rows[i].cells[c]);
		for (size_t i = 0; i < annotation->line_count; i++)
			cell_add(&lines, &annotation->lines[i].cells[c]);
		assert_memory_equal(&rows, whole, sizeof(rows));
		assert_memory_equal(&lines, whole, sizeof(lines));
	}
	for (size_t i = 1; i < annotation->row_count; i++)
		assert_true(annotation->rows[i - 1].vaddr < annotation->rows[i].vaddr);
}

static void every_sample_has_a_row_whatever_the_code(void **state)
{
	(void)state;
	static const char *const machines[] = { "x86_64", "i686", "aarch64", "riscv64" };
	for (uint64_t seed = 1; seed <= 200; seed++) {
		struct annotate_subject subject;
		annotate_subject_init(&subject, random_code(seed, machines[seed % 4]));
		struct cell sum[2] = { 0 }, flat[2] = { 0 };
		for (size_t p = 0; p < subject.index->count; p++) {
			struct annotation *annotation = annotation_of(&subject, p);
			expect_tally(&subject, annotation);
			for (size_t c = 0; c < 2; c++)
				cell_add(&sum[c], &annotation->procedure->cells[c]);
			annotation_free(annotation);
		}
		const struct table *table = profile_table(subject.profile, PROFILE_FLAT);
		for (size_t row = 0; row < table->count; row++) {
			struct cell cell = cell_of_values(table_values(table, row));
			uint32_t column =
				subject.columns.of_event[table_keys(table, row)[FLAT_EVENT]];
			cell_add(&flat[column], &cell);
		}
		assert_memory_equal(sum, flat, sizeof(sum));
		annotate_subject_release(&subject);
	}
}

static void any_profile_can_be_annotated(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 60; seed++) {
		struct annotate_subject subject;
		annotate_subject_init(
			&subject,
			random_profile_new(seed, seed & 1 ? RANDOM_KNOWN : RANDOM_WITH_STRANGERS));
		for (size_t p = 0; p < subject.index->count; p++) {
			struct annotation *annotation = annotation_of(&subject, p);
			expect_tally(&subject, annotation);
			assert_non_null(annotation->no_code);
			annotation_free(annotation);
		}
		annotate_subject_release(&subject);
	}
}

static void addresses_inside_an_instruction_follow_it(void **state)
{
	(void)state;
	struct profile *profile = profile_new();
	uint32_t event, image;
	const struct profile_event clock = { .name = span_of_text("clock"), .sampled = 1 };
	const struct profile_source source = { .machine = span_of_text("x86_64") };
	const struct profile_image file = { .kind = IMAGE_FILE, .build_id = { "\x01\x02", 2 } };
	assert_int_equal(profile_add_event(profile, &clock, &event), 0);
	assert_int_equal(profile_add_source(profile, &source), 0);
	assert_int_equal(profile_add_image(profile, &file, &image), 0);
	add_function(profile, image, "f", 0x10, 8,
		     (struct span){ "\x48\x83\xc7\x04\xeb\xfa\xc3", 7 });
	for (uint64_t vaddr = 0x10; vaddr <= 0x17; vaddr++) {
		const struct profile_frame leaf = { .image = image, .vaddr = vaddr };
		const struct cell cell = { vaddr, vaddr, vaddr };
		assert_int_equal(profile_add_flat(profile, event, 0, &leaf, &cell), 0);
	}
	struct annotate_subject subject;
	annotate_subject_init(&subject, profile);
	struct annotation *annotation = annotation_of(&subject, 0);
	static const struct {
		uint64_t vaddr;
		enum annotated_kind kind;
		const char *mnemonic;
	} wanted[] = {
		{ 0x10, ANNOTATED_INSTRUCTION, "addq" }, { 0x11, ANNOTATED_INSIDE, NULL },
		{ 0x12, ANNOTATED_INSIDE, NULL },	 { 0x13, ANNOTATED_INSIDE, NULL },
		{ 0x14, ANNOTATED_INSTRUCTION, "jmp" },	 { 0x15, ANNOTATED_INSIDE, NULL },
		{ 0x16, ANNOTATED_INSTRUCTION, "retq" }, { 0x17, ANNOTATED_ADDRESS, NULL },
	};
	assert_int_equal(annotation->row_count, 8);
	assert_int_equal(annotation->instructions, 3);
	for (size_t i = 0; i < 8; i++) {
		const struct annotated_row *row = &annotation->rows[i];
		assert_int_equal(row->vaddr, wanted[i].vaddr);
		assert_int_equal(row->kind, wanted[i].kind);
		assert_int_equal(row->cells[0].samples, row->vaddr);
		if (wanted[i].mnemonic)
			assert_string_equal(row->mnemonic, wanted[i].mnemonic);
	}
	assert_true(annotation->rows[4].target_here);
	assert_int_equal(annotation->rows[4].target, 0x10);
	assert_int_equal(annotation->rows[4].target_offset_bytes, 0);
	annotation_free(annotation);
	annotate_subject_release(&subject);
}

static void the_last_address_of_all_has_a_row(void **state)
{
	(void)state;
	struct profile *profile = profile_new();
	uint32_t event;
	const struct profile_event clock = { .name = span_of_text("clock"), .sampled = 1 };
	const struct profile_frame leaf = { .vaddr = UINT64_MAX };
	const struct cell cell = { 3, 3, 3 };
	assert_int_equal(profile_add_event(profile, &clock, &event), 0);
	assert_int_equal(profile_add_flat(profile, event, 0, &leaf, &cell), 0);
	struct annotate_subject subject;
	annotate_subject_init(&subject, profile);
	struct annotation *annotation = annotation_of(&subject, 0);
	expect_tally(&subject, annotation);
	assert_int_equal(annotation->row_count, 1);
	assert_true(annotation->rows[0].vaddr == UINT64_MAX);
	annotation_free(annotation);
	annotate_subject_release(&subject);
}

static void the_instruction_set_is_that_of_all_sources_or_unknown(void **state)
{
	(void)state;
	static const char *const machines[] = { "x86_64", "x86_64", "aarch64" };
	static const enum isa wanted[] = { ISA_X86_64, ISA_X86_64, ISA_UNKNOWN };
	CLEANUP(profile_freep) struct profile *profile = profile_new();
	assert_int_equal(profile_isa(profile), ISA_UNKNOWN);
	for (uint64_t i = 0; i < 3; i++) {
		const struct profile_source source = { .machine = span_of_text(machines[i]),
						       .epoch = i };
		assert_int_equal(profile_add_source(profile, &source), 0);
		assert_int_equal(profile_isa(profile), wanted[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_sample_has_a_row_whatever_the_code),
		cmocka_unit_test(any_profile_can_be_annotated),
		cmocka_unit_test(addresses_inside_an_instruction_follow_it),
		cmocka_unit_test(the_last_address_of_all_has_a_row),
		cmocka_unit_test(the_instruction_set_is_that_of_all_sources_or_unknown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
