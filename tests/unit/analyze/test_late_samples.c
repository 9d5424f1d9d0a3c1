/*
 * Samples that waited until interrupts came back on: report, annotation and summary count the
 * same ones.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "analyze/cycles/cycles.h"
#include "analyze/culprits/summary.h"
#include "analyze/report/report_make.h"
#include "annotate_subject.h"
#include "base/cleanup.h"
#include "base/error.h"

#define PERIOD 1000000

/* 0 push %rbp; 1 sti; 2 nopl; 7 mov 8(%rbx),%rax; b ret */
static const uint8_t enables[] = {
	0x55, 0xfb, 0x0f, 0x1f, 0x44, 0, 0, 0x48, 0x8b, 0x43, 0x08, 0xc3
};
#define ENABLED_AT 7
/* 0 push %rbp; 1 test %esi,%esi; 3 pop %rbp; 4 ret */
static const uint8_t enables_not[] = { 0x55, 0x85, 0xf6, 0x5d, 0xc3 };

struct subject {
	struct annotate_subject names;
	uint32_t time;
};

/* 36 of 40 late in do_syscall_64, 3 of 13 in read, all 5 of what has the name and no code. */
static void subject_init(struct subject *subject, const char *machine, enum event_clock clock)
{
	struct profile *profile = profile_new();
	const struct profile_source source = { .machine = span_of_text(machine) };
	const struct profile_image kernel = { .kind = IMAGE_KERNEL, .build_id = { "\x03\x04", 2 } };
	const struct profile_image file = { .kind = IMAGE_FILE, .build_id = { "\x01\x02", 2 } };
	const struct profile_event event = { .name = span_of_text("cpu-clock"),
					     .unit = span_of_text("ns"),
					     .clock = clock,
					     .policy = PERIOD_FIXED,
					     .period = PERIOD,
					     .sampled = 1 };
	const struct span code = { enables, sizeof(enables) };
	uint32_t text, program;
	assert_non_null(profile);
	assert_int_equal(profile_add_source(profile, &source), 0);
	assert_int_equal(profile_add_image(profile, &kernel, &text), 0);
	assert_int_equal(profile_add_image(profile, &file, &program), 0);
	assert_int_equal(profile_add_event(profile, &event, &subject->time), 0);
	add_function(profile, text, "do_syscall_64", 0x1000, sizeof(enables), code);
	add_samples_of_period(profile, subject->time, text, 0x1000 + ENABLED_AT, 36, PERIOD);
	add_samples_of_period(profile, subject->time, text, 0x1000, 4, PERIOD);
	add_function(profile, text, "read", 0x2000, sizeof(enables), code);
	add_samples_of_period(profile, subject->time, text, 0x2000 + ENABLED_AT, 3, PERIOD);
	add_samples_of_period(profile, subject->time, text, 0x2000 + ENABLED_AT + 4, 10, PERIOD);
	add_function(profile, text, "_raw_spin_unlock_irqrestore", 0x3000, 16,
		     (struct span){ NULL, 0 });
	add_samples_of_period(profile, subject->time, text, 0x3004, 5, PERIOD);
	/* its name says so, its code does not */
	add_function(profile, text, "_raw_spin_unlock_irq", 0x4000, sizeof(enables_not),
		     (struct span){ enables_not, sizeof(enables_not) });
	add_samples_of_period(profile, subject->time, text, 0x4003, 7, PERIOD);
	/* a program's own */
	add_function(profile, program, "_raw_spin_unlock_irqrestore", 0x1000, sizeof(enables),
		     code);
	add_samples_of_period(profile, subject->time, program, 0x1000 + ENABLED_AT, 11, PERIOD);
	annotate_subject_init(&subject->names, profile);
}

static void subject_release(struct subject *subject)
{
	annotate_subject_release(&subject->names);
}

/* Of all annotations. */
static uint64_t annotated_late(const struct subject *subject, uint64_t *of)
{
	uint64_t late = 0;
	*of = 0;
	for (size_t i = 0; i < subject->names.index->count; i++) {
		CLEANUP(annotation_freep) struct annotation *annotation = NULL;
		assert_int_equal(annotate(subject->names.index, i, &(struct annotate_options){ 0 },
					  &annotation, NULL),
				 0);
		late += annotation->late_samples;
		*of += annotation->late_of;
	}
	return late;
}

static const struct report_row *row_of(const struct report *report, const char *name)
{
	for (size_t i = 0; i < report->row_count; i++)
		if (strcmp(report->rows[i].texts[REPORT_PROCEDURE], name) == 0)
			return &report->rows[i];
	fail_msg("no row of %s", name);
	return NULL;
}

static bool is_marked(const struct report *report, const char *name)
{
	return row_of(report, name)->marks & PLACE_LATE;
}

static struct report *report_of(const struct subject *subject)
{
	struct report *report = NULL;
	struct error err = { 0 };
	const struct report_options options = { .parts = { REPORT_PROCEDURE }, .part_count = 1 };
	if (report_new(subject->names.profile, subject->names.resolver, &options, &report, &err) <
	    0)
		fail_msg("%s", err.text);
	return report;
}

static void what_stands_behind_sti_waited(void **state)
{
	(void)state;
	CLEANUP(subject_release) struct subject subject = { 0 };
	uint64_t of;
	subject_init(&subject, "x86_64", EVENT_CLOCK);
	CLEANUP(report_freep) struct report *report = report_of(&subject);
	assert_int_equal(report->scope.late_samples, 36 + 3 + 5);
	assert_int_equal(report->scope.late_of, 76);
	assert_int_equal(report->scope.late_count, 3);
	assert_string_equal(places_procedure(report->places, report->scope.late[0].procedure)->name,
			    "do_syscall_64");
	assert_int_equal(report->scope.late[0].samples, 36);
	assert_true(is_marked(report, "do_syscall_64"));
	assert_false(is_marked(report, "read")); /* most of its samples are its own */
	assert_false(is_marked(report, "_raw_spin_unlock_irq"));
	assert_int_equal(annotated_late(&subject, &of), 36 + 3 + 5);
	assert_int_equal(of, 76);
}

static void an_nmi_does_not_wait(void **state)
{
	(void)state;
	CLEANUP(subject_release) struct subject subject = { 0 };
	uint64_t of;
	subject_init(&subject, "x86_64", EVENT_COUNTED);
	CLEANUP(report_freep) struct report *report = report_of(&subject);
	assert_int_equal(report->scope.late_samples, 0);
	assert_int_equal(report->scope.late_of, 0);
	for (size_t i = 0; i < report->row_count; i++)
		assert_false(report->rows[i].marks & PLACE_LATE);
	assert_int_equal(annotated_late(&subject, &of), 0);
	assert_int_equal(of, 0);
}

/* Where the instruction set is not known, names are all there is. */
static void without_code_names_tell(void **state)
{
	(void)state;
	CLEANUP(subject_release) struct subject subject = { 0 };
	subject_init(&subject, "riscv64", EVENT_CLOCK);
	CLEANUP(report_freep) struct report *report = report_of(&subject);
	assert_int_equal(report->scope.late_samples, 5 + 7);
	assert_true(is_marked(report, "_raw_spin_unlock_irq"));
	assert_false(is_marked(report, "do_syscall_64"));
}

static void a_summary_takes_them_out(void **state)
{
	(void)state;
	CLEANUP(subject_release) struct subject subject = { 0 };
	CLEANUP(cycles_freep) struct cycles *cycles = NULL;
	CLEANUP(summary_freep) struct summary *summary = NULL;
	uint32_t positions[] = { 0, 1, 2, 3, 4 };
	struct error err = { 0 };
	subject_init(&subject, "x86_64", EVENT_CLOCK);
	assert_int_equal(subject.names.index->count, 5);
	if (cycles_new(subject.names.index, &(struct cycles_options){ .pipeline = "zen5" }, &cycles,
		       &err) < 0 ||
	    summary_new(cycles, positions, 5, &(struct summary_options){ 0 }, &summary, &err) < 0)
		fail_msg("%s", err.text);
	/* of procedures whose samples mostly are: do_syscall_64, and the one of the name */
	assert_true(summary->late_cycles == (36 + 5) * (double)PERIOD);
	assert_true(summary->total == 76 * (double)PERIOD);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_stands_behind_sti_waited),
		cmocka_unit_test(an_nmi_does_not_wait),
		cmocka_unit_test(without_code_names_tell),
		cmocka_unit_test(a_summary_takes_them_out),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
