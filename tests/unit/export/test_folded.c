#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <errno.h>

#include "analyze/names/resolve.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/random.h"
#include "export/folded.h"
#include "export/sink.h"
#include "import/formats.h"
#include "profile/profile.h"
#include "profile/stash.h"
#include "support/imported.h"
#include "support/random_profile.h"

static const struct resolver_options stash_only = { .stash_only = true };

static void columns_of(struct event_columns *columns, const struct profile *profile)
{
	struct error err = { 0 };
	if (event_columns_init(columns, profile, NULL, 0, &err) < 0)
		fail_msg("%s", err.text);
}

static int append_bytes(void *out, const void *bytes, size_t size)
{
	buffer_append(out, bytes, size);
	return buffer_failed(out) ? -ENOMEM : 0;
}

static int export_column(const struct profile *profile, size_t column,
			 const struct export_options *options, struct buffer *out,
			 struct export_sums *sums, struct error *err)
{
	CLEANUP(resolver_freep) struct resolver *resolver = NULL;
	CLEANUP(event_columns_release) struct event_columns columns;
	columns_of(&columns, profile);
	assert_int_equal(resolver_new(profile, &stash_only, &resolver, NULL), 0);
	const struct export_input input = { .profile = profile,
					    .resolver = resolver,
					    .columns = &columns,
					    .chosen = &column,
					    .chosen_count = 1,
					    .options = *options };
	CLEANUP(sink_release) struct sink sink;
	sink_init(&sink, append_bytes, out);
	int ret = exporter_folded.write(&input, &sink, sums, err);
	return ret < 0 ? ret : sink_finish(&sink);
}

static void must_export(const struct profile *profile, size_t column,
			const struct export_options *options, struct buffer *out,
			struct export_sums *sums)
{
	struct error err = { 0 };
	if (export_column(profile, column, options, out, sums, &err) < 0)
		fail_msg("%s", err.text);
}

static struct profile *must_import(struct span text)
{
	static const struct import_options options = { .one_count = true };
	struct profile *profile = NULL;
	struct error err = { 0 };
	if (imported(&importer_folded, text, SIZE_MAX, &options, &profile, &err) < 0)
		fail_msg("%s", err.text);
	return profile;
}

static const struct export_options plain = { .count = EXPORT_ESTIMATES };

static void expect_text(const struct profile *profile, const struct export_options *options,
			const char *wanted)
{
	CLEANUP(buffer_release) struct buffer out = { 0 };
	struct export_sums sums;
	must_export(profile, 0, options, &out, &sums);
	assert_string_equal(buffer_text(&out), wanted);
}

/* A profile of two commands, a kernel, an unknown image and inlined code; names come from its
 * stash. */
struct example {
	struct profile *profile;
	uint32_t event, commands[2], program, kernel, jit;
};

static void must(int ret)
{
	assert_int_equal(ret, 0);
}

static void stash_function(struct example *example, uint32_t image, uint64_t first, uint64_t last,
			   const char *name)
{
	CLEANUP(buffer_release) struct buffer content = { 0 };
	const struct function_record function = { .name = span_of_text(name) };
	record_put_function(&content, first, &function);
	const struct record record = {
		RECORD_FUNCTION, first, last, { content.data, content.size }
	};
	must(stash_add(example->profile, image, &record, NULL));
}

static void stash_inlined(struct example *example)
{
	CLEANUP(buffer_release) struct buffer content = { 0 };
	CLEANUP(lines_writer_release) struct lines_writer writer;
	lines_writer_init(&writer, 0x1000);
	lines_writer_row(&writer, 0x1000, 0, span_of_text("/src/main.c"), 3);
	uint32_t outer = lines_writer_inline(&writer, 0, span_of_text("each"),
					     span_of_text("/src/main.c"), 4);
	uint32_t inner = lines_writer_inline(&writer, outer, span_of_text("step;one"),
					     span_of_text("/src/each.h"), 9);
	lines_writer_row(&writer, 0x1010, inner, span_of_text("/src/step.h"), 1);
	must(lines_writer_finish(&writer, &content));
	const struct record record = {
		RECORD_LINES, 0x1000, 0x10ff, { content.data, content.size }
	};
	must(stash_add(example->profile, example->program, &record, NULL));
}

static uint32_t node(struct example *example, uint32_t parent, uint32_t image, uint64_t vaddr)
{
	const struct profile_frame frame = { .image = image, .vaddr = vaddr };
	uint32_t id;
	must(profile_add_node(example->profile, parent, &frame, &id));
	return id;
}

static void sample(struct example *example, uint32_t command, uint32_t stack, uint64_t samples)
{
	const struct cell cell = { samples, samples * 1000, samples * 1000000 };
	const struct profile_frame leaf = profile_node(example->profile, stack, NULL);
	must(profile_add_stack(example->profile, example->event, command, stack, &cell));
	must(profile_add_flat(example->profile, example->event, command, &leaf, &cell));
}

static struct example example_new(void)
{
	struct example example = { .profile = profile_new() };
	const struct profile_event event = { .name = span_of_text("cpu-clock"),
					     .unit = span_of_text("ns"),
					     .clock = EVENT_CLOCK,
					     .sampled = 1 };
	const struct profile_image program = { .kind = IMAGE_FILE,
					       .build_id = { "\x12\x34\x56\x78", 4 } };
	const struct profile_image kernel = { .kind = IMAGE_KERNEL,
					      .space = SPACE_TEXT,
					      .build_id = { "\x9a\xbc", 2 } };
	const struct profile_image jit = { .kind = IMAGE_JIT,
					   .space = SPACE_PROCESS,
					   .name = span_of_text("perf-12.map") };
	const struct profile_context commands[] = {
		{ .comm = span_of_text("one;odd"), .pid = optional_of(12), .tid = optional_of(13) },
		{ .comm = span_of_text("two") },
	};
	must(profile_add_event(example.profile, &event, &example.event));
	must(profile_add_image(example.profile, &program, &example.program));
	must(profile_add_path(example.profile, example.program, span_of_text("/bin/program")));
	must(profile_add_image(example.profile, &kernel, &example.kernel));
	must(profile_add_image(example.profile, &jit, &example.jit));
	for (int i = 0; i < 2; i++)
		must(profile_add_context(example.profile, &commands[i], &example.commands[i]));
	stash_function(&example, example.program, 0x1000, 0x10ff, "main");
	stash_function(&example, example.kernel, 0x500, 0x5ff, "vfs_read");
	stash_function(&example, example.jit, 0x700, 0x7ff, "compiled");
	stash_inlined(&example);

	uint32_t root = node(&example, 0, example.program, 0x1000);
	sample(&example, example.commands[0], root, 1);
	sample(&example, example.commands[0], node(&example, root, example.kernel, 0x510), 2);
	sample(&example, example.commands[0], node(&example, root, example.kernel, 0x520), 4);
	sample(&example, example.commands[1], node(&example, 0, example.program, 0x1012), 8);
	sample(&example, example.commands[1], node(&example, root, example.jit, 0x710), 16);
	return example;
}

static void stacks_are_lines_from_the_command_on(void **state)
{
	(void)state;
	struct example example = example_new();
	expect_text(example.profile, &plain,
		    "one%3Bodd;main 1000\n"
		    "one%3Bodd;main;vfs_read 6000\n"
		    "two;main 8000\n"
		    "two;main;compiled 16000\n");
	profile_free(example.profile);
}

/* Stacks that are samples of their own stand for the whole: nothing of the counts is missing in
 * them, and none of these is written as a stack of one frame. */
static void stacks_apart_are_all_there_is(void **state)
{
	(void)state;
	struct example example = example_new();
	const struct profile_event counted = { .name = span_of_text("cpu-clock"),
					       .unit = span_of_text("ns"),
					       .clock = EVENT_CLOCK,
					       .period = 5,
					       .sampled = 1,
					       .apart = 1 };
	const struct cell flat = { 100, 99000, 1 }, stack = { 3, 3000, 1 };
	const struct profile_frame leaf = { .image = example.program, .vaddr = 0x1000 };
	must(profile_add_event(example.profile, &counted, &example.event));
	must(profile_add_flat(example.profile, example.event, example.commands[1], &leaf, &flat));
	must(profile_add_stack(example.profile, example.event, example.commands[1],
			       node(&example, 0, example.program, 0x1000), &stack));
	expect_text(example.profile, &plain,
		    "one%3Bodd;main 1000\n"
		    "one%3Bodd;main;vfs_read 6000\n"
		    "two;main 11000\n"
		    "two;main;compiled 16000\n");
	/* A sample of the other event that has no stack is missing, as ever. */
	const struct cell one = { 1, 1000, 1 };
	must(profile_add_flat(example.profile, 1, example.commands[1], &leaf, &one));
	CLEANUP(buffer_release) struct buffer out = { 0 };
	struct export_sums sums;
	must_export(example.profile, 0, &plain, &out, &sums);
	assert_true(sums.missing.estimate == 1000 && sums.missing.samples == 1);
	profile_free(example.profile);
}

static void options_change_counts_roots_and_marks(void **state)
{
	(void)state;
	struct example example = example_new();
	const struct export_options samples = { .count = EXPORT_SAMPLES, .root = EXPORT_ROOT_NONE };
	const struct export_options marks = { .root = EXPORT_ROOT_PID,
					      .marks = EXPORT_MARK_KERNEL | EXPORT_MARK_JIT |
						       EXPORT_INLINED };
	const struct export_options threads = { .root = EXPORT_ROOT_TID, .count = EXPORT_SAMPLES };
	expect_text(example.profile, &samples, "main 9\nmain;compiled 16\nmain;vfs_read 6\n");
	expect_text(example.profile, &marks,
		    "one%3Bodd-12;main 1000\n"
		    "one%3Bodd-12;main;vfs_read_[k] 6000\n"
		    "two-?;main;compiled_[j] 16000\n"
		    "two-?;main;each_[i];step%3Bone_[i] 8000\n");
	expect_text(example.profile, &threads,
		    "one%3Bodd-12/13;main 1\n"
		    "one%3Bodd-12/13;main;vfs_read 6\n"
		    "two-?/?;main 8\n"
		    "two-?/?;main;compiled 16\n");
	profile_free(example.profile);
}

/* A command, and a frame of that name where the command is not known, read the same. */
static void contexts_that_read_the_same_are_one(void **state)
{
	(void)state;
	CLEANUP(profile_freep)
	struct profile *profile = must_import(
		span_of_text("tool;main;b 1\ntool;main 2\ntool x;main 4\nmain 8\nto 16\n"));
	const struct profile_context contexts[] = {
		{ .comm = span_of_text("tool"), .pid = optional_of(1) },
		{ .comm = span_of_text("tool"), .pid = optional_of(2) },
	};
	uint32_t name, node, context;
	must(profile_add_text(profile, "main", &name));
	for (int i = 0; i < 2; i++) {
		const struct profile_frame frame = { .name = name };
		const struct cell cell = { .estimate = 100 };
		must(profile_add_context(profile, &contexts[i], &context));
		must(profile_add_node(profile, 0, &frame, &node));
		must(profile_add_stack(profile, 1, context, node, &cell));
	}
	expect_text(profile, &plain,
		    "main 8\nto 16\ntool x;main 4\ntool;main 202\ntool;main;b 1\n");
	const struct export_options without = { .root = EXPORT_ROOT_NONE };
	expect_text(profile, &without,
		    "main 208\nto 16\ntool x;main 4\ntool;main 2\ntool;main;b 1\n");
}

static void code_without_a_name_shows_its_address_on_demand(void **state)
{
	(void)state;
	struct example example = example_new();
	const struct export_options addresses = { .marks = EXPORT_ADDRESSES,
						  .root = EXPORT_ROOT_NONE };
	sample(&example, example.commands[0], node(&example, 0, example.program, 0x9000), 1);
	sample(&example, example.commands[0], node(&example, 0, example.program, 0x9010), 1);
	expect_text(example.profile, &addresses,
		    "[program <9000>] 1000\n[program <9010>] 1000\nmain 9000\n"
		    "main;compiled 16000\nmain;vfs_read 6000\n");
	profile_free(example.profile);
}

static void samples_without_a_stack_are_told(void **state)
{
	(void)state;
	struct example example = example_new();
	CLEANUP(buffer_release) struct buffer out = { 0 };
	struct export_sums sums;
	const struct profile_frame leaf = { .image = example.kernel, .vaddr = 0x512 };
	const struct cell cell = { 3, 3000, 3000000 };
	must(profile_add_flat(example.profile, example.event, example.commands[1], &leaf, &cell));
	must_export(example.profile, 0, &plain, &out, &sums);
	assert_true(sums.has_stacks);
	assert_int_equal(sums.written.samples, 31);
	assert_int_equal(sums.missing.samples, 3);
	assert_int_equal(sums.missing.estimate, 3000);
	profile_free(example.profile);
}

static void without_stacks_lines_are_command_image_procedure(void **state)
{
	(void)state;
	struct example example = example_new();
	struct export_sums sums;
	CLEANUP(buffer_release) struct buffer out = { 0 };
	example.profile->tables[PROFILE_STACK]->count = 0;
	must_export(example.profile, 0, &plain, &out, &sums);
	assert_false(sums.has_stacks);
	assert_string_equal(buffer_text(&out), "one%3Bodd;[kernel];vfs_read 6000\n"
					       "one%3Bodd;program;main 1000\n"
					       "two;[jit perf-12.map];compiled 16000\n"
					       "two;program;main 8000\n");
	profile_free(example.profile);
}

static void samples_of_an_imported_event_are_absent_not_zero(void **state)
{
	(void)state;
	CLEANUP(profile_freep) struct profile *profile = must_import(span_of_text("a;b 1\n"));
	const struct export_options samples = { .count = EXPORT_SAMPLES };
	CLEANUP(buffer_release) struct buffer out = { 0 };
	struct export_sums sums;
	struct error err = { 0 };
	assert_int_equal(export_column(profile, 0, &samples, &out, &sums, &err), -ENODATA);
	assert_string_equal(err.text, "event 'samples' has counts only, no samples of its own");
}

static void fractions_come_back_without_needless_zeros(void **state)
{
	(void)state;
	CLEANUP(profile_freep)
	struct profile *profile =
		must_import(span_of_text("a 31.230\nb 6.1\nc 19.0\nd 2.567\ne 0\nf 0.001\n"));
	expect_text(profile, &plain, "a 31.23\nb 6.1\nc 19\nd 2.567\ne 0\nf 0.001\n");
}

#define STACKS 60

struct stack_line {
	char text[200];
	uint64_t count;
};

static int compare_stacks(const void *a, const void *b)
{
	return strcmp(((const struct stack_line *)a)->text, ((const struct stack_line *)b)->text);
}

/* Lines in any order, equal ones too, become the same lines sorted and merged. */
static void what_is_imported_is_exported(void **state)
{
	(void)state;
	static const char *const frames[] = { "main",	 "a",	      "ab",    "",
					      "b c",	 "%3B",	      "%253B", "x 7",
					      "100%",	 "[unknown]", "_[k]",  "f(int, T<U>)",
					      "\xc3\x28" };
	for (uint64_t seed = 1; seed <= 200; seed++) {
		struct random_state random = random_seed(seed);
		struct stack_line lines[STACKS];
		CLEANUP(buffer_release) struct buffer in = { 0 };
		CLEANUP(buffer_release) struct buffer out = { 0 };
		CLEANUP(buffer_release) struct buffer wanted = { 0 };
		for (size_t i = 0; i < STACKS; i++) {
			size_t depth = 1 + random_below(&random, 6);
			lines[i].text[0] = 0;
			for (size_t d = 0; d < depth; d++) {
				strcat(lines[i].text, d ? ";" : "");
				strcat(lines[i].text, frames[random_below(&random, 13)]);
			}
			lines[i].count = random_below(&random, 1000);
			buffer_printf(&in, "%s %llu\n", lines[i].text,
				      (unsigned long long)lines[i].count);
		}
		qsort(lines, STACKS, sizeof(lines[0]), compare_stacks);
		for (size_t i = 0; i < STACKS;) {
			uint64_t sum = 0;
			size_t first = i;
			while (i < STACKS && strcmp(lines[first].text, lines[i].text) == 0)
				sum += lines[i++].count;
			buffer_printf(&wanted, "%s %llu\n", lines[first].text,
				      (unsigned long long)sum);
		}
		CLEANUP(profile_freep)
		struct profile *profile = must_import((struct span){ in.data, in.size });
		struct export_sums sums;
		must_export(profile, 0, &plain, &out, &sums);
		assert_string_equal(buffer_text(&out), buffer_text(&wanted));
	}
}

/* Whatever a profile holds, its folded text comes back byte by byte. */
static void exports_survive_import(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 100; seed++) {
		CLEANUP(profile_freep)
		struct profile *profile =
			random_profile_new(seed, seed & 1 ? RANDOM_KNOWN : RANDOM_WITH_STRANGERS);
		struct event_columns columns;
		columns_of(&columns, profile);
		size_t count = columns.count;
		event_columns_release(&columns);
		assert_true(count > 0);
		for (size_t c = 0; c < count; c++) {
			CLEANUP(buffer_release) struct buffer once = { 0 };
			CLEANUP(buffer_release) struct buffer twice = { 0 };
			struct export_sums sums, again;
			must_export(profile, c, &plain, &once, &sums);
			CLEANUP(profile_freep)
			struct profile *back = must_import((struct span){ once.data, once.size });
			must_export(back, 0, &plain, &twice, &again);
			assert_string_equal(buffer_text(&once), buffer_text(&twice));
			assert_int_equal(sums.written.estimate, again.written.estimate);
		}
	}
}

static void export_pair(const struct profile *profile, struct buffer *out)
{
	static const char *const names[] = { "before", "after" };
	size_t both[] = { 0, 1 };
	struct error err = { 0 };
	struct export_sums sums[2];
	CLEANUP(resolver_freep) struct resolver *resolver = NULL;
	CLEANUP(event_columns_release) struct event_columns columns = { 0 };
	if (event_columns_init(&columns, profile, names, 2, &err) < 0)
		fail_msg("%s", err.text);
	both[0] = !span_equal(columns.list[0].name, span_of_text("before"));
	both[1] = !both[0];
	assert_int_equal(resolver_new(profile, &stash_only, &resolver, NULL), 0);
	const struct export_input input = { .profile = profile,
					    .resolver = resolver,
					    .columns = &columns,
					    .chosen = both,
					    .chosen_count = 2 };
	CLEANUP(sink_release) struct sink sink;
	sink_init(&sink, append_bytes, out);
	assert_int_equal(exporter_folded.write(&input, &sink, sums, &err), 0);
	assert_int_equal(sink_finish(&sink), 0);
}

/* Two counts a line, with decimals or not, stacks that come again: once read, the text and the
 * profile made of it stay the same. */
static void two_counts_survive_export_and_import(void **state)
{
	(void)state;
	static const char *const frames[] = { "a", "b", "c d", "", "%3B", "x 3", "%253B" };
	static const struct import_options two = { 0 };
	for (uint64_t seed = 1; seed <= 200; seed++) {
		struct random_state random = random_seed(seed);
		CLEANUP(buffer_release) struct buffer text = { 0 };
		CLEANUP(buffer_release) struct buffer once = { 0 };
		CLEANUP(buffer_release) struct buffer twice = { 0 };
		CLEANUP(profile_freep) struct profile *first = NULL;
		CLEANUP(profile_freep) struct profile *second = NULL;
		struct error err = { 0 };
		size_t lines = 1 + random_below(&random, 12);
		for (size_t i = 0; i < lines; i++) {
			size_t depth = 1 + random_below(&random, 4);
			buffer_append_text(&text, "root");
			for (size_t frame = 0; frame < depth; frame++)
				buffer_printf(&text, ";%s", frames[random_below(&random, 7)]);
			buffer_printf(&text, " %u.%u %u\n", (unsigned)random_below(&random, 50),
				      seed & 1 ? (unsigned)random_below(&random, 4) : 0,
				      (unsigned)random_below(&random, 50));
		}
		assert_int_equal(imported(&importer_folded, (struct span){ text.data, text.size },
					  SIZE_MAX, &two, &first, &err),
				 0);
		export_pair(first, &once);
		assert_int_equal(imported(&importer_folded, (struct span){ once.data, once.size },
					  SIZE_MAX, &two, &second, &err),
				 0);
		export_pair(second, &twice);
		assert_string_equal(buffer_text(&once), buffer_text(&twice));
		assert_true(profiles_are_identical(first, second));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stacks_are_lines_from_the_command_on),
		cmocka_unit_test(stacks_apart_are_all_there_is),
		cmocka_unit_test(options_change_counts_roots_and_marks),
		cmocka_unit_test(contexts_that_read_the_same_are_one),
		cmocka_unit_test(code_without_a_name_shows_its_address_on_demand),
		cmocka_unit_test(samples_without_a_stack_are_told),
		cmocka_unit_test(without_stacks_lines_are_command_image_procedure),
		cmocka_unit_test(samples_of_an_imported_event_are_absent_not_zero),
		cmocka_unit_test(fractions_come_back_without_needless_zeros),
		cmocka_unit_test(what_is_imported_is_exported),
		cmocka_unit_test(exports_survive_import),
		cmocka_unit_test(two_counts_survive_export_and_import),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
