#include <math.h>
#include <stdio.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "../analyze/annotate_subject.h"
#include "analyze/cycles/cfg_view.h"
#include "base/cleanup.h"
#include "base/count_of.h"
#include "base/error.h"
#include "profile/stash.h"
#include "render/cfg_svg.h"

#define FIRST  0x1000u
#define PERIOD 1000u

/*
 * A loop with a condition in it, then an indirect jump whose targets nobody knows, then padding:
 *   0 test %rax,%rax   3 jz 8   5 inc %rbx   8 dec %rcx   11 jnz 0   13 jmp *(%rdi,%rax,8)   16 nop
 */
static const uint8_t code[] = { 0x48, 0x85, 0xc0, 0x74, 0x03, 0x48, 0xff, 0xc3, 0x48,
				0xff, 0xc9, 0x75, 0xf3, 0xff, 0x24, 0xc7, 0x90 };
static const uint64_t offsets[] = { 0, 3, 5, 8, 11 };
static const uint64_t samples[] = { 1000, 1000, 400, 1000, 1000 };

struct subject {
	struct annotate_subject names;
	struct cycles *cycles;
	struct procedure_cycles *procedure;
	struct cfg_view view;
	struct buffer page;
};

static void subject_release(struct subject *subject)
{
	buffer_release(&subject->page);
	cfg_view_release(&subject->view);
	procedure_cycles_free(subject->procedure);
	cycles_free(subject->cycles);
	annotate_subject_release(&subject->names);
}

static struct profile *profile_of(const char *name)
{
	const struct profile_event event = { .name = span_of_text("instructions"),
					     .unit = span_of_text("instructions"),
					     .policy = PERIOD_FIXED,
					     .period = PERIOD,
					     .precise = 2,
					     .sampled = 1 };
	uint32_t image, id;
	struct profile *profile = profile_of_code(name, FIRST, code, sizeof(code), &image);
	assert_int_equal(profile_add_event(profile, &event, &id), 0);
	for (size_t i = 0; i < COUNT_OF(samples); i++)
		add_samples_of_period(profile, id, image, FIRST + offsets[i], samples[i], PERIOD);
	return profile;
}

static void draw(struct subject *subject, const char *name, size_t limit,
		 void (*write)(const struct cfg_picture *, struct buffer *))
{
	const struct cycles_options options = { .pipeline = NULL };
	struct error err = { 0 };
	annotate_subject_init(&subject->names, profile_of(name));
	if (cycles_new(subject->names.index, &options, &subject->cycles, &err) < 0 ||
	    cycles_of_procedure(subject->cycles, 0, &subject->procedure, &err) < 0 ||
	    cfg_view_init(&subject->view, subject->procedure, subject->names.resolver,
			  ISA_SYNTAX_ATT, limit, &err) < 0)
		fail_msg("%s", err.text);
	const struct cfg_picture picture = { .view = &subject->view,
					     .colour = cfg_default_colour(subject->procedure),
					     .source = "t.prof",
					     .event = "instructions",
					     .instructions = 12 };
	write(&picture, &subject->page);
	assert_false(buffer_failed(&subject->page));
}

static size_t count(struct subject *subject, const char *word)
{
	size_t found = 0;
	for (const char *at = buffer_text(&subject->page); (at = strstr(at, word)); at++)
		found++;
	return found;
}

static void every_block_and_way_is_drawn(void **state)
{
	(void)state;
	CLEANUP(subject_release) struct subject subject = { 0 };
	draw(&subject, "sum", 0, cfg_svg);
	/* the padding is no block of the picture */
	assert_int_equal(subject.procedure->cfg.graph.block_count, 5);
	assert_int_equal(subject.view.padding, 1);
	assert_int_equal(count(&subject, "<g class=\"block\">"), 4);
	assert_int_equal(count(&subject, "<g class=\"edge\">"), 5);
	assert_int_equal(count(&subject, "url(#back)"), 1);
	assert_int_equal(count(&subject, "loop, depth 1"), 1);
	assert_int_equal(count(&subject, "ways are missing: "), 1);
	assert_int_equal(count(&subject, "shown: the"), 0);
	assert_int_equal(count(&subject, "jne +0x0"), 1);
	assert_int_equal(count(&subject, "prefers-color-scheme:dark"), 1);
}

/* The entry and the hottest stay; what is missing is said above and at its neighbours. */
static void a_large_graph_is_cut_and_says_so(void **state)
{
	(void)state;
	CLEANUP(subject_release) struct subject subject = { 0 };
	draw(&subject, "sum", 2, cfg_svg);
	assert_int_equal(subject.view.count, 2);
	assert_int_equal(subject.view.blocks[0], 0);
	assert_int_equal(count(&subject, "<g class=\"block\">"), 2);
	assert_int_equal(count(&subject, "shown: the 2 blocks"), 1);
	assert_true(count(&subject, "that are not shown") >= 1);
}

static void names_stay_text(void **state)
{
	(void)state;
	CLEANUP(subject_release) struct subject svg = { 0 };
	CLEANUP(subject_release) struct subject dot = { 0 };
	draw(&svg, "a<b>&\"c\x01", 0, cfg_svg);
	assert_int_equal(count(&svg, "a<b>"), 0);
	assert_true(count(&svg, "a&lt;b&gt;&amp;") >= 2);
	assert_int_equal(count(&svg, "\x01"), 0);
	draw(&dot, "a\"b\\c\n", 0, cfg_dot);
	assert_int_equal(count(&dot, "digraph \"a\\\"b\\\\c\\\\x0a\""), 1);
}

static void a_loop_says_how_often_it_went_around(void **state)
{
	(void)state;
	CLEANUP(subject_release) struct subject subject = { 0 };
	draw(&subject, "sum", 0, cfg_json);
	const struct procedure_cycles *procedure = subject.procedure;
	assert_int_equal(procedure->loops.count, 1);
	double entered = 0;
	for (size_t e = 0; e < procedure->cfg.graph.edge_count; e++)
		if (procedure->cfg.graph.edges[e].kind == FLOW_ENTRY)
			entered += procedure->frequencies.edges[e].value;
	double rounds = procedure->frequencies.blocks[0].value / entered;
	const struct estimate found = cfg_view_rounds(procedure, 0);
	assert_true(fabs(found.value / rounds - 1) < 1e-9);
	assert_true(found.low >= 1 && found.low < rounds && found.high > rounds);
	CLEANUP(subject_release) struct subject drawn = { 0 };
	draw(&drawn, "sum", 0, cfg_svg);
	/* its one entry has no samples of its own: not "about", and never a bare number */
	assert_int_equal(count(&drawn, ", at least ") + count(&drawn, ", rounds unknown"), 1);
	assert_int_equal(count(&drawn, "about "), 0);
	assert_int_equal(count(&subject, "\"back\":true"), 1);
	assert_int_equal(count(&subject, "\"loop_header\":\"0x1000\""), 3);
}

/* As those of C++ are. */
static void a_long_name_has_room(void **state)
{
	(void)state;
	CLEANUP(subject_release) struct subject subject = { 0 };
	char name[201];
	double width = 0;
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = 0;
	draw(&subject, name, 0, cfg_svg);
	const char *at = strstr(buffer_text(&subject.page), " width=\"");
	assert_non_null(at);
	assert_int_equal(sscanf(at, " width=\"%lf\"", &width), 1);
	assert_true(width >= 200 * 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_block_and_way_is_drawn),
		cmocka_unit_test(a_large_graph_is_cut_and_says_so),
		cmocka_unit_test(names_stay_text),
		cmocka_unit_test(a_long_name_has_room),
		cmocka_unit_test(a_loop_says_how_often_it_went_around),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
