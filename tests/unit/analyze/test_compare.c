/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/compare/compare.h"
#include "analyze/compare/compare_scope.h"
#include "analyze/names/procedure_name.h"
#include "analyze/names/resolve.h"
#include "base/count_of.h"
#include "base/error.h"
#include "base/random.h"
#include "support/random_profile.h"
#include "support/poisson.h"
#include "support/test_profile.h"

struct made {
	struct resolver *resolvers[2];
	struct comparison *comparison;
	struct error err;
	int ret;
};

static struct made make(const struct profile *before, const struct profile *after,
			struct compare_options options)
{
	struct made made = { 0 };
	const struct resolver_options naming = { .stash_only = true };
	assert_int_equal(resolver_new(before, &naming, &made.resolvers[0], &made.err), 0);
	assert_int_equal(resolver_new(after, &naming, &made.resolvers[1], &made.err), 0);
	const struct compare_side sides[2] = { { before, made.resolvers[0], NULL, 0 },
					       { after, made.resolvers[1], NULL, 0 } };
	if (options.report.part_count == 0)
		options.report.parts[options.report.part_count++] = REPORT_PROCEDURE;
	if (options.fail_above_percent == 0)
		options.fail_above_percent = -1;
	made.ret = compare_new(&sides[0], &sides[1], &options, &made.comparison, &made.err);
	return made;
}

static void done(struct made *made)
{
	compare_free(made->comparison);
	resolver_free(made->resolvers[0]);
	resolver_free(made->resolvers[1]);
}

static const struct compared_row *row_of(const struct comparison *comparison, const char *name)
{
	for (size_t i = 0; i < comparison->row_count; i++) {
		const struct compared_row *row = &comparison->rows[i];
		const struct report_row *shown = row->after ? row->after : row->before;
		if (strcmp(shown->texts[REPORT_PROCEDURE], name) == 0)
			return row;
	}
	fail_msg("no row '%s'", name);
	return NULL;
}

static void assert_row(const struct comparison *comparison, const char *name, enum match_kind match,
		       uint64_t before, uint64_t after)
{
	const struct compared_row *row = row_of(comparison, name);
	if (row->match != match || row->changes[0].before.samples != before ||
	    row->changes[0].after.samples != after)
		fail_msg("%s is matched by %s with %d and %d samples", name,
			 match_kind_names[row->match], (int)row->changes[0].before.samples,
			 (int)row->changes[0].after.samples);
}

/* ---- matching */

static void rows_are_matched_by_build_else_by_name(void **state)
{
	(void)state;
	struct test_profile a = test_profile_new(), b = test_profile_new();
	test_event(&a, "cycles", 1000);
	test_event(&b, "cycles", 1000);
	test_image(&a, IMAGE_FILE, "/bin/same", "\x01\x02");
	test_image(&b, IMAGE_FILE, "/bin/same", "\x01\x02");
	test_flat(&a, "same", 10, 1000);
	test_flat(&b, "same", 11, 1000);
	test_address(&a, 0x100, 3, 1000); /* no symbol */
	test_image(&a, IMAGE_FILE, "/bin/new", "\x03");
	test_image(&b, IMAGE_FILE, "/bin/new", "\x04");
	test_flat(&a, "work.isra.0", 20, 1000);
	test_flat(&b, "work.constprop.7", 21, 1000);
	test_flat(&a, "twin.part.0", 5, 1000);
	test_flat(&a, "twin.part.1", 6, 1000);
	test_flat(&b, "twin", 12, 1000);
	test_address(&a, 0x100, 7, 1000);
	test_address(&b, 0x200, 8, 1000);
	test_flat(&a, "gone", 1, 1000);
	test_image(&a, IMAGE_FILE, "/lib/libz.so.1.1", "\x05");
	test_image(&b, IMAGE_FILE, "/lib/libz.so.1.2", "\x06");
	test_flat(&a, "inflate", 30, 1000);
	test_flat(&b, "inflate", 31, 1000);
	test_image(&a, IMAGE_KERNEL, "[kernel]", "\x07"); /* no symbol at all: one row */
	test_image(&b, IMAGE_KERNEL, "[kernel]", "\x08");
	test_address(&a, 0x10, 2, 1000);
	test_address(&a, 0x20, 2, 1000);
	test_address(&b, 0x30, 3, 1000);
	a.image = b.image = 0;
	test_flat(&a, "bare", 40, 1000);
	test_flat(&b, "bare", 41, 1000);
	struct made made = make(a.profile, b.profile, (struct compare_options){ 0 });
	assert_int_equal(made.ret, 0);
	assert_row(made.comparison, "same", MATCH_SAME_BUILD, 10, 11);
	assert_row(made.comparison, "work.constprop.7", MATCH_OTHER_BUILD, 20, 21);
	assert_row(made.comparison, "twin", MATCH_OTHER_BUILD, 11, 12);
	assert_int_equal(row_of(made.comparison, "twin")->before_count, 2);
	assert_row(made.comparison, "inflate", MATCH_OTHER_IMAGE, 30, 31);
	assert_row(made.comparison, "bare", MATCH_NAMES, 40, 41);
	assert_row(made.comparison, "gone", MATCH_NONE, 1, 0);
	size_t alone = 0, summed = 0;
	for (size_t i = 0; i < made.comparison->row_count; i++) {
		const struct compared_row *row = &made.comparison->rows[i];
		alone += row->match == MATCH_NONE;
		summed += row->match == MATCH_OTHER_BUILD &&
			  strcmp(row->after->texts[REPORT_PROCEDURE], "[no symbol]") == 0;
	}
	assert_int_equal(alone, 2);  /* gone, and what has no symbol in /bin/same */
	assert_int_equal(summed, 2); /* of /bin/new and of the kernel */
	done(&made);
	profile_free(a.profile);
	profile_free(b.profile);
}

/* In another image a name has to be the only one of its side; a build that nobody knows differs
 * from none. */
static void a_name_alone_has_to_be_alone(void **state)
{
	(void)state;
	struct test_profile a = test_profile_new(), b = test_profile_new();
	test_event(&a, "cycles", 1000);
	test_event(&b, "cycles", 1000);
	test_image(&a, IMAGE_FILE, "/bin/one", "\x01");
	test_flat(&a, "main", 10, 1000);
	test_flat(&a, "only", 5, 1000);
	test_image(&a, IMAGE_FILE, "/bin/two", "\x02");
	test_flat(&a, "main", 20, 1000);
	test_image(&a, IMAGE_FILE, "/bin/same", "\x03");
	test_flat(&a, "work", 30, 1000);
	test_image(&b, IMAGE_FILE, "/bin/three", "\x04");
	test_flat(&b, "main", 11, 1000);
	test_flat(&b, "only", 6, 1000);
	test_image(&b, IMAGE_FILE, "/bin/same", NULL);
	test_flat(&b, "work", 31, 1000);
	struct made made = make(a.profile, b.profile, (struct compare_options){ 0 });
	assert_int_equal(made.ret, 0);
	assert_row(made.comparison, "only", MATCH_OTHER_IMAGE, 5, 6);
	assert_row(made.comparison, "work", MATCH_NAMES, 30, 31);
	size_t mains = 0;
	for (size_t i = 0; i < made.comparison->row_count; i++)
		mains += made.comparison->rows[i].match == MATCH_NONE;
	assert_int_equal(mains, 3);
	done(&made);
	profile_free(a.profile);
	profile_free(b.profile);
}

/* What was inlined and is a function now is another thing: its callers have paid for it. */
static void inlined_code_is_no_function(void **state)
{
	(void)state;
	struct test_profile a = test_profile_new(), b = test_profile_new();
	test_event(&a, "cycles", 1000);
	test_event(&b, "cycles", 1000);
	test_inlined_code(&a);
	test_stack_address(&a, 0x150, 5, 1000);
	test_image(&b, IMAGE_FILE, "/bin/app", "\x05");
	test_stack(&b, "outer;inner", 6, 1000);
	struct made made = make(a.profile, b.profile,
				(struct compare_options){ .report = { .view = REPORT_INCLUSIVE } });
	assert_int_equal(made.ret, 0);
	assert_int_equal(made.comparison->row_count, 3);
	assert_row(made.comparison, "outer", MATCH_OTHER_BUILD, 5, 6);
	assert_int_equal(row_of(made.comparison, "inner")->match, MATCH_NONE);
	done(&made);
	profile_free(a.profile);
	profile_free(b.profile);
}

static void processes_are_matched_by_name(void **state)
{
	(void)state;
	struct test_profile sides[2] = { test_profile_new(), test_profile_new() };
	for (int i = 0; i < 2; i++) {
		test_event(&sides[i], "cycles", 1000);
		const struct profile_context who = { .comm = span_of_text("make"),
						     .pid = optional_of(100 + (uint64_t)i) };
		test_context(&sides[i], &who);
		test_image(&sides[i], IMAGE_FILE, "/bin/make", "\x01");
		test_flat(&sides[i], "main", 10, 1000);
	}
	struct made made = make(sides[0].profile, sides[1].profile,
				(struct compare_options){ .report = { .parts = { REPORT_PROCESS },
								      .part_count = 1 } });
	assert_int_equal(made.ret, 0);
	assert_int_equal(made.comparison->row_count, 1);
	assert_int_equal(made.comparison->rows[0].match, MATCH_NAMES);
	done(&made);
	for (int i = 0; i < 2; i++)
		profile_free(sides[i].profile);
}

static void names_end_where_compilers_go_on(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		size_t size;
	} names[] = { { "work", 4 },
		      { "work.isra.0", 4 },
		      { "f(int) [clone .part.0]", 6 },
		      { "a.constprop.1.isra.2", 1 },
		      { "go.func1", 8 },
		      { "", 0 },
		      { ".part.0", 7 } };
	for (size_t i = 0; i < COUNT_OF(names); i++)
		assert_int_equal(procedure_name_own_size(names[i].name), names[i].size);
}

/* Whatever the profiles, each row of a side is in one group, so nothing is lost or doubled. */
static void every_row_is_compared_once(void **state)
{
	(void)state;
	static const enum report_part parts[] = { REPORT_PROCEDURE, REPORT_IMAGE, REPORT_PROCESS,
						  REPORT_THREAD,    REPORT_CPU,	  REPORT_LINE };
	unsigned compared = 0;
	for (uint64_t seed = 1; seed <= 60; seed++) {
		struct profile *a = random_profile_new(seed, RANDOM_KNOWN);
		struct profile *b = random_profile_new(seed + 1, RANDOM_KNOWN);
		struct compare_options options = {
			.report = { .parts = { parts[seed % COUNT_OF(parts)] }, .part_count = 1 }
		};
		struct made made = make(a, b, options);
		if (made.ret != 0) { /* they need not have an event in common */
			assert_true(made.ret == -ENOENT || made.ret == -ENODATA);
			done(&made);
			profile_free(a);
			profile_free(b);
			continue;
		}
		const struct comparison *comparison = made.comparison;
		compared++;
		for (size_t c = 0; c < comparison->column_count; c++) {
			const struct compared_column *column = &comparison->columns[c];
			struct cell sums[2] = { 0 }, wanted[2] = { 0 };
			for (size_t i = 0; i < comparison->row_count; i++) {
				cell_add(&sums[0], &comparison->rows[i].changes[c].before);
				cell_add(&sums[1], &comparison->rows[i].changes[c].after);
			}
			for (size_t i = 0; i < comparison->before->row_count; i++)
				cell_add(&wanted[0],
					 &comparison->before->rows[i].self[column->before]);
			for (size_t i = 0; i < comparison->after->row_count; i++)
				cell_add(&wanted[1],
					 &comparison->after->rows[i].self[column->after]);
			assert_int_equal(sums[0].samples, wanted[0].samples);
			assert_int_equal(sums[1].samples, wanted[1].samples);
		}
		done(&made);
		profile_free(a);
		profile_free(b);
	}
	assert_in_range(compared, 10, 60);
}

/* ---- bases and doubts */

static void times_are_chosen_where_the_command_watches(void **state)
{
	(void)state;
	static const struct {
		const char *command;
		bool chosen;
	} commands[] = {
		{ "culprit record -a", true },
		{ "/usr/bin/culprit record -o x -p 12", true },
		{ "perf record -F 99 -a -g sleep 10", true },
		{ "perf record --pid=7", true },
		{ "culprit record -C0-3 --duration 5s", true },
		{ "culprit record -- tar -a -cf x.tar.gz x", false },
		{ "culprit record make -j2", false },
		{ "perf record -o -a make", false }, /* a file called -a */
		{ "perf record -g -a sleep 10", true },
		{ "perf record --call-graph dwarf -a sleep 10", true },
		{ "simpleperf record -f 1000 -a --duration 10", true },
		{ "perf record -e cycles make -C folder", false }, /* make's -C */
		{ "culprit record -g --no-random make -C folder", false },
		{ "perf record ls -a", false },
		{ "culprit daemon", true },
		{ "", false },
	};
	for (size_t i = 0; i < COUNT_OF(commands); i++) {
		struct scope scope = { .has_source = true,
				       .duration_ns = 1,
				       .first.command = span_of_text(commands[i].command) };
		if (compare_time_was_chosen(&scope) != commands[i].chosen)
			fail_msg("'%s' is taken for the other", commands[i].command);
		scope.duration_ns = 0;
		assert_false(compare_time_was_chosen(&scope));
	}
}

static void counts_without_an_address_are_a_base(void **state)
{
	(void)state;
	struct test_profile sides[2] = { test_profile_new(), test_profile_new() };
	for (int i = 0; i < 2; i++) {
		uint32_t cycles = test_event(&sides[i], "cycles", 1000);
		test_flat(&sides[i], "serve", i ? 3000 : 1000, 1000);
		const struct profile_event requests = { .name = span_of_text("requests"),
							.unit = span_of_text("requests") };
		test_event_full(&sides[i], &requests);
		const struct cell count = { .estimate = i ? 300 : 100 };
		assert_int_equal(profile_add_counter(sides[i].profile, sides[i].event, 0, &count),
				 0);
		assert_true(cycles != sides[i].event);
	}
	struct made made = make(sides[0].profile, sides[1].profile,
				(struct compare_options){ .per = "requests" });
	if (made.ret < 0)
		fail_msg("%s", made.err.text);
	const struct compared_row *row = row_of(made.comparison, "serve");
	assert_int_equal(made.comparison->base, DIFFERENCE_EVENT);
	assert_true(fabs(row->changes[0].change_ratio.value) < 1e-12);
	assert_int_equal(row->changes[0].verdict, DIFFERENCE_NOISE);
	done(&made);
	for (int i = 0; i < 2; i++)
		profile_free(sides[i].profile);
}

/* Two recordings of 100 and 300 samples of serve() and, where asked, of a helper of the same
 * name. */
static struct made make_served(struct test_profile sides[2], const char *commands[2],
			       const char *name, bool twice, const char *per)
{
	for (int i = 0; i < 2; i++) {
		sides[i] = test_profile_new();
		test_event(&sides[i], "cycles", 1000);
		struct profile_source source = { .machine = span_of_text("x86_64"),
						 .command = span_of_text(commands[i]),
						 .duration_ns = i ? 3000000000 : 1000000000 };
		assert_int_equal(profile_add_source(sides[i].profile, &source), 0);
		test_image(&sides[i], IMAGE_FILE, "/bin/server", "\x01");
		test_flat(&sides[i], name, i ? 300 : 100, 1000);
		test_flat(&sides[i], "rest", 100, 1000);
		if (twice) {
			test_image(&sides[i], IMAGE_FILE, "/lib/libserver.so", "\x02");
			test_flat(&sides[i], name, 50, 1000);
		}
	}
	return make(sides[0].profile, sides[1].profile, (struct compare_options){ .per = per });
}

static void done_served(struct made *made, struct test_profile sides[2])
{
	done(made);
	for (int i = 0; i < 2; i++)
		profile_free(sides[i].profile);
}

static void rates_are_compared_where_both_watched(void **state)
{
	(void)state;
	static const char *const watches = "culprit record -a", *const runs = "culprit record make";
	for (int i = 0; i < 4; i++) {
		struct test_profile sides[2];
		const char *commands[2] = { i & 1 ? watches : runs, i & 2 ? watches : runs };
		struct made made = make_served(sides, commands, "serve", false, NULL);
		assert_int_equal(made.ret, 0);
		assert_int_equal(made.comparison->base,
				 i == 3 ? DIFFERENCE_SECOND : DIFFERENCE_RAW);
		done_served(&made, sides);
	}
}

static void one_procedure_is_a_base(void **state)
{
	(void)state;
	const char *commands[2] = { "", "" };
	struct test_profile sides[2];
	struct made made = make_served(sides, commands, "serve(int)", false, "serve");
	assert_int_equal(made.ret, 0);
	assert_int_equal(made.comparison->base, DIFFERENCE_FUNCTION);
	assert_true(fabs(row_of(made.comparison, "rest")->changes[0].change_ratio.value + 2. / 3) <
		    1e-12);
	done_served(&made, sides);
	made = make_served(sides, commands, "serve", true, "serve");
	assert_int_equal(made.ret, -EINVAL);
	assert_string_equal(made.err.text, "'serve' names more than one procedure, in 'server' and "
					   "'libserver.so'; compare by one that is alone");
	done_served(&made, sides);
	made = make_served(sides, commands, "server", false, "serve");
	assert_int_equal(made.ret, -ENOENT);
	done_served(&made, sides);
}

/* By the event itself its total is the same by definition, and rows are its shares. */
static void an_event_may_be_its_own_base(void **state)
{
	(void)state;
	const char *commands[2] = { "", "" };
	struct test_profile sides[2];
	struct made made = make_served(sides, commands, "serve", false, "cycles");
	assert_int_equal(made.ret, 0);
	assert_true(made.comparison->columns[0].whole.p == 1);
	double p = row_of(made.comparison, "serve")->changes[0].p;
	done_served(&made, sides);
	made = make_served(sides, commands, "serve", false, "total");
	assert_true(row_of(made.comparison, "serve")->changes[0].p == p);
	done_served(&made, sides);
}

static bool has_note(const struct comparison *comparison, const char *part)
{
	for (size_t i = 0; i < comparison->note_count; i++)
		if (strstr(comparison->notes[i], part))
			return true;
	return false;
}

static void other_events_and_privileges_are_said(void **state)
{
	(void)state;
	struct test_profile a = test_profile_new(), b = test_profile_new();
	const struct profile_event all = {
		.name = span_of_text("cycles"), .policy = PERIOD_FIXED, .period = 1000, .sampled = 1
	};
	const struct profile_event user = { .name = span_of_text("cycles:u"),
					    .policy = PERIOD_FREQUENCY,
					    .period = 99,
					    .exclude = EXCLUDE_KERNEL,
					    .sampled = 1 };
	test_event_full(&a, &all);
	test_event_full(&b, &user);
	test_flat(&a, "f", 10, 1000);
	test_flat(&b, "f", 10, 1000);
	struct made made = make(a.profile, b.profile, (struct compare_options){ 0 });
	assert_int_equal(made.ret, 0);
	assert_true(has_note(made.comparison, "other event: cycles before, cycles:u after"));
	assert_true(has_note(made.comparison, "user and kernel before, user only after"));
	assert_true(has_note(made.comparison, "other period of cycles: 1000 before, 99 Hz after"));
	done(&made);
	profile_free(a.profile);
	profile_free(b.profile);
}

/* Two recordings of one machine measure periods of their own. */
static void random_periods_may_differ_by_a_quarter(void **state)
{
	(void)state;
	static const struct {
		uint64_t policy, before, after;
		bool other;
	} periods[] = {
		{ PERIOD_RANDOM, 1000, 1000, false }, { PERIOD_RANDOM, 1000, 1250, false },
		{ PERIOD_RANDOM, 1250, 1000, false }, { PERIOD_RANDOM, 1000, 1251, true },
		{ PERIOD_RANDOM, 1251, 1000, true },  { PERIOD_FIXED, 1000, 1000, false },
		{ PERIOD_FIXED, 1000, 1001, true },
	};
	for (size_t i = 0; i < COUNT_OF(periods); i++) {
		struct test_profile sides[2];
		for (int s = 0; s < 2; s++) {
			const struct profile_event event = { .name = span_of_text("cycles"),
							     .policy = periods[i].policy,
							     .period = s ? periods[i].after
									 : periods[i].before,
							     .sampled = 1 };
			sides[s] = test_profile_new();
			test_event_full(&sides[s], &event);
			test_flat(&sides[s], "f", 10, 1000);
		}
		struct made made =
			make(sides[0].profile, sides[1].profile, (struct compare_options){ 0 });
		assert_int_equal(made.ret, 0);
		assert_int_equal(has_note(made.comparison, "other period of cycles"),
				 periods[i].other);
		done(&made);
		for (int s = 0; s < 2; s++)
			profile_free(sides[s].profile);
	}
}

static void decimals_of_both_sides_are_brought_together(void **state)
{
	(void)state;
	struct test_profile a = test_profile_new(), b = test_profile_new();
	const struct profile_event whole = { .name = span_of_text("w") };
	const struct profile_event fine = { .name = span_of_text("w"), .scale = 2 };
	test_event_full(&a, &whole);
	test_event_full(&b, &fine);
	test_flat_cell(&a, "f", &(struct cell){ .estimate = 3 });
	test_flat_cell(&b, "f", &(struct cell){ .estimate = 450 });
	struct made made = make(a.profile, b.profile, (struct compare_options){ 0 });
	assert_int_equal(made.ret, 0);
	const struct difference *change = &row_of(made.comparison, "f")->changes[0];
	assert_true(fabs(change->change_ratio.value - 0.5) < 1e-12);
	assert_int_equal(made.comparison->columns[0].event.step, 100);
	done(&made);
	profile_free(a.profile);
	profile_free(b.profile);
}

static void growth_is_of_the_total_and_not_by_chance(void **state)
{
	(void)state;
	struct test_profile a = test_profile_new(), b = test_profile_new();
	test_event(&a, "cycles", 1000);
	test_event(&b, "cycles", 1000);
	test_flat(&a, "grows", 1000, 1000);
	test_flat(&b, "grows", 1500, 1000);
	test_flat(&a, "rest", 9000, 1000);
	test_flat(&b, "rest", 8000, 1000);
	test_flat(&b, "chance", 3, 1000);
	struct made made =
		make(a.profile, b.profile, (struct compare_options){ .fail_above_percent = 0.01 });
	assert_int_equal(made.comparison->grown_count, 1);
	assert_ptr_equal(made.comparison->grown[0]->after->texts[REPORT_PROCEDURE],
			 row_of(made.comparison, "grows")->after->texts[REPORT_PROCEDURE]);
	assert_true(fabs(made.comparison->grown[0]->growth_percent - 5) < 1e-9);
	assert_false(made.comparison->total_grown);
	done(&made);
	made = make(a.profile, b.profile, (struct compare_options){ .fail_above_percent = 5 });
	assert_int_equal(made.comparison->grown_count, 0); /* it is not above */
	done(&made);
	made = make(a.profile, b.profile, (struct compare_options){ .fail_above_percent = 4.99 });
	assert_int_equal(made.comparison->grown_count, 1);
	done(&made);
	made = make(a.profile, b.profile, (struct compare_options){ .fail_above_percent = 5.01 });
	assert_int_equal(made.comparison->grown_count, 0);
	done(&made);
	profile_free(a.profile);
	profile_free(b.profile);
}

static void small_rows_are_summed_up(void **state)
{
	(void)state;
	struct test_profile a = test_profile_new(), b = test_profile_new();
	test_event(&a, "cycles", 1000);
	test_event(&b, "cycles", 1000);
	test_stack(&a, "main;large", 980, 1000);
	test_stack(&b, "main;large", 940, 1000);
	test_stack(&a, "main;small", 10, 1000);
	test_stack(&b, "main;small", 10, 1000);
	test_stack(&a, "main;grown", 10, 1000);
	test_stack(&b, "main;grown", 50, 1000);
	struct compare_options options = { .min_percent = 2 };
	struct made made = make(a.profile, b.profile, options);
	assert_int_equal(made.ret, 0);
	assert_int_equal(made.comparison->row_count, 2); /* one side is enough */
	assert_int_equal(made.comparison->rest_count, 1);
	assert_non_null(made.comparison->rest);
	assert_int_equal(made.comparison->rest[0].before.samples, 10);
	done(&made);
	/* what functions called is in their callers too: a sum would count it twice */
	options.report.view = REPORT_INCLUSIVE;
	made = make(a.profile, b.profile, options);
	assert_int_equal(made.comparison->row_count, 3);
	assert_int_equal(made.comparison->rest_count, 1);
	assert_null(made.comparison->rest);
	done(&made);
	profile_free(a.profile);
	profile_free(b.profile);
}

/* ---- the claim itself */

/* Two recordings of the same thing: in 95 of 100 comparisons nothing at all is found. */
static void two_recordings_of_one_thing_show_no_change(void **state)
{
	(void)state;
	enum { RUNS = 400, PROCEDURES = 60 };
	struct random_state random = random_seed(77);
	unsigned found = 0;
	for (int run = 0; run < RUNS; run++) {
		struct test_profile sides[2] = { test_profile_new(), test_profile_new() };
		for (int s = 0; s < 2; s++) {
			test_event(&sides[s], "cycles", 1000);
			for (int i = 0; i < PROCEDURES; i++) {
				char name[16];
				snprintf(name, sizeof(name), "f%d", i);
				uint64_t samples = 0;
				for (int part = 0; part <= i % 20; part++) /* means of 1 to 300 */
					samples += poisson(&random, 1 + i % 15);
				test_flat(&sides[s], name, samples, 1000);
			}
		}
		struct made made =
			make(sides[0].profile, sides[1].profile, (struct compare_options){ 0 });
		assert_int_equal(made.ret, 0);
		found += made.comparison->significant > 0;
		done(&made);
		profile_free(sides[0].profile);
		profile_free(sides[1].profile);
	}
	if (found > RUNS * 8 / 100)
		fail_msg("%u of %d comparisons of the same show a change", found, (int)RUNS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_are_matched_by_build_else_by_name),
		cmocka_unit_test(a_name_alone_has_to_be_alone),
		cmocka_unit_test(inlined_code_is_no_function),
		cmocka_unit_test(processes_are_matched_by_name),
		cmocka_unit_test(names_end_where_compilers_go_on),
		cmocka_unit_test(every_row_is_compared_once),
		cmocka_unit_test(times_are_chosen_where_the_command_watches),
		cmocka_unit_test(counts_without_an_address_are_a_base),
		cmocka_unit_test(rates_are_compared_where_both_watched),
		cmocka_unit_test(one_procedure_is_a_base),
		cmocka_unit_test(an_event_may_be_its_own_base),
		cmocka_unit_test(other_events_and_privileges_are_said),
		cmocka_unit_test(random_periods_may_differ_by_a_quarter),
		cmocka_unit_test(decimals_of_both_sides_are_brought_together),
		cmocka_unit_test(growth_is_of_the_total_and_not_by_chance),
		cmocka_unit_test(small_rows_are_summed_up),
		cmocka_unit_test(two_recordings_of_one_thing_show_no_change),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
