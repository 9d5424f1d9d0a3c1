/*
 * A walk over a list: nearly all samples stand at the instruction behind the load, and
 * so at another line than the load's. What names a line has to name the load's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "analyze/cycles/charge_table.h"
#include "analyze/cycles/cycles_lines.h"
#include "analyze/report/report_make.h"
#include "annotate_subject.h"
#include "base/count_of.h"
#include "base/error.h"
#include "base/random.h"
#include "symbol/record.h"

#define FIRST 0x1000

static const uint8_t walk[] = {
	0x48, 0x8b, 0x3f,	/* 1000 movq (%rdi), %rdi	line 20 */
	0x48, 0x89, 0xf9,	/* 1003 movq %rdi, %rcx		line 23 */
	0x48, 0x83, 0xe8, 0x01, /* 1006 subq $1, %rax		line 19 */
	0x75, 0xf4,		/* 100a jne 1000 */
	0xc3,			/* 100c retq			line 26 */
};

static void add_lines(struct profile *profile, uint32_t image)
{
	static const struct {
		uint64_t vaddr;
		uint32_t line;
	} rows[] = { { 0x1000, 20 }, { 0x1003, 23 }, { 0x1006, 19 }, { 0x100c, 26 } };
	struct lines_writer writer;
	struct buffer content = { 0 };
	lines_writer_init(&writer, FIRST);
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		lines_writer_row(&writer, rows[i].vaddr, 0, span_of_text("walk.c"), rows[i].line);
	assert_int_equal(lines_writer_finish(&writer, &content), 0);
	lines_writer_release(&writer);
	add_record(profile, image, RECORD_LINES, FIRST, FIRST + sizeof(walk) - 1, &content);
}

static void add_samples(struct profile *profile, const struct profile_event *event, uint32_t image)
{
	/* the one inside an instruction, and those of other code, have nobody to go to */
	static const struct {
		uint64_t vaddr, samples;
	} list[] = { { 0x1003, 1000 }, { 0x1006, 5 }, { 0x1004, 3 }, { 0x2000, 9 } };
	uint32_t id;
	assert_int_equal(profile_add_event(profile, event, &id), 0);
	for (size_t i = 0; i < COUNT_OF(list); i++)
		add_samples_of_period(profile, id, image, list[i].vaddr, list[i].samples, 7);
}

static struct profile *walk_with(const struct profile_event *event, const char *vendor)
{
	uint32_t image;
	struct profile *profile = profile_new();
	const struct profile_image file = { .kind = IMAGE_FILE, .build_id = { "\x01\x02", 2 } };
	const struct profile_source source = { .machine = span_of_text("x86_64"),
					       .cpu_vendor = span_of_text(vendor) };
	assert_int_equal(profile_add_source(profile, &source), 0);
	assert_int_equal(profile_add_image(profile, &file, &image), 0);
	add_function(profile, image, "walk", FIRST, sizeof(walk),
		     (struct span){ walk, sizeof(walk) });
	add_lines(profile, image);
	add_samples(profile, event, image);
	return profile;
}

/* Samples of a line in `report --by line`; of line 0 those whose line is not known. */
static uint64_t reported(const struct report *report, uint32_t line)
{
	uint64_t samples = 0;
	for (size_t i = 0; i < report->row_count; i++)
		if (report->rows[i].line == (line ? optional_of(line) : OPTIONAL_ABSENT))
			samples += report->rows[i].self[0].samples;
	return samples;
}

static uint64_t annotated(const struct annotation *annotation, uint32_t line)
{
	uint64_t samples = 0;
	for (size_t i = 0; i < annotation->line_count; i++)
		if (annotation->lines[i].line == line)
			samples += annotation->lines[i].cells[0].samples;
	return samples;
}

/* What line 20 (the load), 23 (behind it) and 19 have, in both views. */
static void expect(const struct profile_event *event, const char *vendor, uint64_t load,
		   uint64_t behind, uint64_t next)
{
	static const struct annotate_options plain = { .isa = ISA_UNKNOWN };
	static const struct cycles_options cycling = { .isa = ISA_UNKNOWN };
	static const struct report_options by_line = { .parts = { REPORT_LINE }, .part_count = 1 };
	struct annotate_subject subject;
	struct annotation *annotation = NULL;
	struct procedure_cycles *procedure = NULL;
	struct cycles *cycles = NULL;
	struct report *report = NULL;
	struct error err;

	annotate_subject_init(&subject, walk_with(event, vendor));
	assert_int_equal(annotate(subject.index, 0, &plain, &annotation, &err), 0);
	assert_int_equal(cycles_new(subject.index, &cycling, &cycles, &err), 0);
	assert_int_equal(cycles_of_procedure(cycles, 0, &procedure, &err), 0);
	assert_int_equal(cycles_charge_lines(procedure, annotation), 0);
	assert_int_equal(annotation->lines_charged, load > 5);
	assert_int_equal(annotated(annotation, 20), load);
	assert_int_equal(annotated(annotation, 23), behind);
	assert_int_equal(annotated(annotation, 19), next);

	assert_int_equal(report_new(subject.profile, subject.resolver, &by_line, &report, &err), 0);
	assert_int_equal(reported(report, 20), load);
	assert_int_equal(reported(report, 23), behind);
	assert_int_equal(reported(report, 19), next);
	assert_int_equal(reported(report, 0), 9);
	assert_int_equal(report->shown[0].samples, 1017);

	report_free(report);
	annotation_free(annotation);
	procedure_cycles_free(procedure);
	cycles_free(cycles);
	annotate_subject_release(&subject);
}

static struct profile_event clock_event(void)
{
	return (struct profile_event){ .name = span_of_text("cpu-clock"),
				       .unit = span_of_text("ns"),
				       .clock = EVENT_CLOCK,
				       .sampled = 1 };
}

static struct profile_event cycles_event(uint64_t precise)
{
	return (struct profile_event){ .name = span_of_text("cycles"),
				       .unit = span_of_text("cycles"),
				       .precise = precise,
				       .sampled = 1 };
}

static void lines_have_the_samples_of_the_instruction_that_waited(void **state)
{
	(void)state;
	const struct profile_event clock = clock_event(), cycles = cycles_event(0);
	expect(&clock, "AuthenticAMD", 1000, 5 + 3, 0);
	expect(&clock, "GenuineIntel", 1000, 5 + 3, 0);
	expect(&cycles, "GenuineIntel", 1000, 5 + 3, 0);
}

static void precise_events_are_charged_where_they_stand(void **state)
{
	(void)state;
	const struct profile_event pebs = cycles_event(2), constant = cycles_event(1);
	struct profile_event said = cycles_event(0), other = cycles_event(0);
	expect(&pebs, "GenuineIntel", 0, 1003, 5);
	/* on Intel 1 asks for a record behind the instruction, on AMD for IBS, which is exact */
	expect(&constant, "GenuineIntel", 1000, 5 + 3, 0);
	expect(&constant, "AuthenticAMD", 0, 1003, 5);
	said.skid = 1;
	expect(&said, "GenuineIntel", 0, 1003, 5);
	/* late by one, as the file says */
	other.skid = 2;
	expect(&other, "", 1000, 5 + 3, 0);
}

static void a_cell_is_cut_without_a_loss(void **state)
{
	(void)state;
	struct random_state random = random_seed(7);
	for (int round = 0; round < 2000; round++) {
		struct charge charges[6];
		struct cell parts[6], sum = { 0 };
		size_t count = 1 + random_below(&random, COUNT_OF(charges));
		double weights = 0;
		for (size_t i = 0; i < count; i++)
			weights += charges[i].share = 1 + (double)random_below(&random, 1000);
		for (size_t i = 0; i < count; i++)
			charges[i].share /= weights;
		const struct cell cell = { random_below(&random, 12), random_u64(&random) >> 12,
					   random_u64(&random) };
		charge_split(&cell, charges, count, parts);
		for (size_t i = 0; i < count; i++) {
			double wanted = (double)cell.samples * charges[i].share;
			assert_true((double)parts[i].samples < wanted + 1.001 &&
				    (double)parts[i].samples > wanted - 1.001);
			cell_add(&sum, &parts[i]);
		}
		assert_memory_equal(&sum, &cell, sizeof(sum));
	}
}

/* As a sum of squares is that passed 128 bits: no double holds it. */
static void the_largest_cell_is_cut_without_a_loss(void **state)
{
	(void)state;
	static const struct charge charges[] = { { 0x1000, 1 }, { 0x1004, 0 } };
	const struct cell cell = { UINT64_MAX, UINT64_MAX, ~(unsigned __int128)0 };
	const struct cell nothing = { 0 };
	struct cell parts[2];
	charge_split(&cell, charges, 2, parts);
	assert_memory_equal(&parts[0], &cell, sizeof(cell));
	assert_memory_equal(&parts[1], &nothing, sizeof(nothing));
}

static void addresses_have_the_samples_that_stand_there(void **state)
{
	(void)state;
	static const struct report_options by_address = { .parts = { REPORT_ADDRESS },
							  .part_count = 1 };
	const struct profile_event clock = clock_event();
	struct annotate_subject subject;
	struct report *report = NULL;
	struct error err;
	annotate_subject_init(&subject, walk_with(&clock, "AuthenticAMD"));
	assert_int_equal(report_new(subject.profile, subject.resolver, &by_address, &report, &err),
			 0);
	assert_int_equal(report->row_count, 4);
	assert_int_equal(report->rows[0].address, optional_of(0x1003));
	assert_int_equal(report->rows[0].self[0].samples, 1000);
	assert_int_equal(report->rows[1].address, optional_of(0x2000)); /* in no procedure */
	report_free(report);
	annotate_subject_release(&subject);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_have_the_samples_of_the_instruction_that_waited),
		cmocka_unit_test(precise_events_are_charged_where_they_stand),
		cmocka_unit_test(a_cell_is_cut_without_a_loss),
		cmocka_unit_test(the_largest_cell_is_cut_without_a_loss),
		cmocka_unit_test(addresses_have_the_samples_that_stand_there),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
