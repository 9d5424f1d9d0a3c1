#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <errno.h>
#include <json-c/json.h>
#include <zlib.h>

#include "analyze/names/resolve.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/varint.h"
#include "export/exporter.h"
#include "export/figure.h"
#include "export/sink.h"
#include "import/importer.h"
#include "profile/profile.h"
#include "support/random_profile.h"
#include "support/test_profile.h"

#define MOST_EVENTS 16

/* An export of some events of a profile, and what their figures are by the profile's own tables. */
struct export
{
	struct buffer text;
	struct export_sums sums[MOST_EVENTS];
	uint64_t totals[MOST_EVENTS];
	struct event_columns columns;
	size_t chosen[MOST_EVENTS], count;
};

static void export_release(struct export *export)
{
	buffer_release(&export->text);
	event_columns_release(&export->columns);
}

static int append_bytes(void *out, const void *bytes, size_t size)
{
	buffer_append(out, bytes, size);
	return buffer_failed(out) ? -ENOMEM : 0;
}

static uint64_t total_of(const struct profile *profile, const struct event_columns *columns,
			 size_t column)
{
	const struct table *stacks = profile_table(profile, PROFILE_STACK);
	const struct table *flat = profile_table(profile, PROFILE_FLAT);
	uint64_t sum = 0;
	bool some = false;
	for (size_t row = 0; row < stacks->count; row++) {
		const uint64_t *keys = table_keys(stacks, row);
		if (columns->of_event[keys[STACK_EVENT]] != column || !keys[STACK_NODE])
			continue;
		sum += table_values(stacks, row)[CELL_ESTIMATE];
		some = true;
	}
	for (size_t row = 0; !some && row < flat->count; row++)
		if (columns->of_event[table_keys(flat, row)[FLAT_EVENT]] == column)
			sum += table_values(flat, row)[CELL_ESTIMATE];
	return sum;
}

/* Of all events, or of the one column. */
static int try_export(const struct profile *profile, const char *format, int column,
		      struct export *export, struct error *err)
{
	static const struct resolver_options stash_only = { .stash_only = true };
	CLEANUP(resolver_freep) struct resolver *resolver = NULL;
	*export = (struct export){ 0 };
	assert_int_equal(event_columns_init(&export->columns, profile, NULL, 0, NULL), 0);
	assert_int_equal(resolver_new(profile, &stash_only, &resolver, NULL), 0);
	assert_true(export->columns.count <= MOST_EVENTS);
	for (size_t c = 0; c < export->columns.count; c++)
		if (column < 0 || (size_t)column == c)
			export->chosen[export->count++] = c;
	for (size_t i = 0; i < export->count; i++)
		export->totals[i] = total_of(profile, &export->columns, export->chosen[i]);
	const struct export_input input = { .profile = profile,
					    .resolver = resolver,
					    .columns = &export->columns,
					    .chosen = export->chosen,
					    .chosen_count = export->count };
	CLEANUP(sink_release) struct sink sink;
	sink_init(&sink, append_bytes, &export->text);
	int ret = exporter_named(format)->write(&input, &sink, export->sums, err);
	return ret < 0 ? ret : sink_finish(&sink);
}

static void must_export(const struct profile *profile, const char *format, int column,
			struct export *export)
{
	struct error err = { 0 };
	if (try_export(profile, format, column, export, &err) < 0)
		fail_msg("%s: %s", format, err.text);
}

typedef void (*check_export)(const struct profile *profile);

static void for_random_profiles(uint64_t count, check_export check)
{
	for (uint64_t seed = 1; seed <= count; seed++) {
		CLEANUP(profile_freep)
		struct profile *profile =
			random_profile_new(seed, seed & 1 ? RANDOM_KNOWN : RANDOM_WITH_STRANGERS);
		check(profile);
	}
}

/* A decimal number in steps of 10^-scale. */
static uint64_t steps_of(const char *text, uint64_t scale)
{
	char *end;
	uint64_t value = strtoull(text, &end, 10);
	bool point = *end == '.';
	for (end += point; scale > 0; scale--) {
		value *= 10;
		if (point && *end >= '0' && *end <= '9')
			value += (uint64_t)(*end++ - '0');
	}
	return value;
}

/* ---- figures */

static void expect_figure(uint64_t estimate, uint64_t scale, const char *wanted)
{
	CLEANUP(buffer_release) struct buffer out = { 0 };
	figure_append_estimate(&out, estimate, scale);
	assert_string_equal(buffer_text(&out), wanted);
}

static void figures_are_exact_without_needless_zeros(void **state)
{
	(void)state;
	expect_figure(0, 0, "0");
	expect_figure(0, 9, "0");
	expect_figure(UINT64_MAX, 0, "18446744073709551615");
	expect_figure(31230, 3, "31.23");
	expect_figure(3000, 3, "3");
	expect_figure(3000, 0, "3000");
	expect_figure(7, 3, "0.007");
	expect_figure(UINT64_MAX, 20, "0.18446744073709551615");
	expect_figure(UINT64_MAX, 22, "0.0018446744073709551615");
	expect_figure(100, 25, "0.00000000000000000000001");
}

/* ---- speedscope */

static void check_speedscope(const struct profile *profile)
{
	CLEANUP(export_release) struct export export;
	must_export(profile, "speedscope", -1, &export);
	struct json_object *document = json_tokener_parse(buffer_text(&export.text));
	assert_non_null(document);
	struct json_object *shared, *frames, *profiles;
	assert_true(json_object_object_get_ex(document, "shared", &shared));
	assert_true(json_object_object_get_ex(shared, "frames", &frames));
	assert_true(json_object_object_get_ex(document, "profiles", &profiles));
	assert_int_equal(json_object_array_length(profiles), export.count);
	for (size_t c = 0; c < export.count; c++) {
		struct json_object *one = json_object_array_get_idx(profiles, c);
		struct json_object *samples, *weights, *end;
		assert_true(json_object_object_get_ex(one, "samples", &samples));
		assert_true(json_object_object_get_ex(one, "weights", &weights));
		assert_true(json_object_object_get_ex(one, "endValue", &end));
		size_t count = json_object_array_length(samples);
		assert_int_equal(json_object_array_length(weights), count);
		uint64_t scale = export.columns.list[c].scale, sum = 0;
		for (size_t i = 0; i < count; i++) {
			struct json_object *stack = json_object_array_get_idx(samples, i);
			for (size_t f = 0; f < json_object_array_length(stack); f++)
				assert_true((size_t)json_object_get_int(json_object_array_get_idx(
						    stack, f)) < json_object_array_length(frames));
			sum += steps_of(
				json_object_get_string(json_object_array_get_idx(weights, i)),
				scale);
		}
		assert_int_equal(sum, export.totals[c]);
		assert_int_equal(steps_of(json_object_get_string(end), scale), sum);
	}
	json_object_put(document);
}

static void speedscope_weights_add_up(void **state)
{
	(void)state;
	for_random_profiles(60, check_speedscope);
}

/* ---- rows */

static void check_rows(const struct profile *profile)
{
	CLEANUP(export_release) struct export csv;
	CLEANUP(export_release) struct export json;
	must_export(profile, "csv", -1, &csv);
	must_export(profile, "json", -1, &json);
	struct json_object *document = json_tokener_parse(buffer_text(&json.text));
	struct json_object *rows, *value;
	assert_true(json_object_object_get_ex(document, "rows", &rows));
	size_t lines = 0; /* no text of random profiles has a newline */
	for (size_t i = 0; i < csv.text.size; i++)
		lines += csv.text.data[i] == '\n';
	assert_int_equal(lines, json_object_array_length(rows) + 1);
	size_t wanted = 0, samples = 0;
	static const enum profile_table tables[] = { PROFILE_FLAT, PROFILE_STACK };
	for (size_t t = 0; t < 2; t++) {
		const struct table *table = profile_table(profile, tables[t]);
		for (size_t row = 0; row < table->count; row++) {
			wanted += t == 0 || table_keys(table, row)[STACK_NODE];
			/* FLAT_EVENT and STACK_EVENT are the same slot */
			if (profile_event(profile, table_keys(table, row)[FLAT_EVENT]).sampled)
				samples += table_values(table, row)[CELL_SAMPLES];
		}
	}
	assert_int_equal(json_object_array_length(rows), wanted);
	for (size_t i = 0; i < json_object_array_length(rows); i++) {
		struct json_object *row = json_object_array_get_idx(rows, i);
		assert_int_equal(json_object_object_length(row), 30);
		assert_true(json_object_object_get_ex(row, "samples", &value));
		if (value)
			samples -= json_object_get_uint64(value);
		assert_true(json_object_object_get_ex(row, "stack_id", &value));
		bool named = value && strlen(json_object_get_string(value)) == 32;
		assert_true(json_object_object_get_ex(row, "relation", &value));
		assert_int_equal(named, strcmp(json_object_get_string(value), "stack") == 0);
	}
	json_object_put(document);
	assert_int_equal(samples, 0);
}

static void rows_are_all_cells(void **state)
{
	(void)state;
	for_random_profiles(60, check_rows);
}

/* A cell of the CSV of a profile with a procedure of that name. */
static bool csv_has_cell(const char *procedure, const char *cell)
{
	struct test_profile test = test_profile_new();
	CLEANUP(export_release) struct export csv;
	CLEANUP(buffer_release) struct buffer wanted = { 0 };
	test_event(&test, "cycles", 1);
	test_flat(&test, procedure, 3, 1);
	must_export(test.profile, "csv", -1, &csv);
	buffer_printf(&wanted, ",%s,", cell);
	bool found = strstr(buffer_text(&csv.text), buffer_text(&wanted));
	profile_free(test.profile);
	return found;
}

static void no_name_becomes_a_formula_or_a_row(void **state)
{
	(void)state;
	assert_true(csv_has_cell("=1+1", "'=1+1"));
	assert_true(csv_has_cell("+1", "'+1"));
	assert_true(csv_has_cell("-1", "'-1"));
	assert_true(csv_has_cell("@SUM(A1)", "'@SUM(A1)"));
	assert_true(csv_has_cell("'=1", "''=1"));
	assert_true(csv_has_cell("=cmd|\"a\",b", "\"'=cmd|\"\"a\"\",b\""));
	assert_true(csv_has_cell("\t=1", "\\x09=1"));
	assert_true(csv_has_cell("a\r\n=1\033[2J", "a\\x0d\\x0a=1\\x1b[2J"));
	assert_true(csv_has_cell("a=b-c", "a=b-c"));
	assert_true(csv_has_cell("operator-", "operator-"));
}

/* ---- the text of perf script */

/* Adds up the periods of an event's blocks. */
static uint64_t periods_of(struct buffer *text, struct span name, size_t *blocks)
{
	uint64_t sum = 0;
	char *line = (char *)(uintptr_t)buffer_text(text);
	*blocks = 0;
	while (line && *line) {
		char *end = strchr(line, '\n');
		*end = 0;
		char *colon = *line == '\t' || *line == '#' ? NULL : strstr(line, ": ");
		if (colon) {
			char *event;
			uint64_t period = strtoull(colon + 2, &event, 10);
			if (strlen(event + 1) == name.size + 2 &&
			    memcmp(event + 1, name.data, name.size) == 0) {
				sum += period;
				(*blocks)++;
			}
		}
		*end = '\n';
		line = end + 1;
	}
	return sum;
}

static void check_perf_script(const struct profile *profile)
{
	CLEANUP(export_release) struct export all;
	must_export(profile, "perf-script", -1, &all);
	for (size_t c = 0; c < all.count; c++) {
		CLEANUP(export_release) struct export one;
		CLEANUP(export_release) struct export samples;
		struct span name = all.columns.list[c].name;
		size_t blocks, sample_blocks;
		must_export(profile, "perf-script", (int)c, &one);
		must_export(profile, "firefox", (int)c, &samples);
		assert_int_equal(periods_of(&one.text, name, &blocks), one.totals[0]);
		assert_int_equal(periods_of(&samples.text, name, &sample_blocks), one.totals[0]);
		assert_true(sample_blocks >= blocks);
	}
}

static void periods_add_up(void **state)
{
	(void)state;
	for_random_profiles(6, check_perf_script);
}

static void samples_become_blocks_in_proportion(void **state)
{
	(void)state;
	CLEANUP(export_release) struct export export;
	struct test_profile test = test_profile_new();
	test_event(&test, "cycles", 10);
	test_stack(&test, "main;much", 3000000, 10);
	test_stack(&test, "main;some", 1000000, 10);
	test_stack(&test, "main;once", 1, 7);
	must_export(test.profile, "firefox", -1, &export);
	size_t blocks;
	assert_int_equal(periods_of(&export.text, span_of_text("cycles"), &blocks), 40000007);
	assert_in_range(blocks, 199000, 200001);
	profile_free(test.profile);
}

/* What is imported of the export is exported as the same text again. */
static void perf_script_comes_back(void **state)
{
	(void)state;
	CLEANUP(export_release) struct export first;
	CLEANUP(export_release) struct export second;
	CLEANUP(export_release) struct export text;
	struct test_profile test = test_profile_new();
	struct profile *back = NULL;
	struct error err = { 0 };
	void *reader;
	test_event(&test, "cycles:u", 10);
	test_context(&test, &(struct profile_context){ .comm = span_of_text("tool 7"), .pid = 13 });
	test_stack(&test, "main;read;x+0x10", 3, 10);
	test_stack(&test, "main;op(int, T<a b>)", 5, 10);
	test_stack(&test, "main", 1, 9);
	must_export(test.profile, "folded", 0, &first);
	must_export(test.profile, "perf-script", -1, &text);
	const struct importer *importer = importer_find(text.text.data, text.text.size);
	assert_non_null(importer);
	static const struct import_options options = { 0 };
	assert_int_equal(importer->open(&options, &reader), 0);
	if (importer->feed(reader, text.text.data, text.text.size, &err) < 0 ||
	    importer->finish(reader, &back, &err) < 0)
		fail_msg("%s", err.text);
	importer->close(reader);
	must_export(back, "folded", 0, &second);
	assert_string_equal(buffer_text(&first.text), buffer_text(&second.text));
	profile_free(back);
	profile_free(test.profile);
}

/* ---- pprof */

static void unpack(const struct buffer *packed, struct buffer *out)
{
	z_stream stream = { .next_in = packed->data, .avail_in = (uInt)packed->size };
	assert_int_equal(inflateInit2(&stream, 15 + 16), Z_OK);
	int ret = Z_OK;
	while (ret == Z_OK) {
		uint8_t piece[4096];
		stream.next_out = piece;
		stream.avail_out = sizeof(piece);
		ret = inflate(&stream, Z_NO_FLUSH);
		buffer_append(out, piece, sizeof(piece) - stream.avail_out);
	}
	assert_int_equal(ret, Z_STREAM_END);
	inflateEnd(&stream);
}

static uint64_t take_varint(struct span *bytes)
{
	uint64_t value = 0;
	size_t size = varint_get(bytes->data, bytes->size, &value);
	assert_true(size > 0);
	bytes->data = (const uint8_t *)bytes->data + size;
	bytes->size -= size;
	return value;
}

/* The next field: its number, and its bytes, or none when it is a number. */
static uint64_t take_field(struct span *message, struct span *bytes, uint64_t *value)
{
	uint64_t key = take_varint(message);
	*bytes = (struct span){ NULL, 0 };
	*value = take_varint(message);
	if (key & 7) {
		assert_int_equal(key & 7, 2);
		assert_true(*value <= message->size);
		*bytes = (struct span){ message->data, (size_t)*value };
		message->data = (const uint8_t *)message->data + *value;
		message->size -= (size_t)*value;
	}
	return key >> 3;
}

static void check_pprof(const struct profile *profile)
{
	CLEANUP(export_release) struct export export;
	CLEANUP(buffer_release) struct buffer plain = { 0 };
	must_export(profile, "pprof", -1, &export);
	unpack(&export.text, &plain);
	struct span top = { plain.data, plain.size }, message, bytes;
	uint64_t number, types = 0, wanted_types = 0, sums[MOST_EVENTS] = { 0 };
	for (size_t c = 0; c < export.count; c++)
		wanted_types += 1 + export.columns.list[c].sampled;
	while (top.size) {
		uint64_t field = take_field(&top, &message, &number);
		types += field == 1;
		while (field == 2 && message.size) {
			if (take_field(&message, &bytes, &number) != 2)
				continue;
			for (size_t c = 0; c < export.count; c++) {
				if (export.columns.list[c].sampled)
					take_varint(&bytes);
				sums[c] += take_varint(&bytes);
			}
			assert_int_equal(bytes.size, 0);
		}
	}
	assert_int_equal(types, wanted_types);
	for (size_t c = 0; c < export.count; c++)
		assert_int_equal(sums[c], export.totals[c]);
}

static void pprof_values_add_up(void **state)
{
	(void)state;
	for_random_profiles(60, check_pprof);
}

/* Whether the first mapping is of that file. */
static void expect_first_mapping(const struct profile *profile, const char *wanted)
{
	CLEANUP(export_release) struct export export;
	CLEANUP(buffer_release) struct buffer plain = { 0 };
	must_export(profile, "pprof", -1, &export);
	unpack(&export.text, &plain);
	struct span top = { plain.data, plain.size }, message, bytes, name = { NULL, 0 };
	uint64_t number, text = UINT64_MAX, texts = 0;
	while (top.size) {
		uint64_t field = take_field(&top, &message, &number);
		while (field == 3 && text == UINT64_MAX && message.size)
			if (take_field(&message, &bytes, &number) == 5)
				text = number;
		if (field == 6 && texts++ == text)
			name = message;
	}
	if (!span_equal(name, span_of_text(wanted)))
		fail_msg("the first mapping is '%.*s', not '%s'", (int)name.size,
			 (const char *)name.data, wanted);
}

struct sampled_image {
	enum image_kind kind;
	const char *path, *build_id;
	uint64_t samples;
	const char *comm;
};

static struct profile *profile_of_images(const struct sampled_image *images, size_t count)
{
	struct test_profile test = test_profile_new();
	test_event(&test, "cycles", 10);
	for (size_t i = 0; i < count; i++) {
		const struct profile_context context = {
			.comm = span_of_text(images[i].comm),
			.pid = optional_of(i + 1),
		};
		test_context(&test, &context);
		test_image(&test, images[i].kind, images[i].path, images[i].build_id);
		test_address(&test, 0x1000, images[i].samples, 10);
	}
	return test.profile;
}

static void pprof_begins_with_the_main_binary(void **state)
{
	(void)state;
	static const struct sampled_image images[] = {
		{ IMAGE_KERNEL, "[kernel]", "\1\1", 900, "server" },
		{ IMAGE_FILE, "/lib/libc.so.6", "\2\2", 800, "server" },
		{ IMAGE_FILE, "/usr/bin/perl", "\3\3", 700, "perl" },
		{ IMAGE_FILE, "/usr/bin/server-tool", "\4\4", 60, "server" },
		{ IMAGE_FILE, "/usr/bin/server", "\5\5", 5, "server" },
	};
	/* of the command with most samples, in whatever image, the one of its name */
	struct profile *profile = profile_of_images(images, 5);
	expect_first_mapping(profile, "/usr/bin/server");
	profile_free(profile);
	/* or that begins with it */
	profile = profile_of_images(images, 4);
	expect_first_mapping(profile, "/usr/bin/server-tool");
	profile_free(profile);
	/* or the file with most samples that is no library */
	profile = profile_of_images(images, 3);
	expect_first_mapping(profile, "/usr/bin/perl");
	profile_free(profile);
	/* or what has most samples */
	profile = profile_of_images(images, 2);
	expect_first_mapping(profile, "[kernel.kallsyms]");
	profile_free(profile);
	/* a command's name has 15 bytes at most */
	static const struct sampled_image longer[] = {
		{ IMAGE_FILE, "/bin/other", "\1\1", 9, "a-very-long-com" },
		{ IMAGE_FILE, "/bin/a-very-long-command", "\2\2", 1, "a-very-long-com" },
	};
	profile = profile_of_images(longer, 2);
	expect_first_mapping(profile, "/bin/a-very-long-command");
	profile_free(profile);
}

/* Nobody made sure that a stranger's profile has none in its texts. */
static void pprof_stays_within_names_where_a_command_holds_a_nul(void **state)
{
	(void)state;
	static const char comm[] = "a\0and more than the 15 bytes of a command";
	struct test_profile test = test_profile_new();
	test_event(&test, "cycles", 10);
	const struct profile_context context = { .comm = { comm, sizeof(comm) - 1 } };
	test_context(&test, &context);
	test_image(&test, IMAGE_FILE, "/bin/other", "\1\1");
	test_address(&test, 0x1000, 9, 10);
	test_image(&test, IMAGE_FILE, "/bin/a", "\2\2");
	test_address(&test, 0x1000, 1, 10);
	expect_first_mapping(test.profile, "/bin/other");
	profile_free(test.profile);
}

static void pprof_refuses_what_has_64_bits(void **state)
{
	(void)state;
	CLEANUP(export_release) struct export export;
	struct test_profile test = test_profile_new();
	struct error err = { 0 };
	const struct cell cell = { 1, UINT64_MAX, 0 };
	test_event(&test, "cycles", 10);
	test_flat_cell(&test, "main", &cell);
	assert_int_equal(try_export(test.profile, "pprof", -1, &export, &err), -EOVERFLOW);
	assert_string_equal(err.text, "a value passes the 63 bits that pprof has");
	profile_free(test.profile);
}

/* ---- sinks */

struct full_disk {
	size_t room, calls;
};

static int write_until_full(void *context, const void *bytes, size_t size)
{
	struct full_disk *disk = context;
	(void)bytes;
	disk->calls++;
	if (size > disk->room)
		return -ENOSPC;
	disk->room -= size;
	return 0;
}

static void a_full_disk_ends_every_export(void **state)
{
	(void)state;
	static const struct resolver_options stash_only = { .stash_only = true };
	struct test_profile test = test_profile_new();
	test_event(&test, "cycles", 10);
	for (int i = 0; i < 20000; i++) {
		char stack[64];
		snprintf(stack, sizeof(stack), "main;procedure_%d;leaf_%d", i % 500, i);
		test_stack(&test, stack, 1, (uint64_t)i + 1);
	}
	for (size_t i = 0; exporters[i]; i++) {
		CLEANUP(resolver_freep) struct resolver *resolver = NULL;
		CLEANUP(event_columns_release) struct event_columns columns;
		CLEANUP(sink_release) struct sink sink;
		struct full_disk disk = { .room = 10 };
		struct export_sums sums[1];
		const size_t chosen = 0;
		assert_int_equal(resolver_new(test.profile, &stash_only, &resolver, NULL), 0);
		assert_int_equal(event_columns_init(&columns, test.profile, NULL, 0, NULL), 0);
		const struct export_input input = { test.profile, resolver, &columns,
						    &chosen,	  1,	    { 0 } };
		sink_init(&sink, write_until_full, &disk);
		int ret = exporters[i]->write(&input, &sink, sums, NULL);
		if (ret == 0)
			ret = sink_finish(&sink);
		assert_int_equal(ret, -ENOSPC);
		assert_int_equal(sink.status, -ENOSPC);
		assert_int_equal(disk.calls, 1);
	}
	profile_free(test.profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(figures_are_exact_without_needless_zeros),
		cmocka_unit_test(speedscope_weights_add_up),
		cmocka_unit_test(rows_are_all_cells),
		cmocka_unit_test(no_name_becomes_a_formula_or_a_row),
		cmocka_unit_test(periods_add_up),
		cmocka_unit_test(samples_become_blocks_in_proportion),
		cmocka_unit_test(perf_script_comes_back),
		cmocka_unit_test(pprof_values_add_up),
		cmocka_unit_test(pprof_begins_with_the_main_binary),
		cmocka_unit_test(pprof_stays_within_names_where_a_command_holds_a_nul),
		cmocka_unit_test(pprof_refuses_what_has_64_bits),
		cmocka_unit_test(a_full_disk_ends_every_export),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
