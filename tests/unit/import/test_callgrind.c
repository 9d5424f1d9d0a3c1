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
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/count_of.h"
#include "import/formats.h"
#include "support/test_profile.h"
#include "support/imported.h"

static struct profile *must_read(const char *text, size_t piece, struct buffer *said)
{
	struct profile *profile = NULL;
	struct error err = { 0 };
	if (imported(&importer_callgrind, span_of_text(text), piece,
		     &(struct import_options){ .say = imported_say, .say_context = said }, &profile,
		     &err) < 0)
		fail_msg("%s", err.text);
	return profile;
}

static void append_frame(const struct profile *profile, struct buffer *out, uint64_t image,
			 uint64_t vaddr, uint64_t name)
{
	struct span text = profile_bytes(profile, name);
	if (image) {
		struct span object = profile_image(profile, image).name;
		buffer_printf(out, "%.*s:", (int)object.size, (const char *)object.data);
	}
	buffer_printf(out, "%.*s", (int)text.size, text.data ? (const char *)text.data : "");
	if (vaddr)
		buffer_printf(out, "@%llx", (unsigned long long)vaddr);
}

static int compare_lines(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The lines in `text`, sorted. */
static char *sorted(char *text)
{
	char *lines[256];
	size_t count = 0;
	char *copy = strdup(text);
	for (char *line = strtok(copy, "\n"); line && count < 256; line = strtok(NULL, "\n"))
		lines[count++] = line;
	if (count)
		qsort(lines, count, sizeof(*lines), compare_lines);
	text[0] = 0;
	for (size_t i = 0; i < count; i++)
		strcat(strcat(text, lines[i]), "\n");
	free(copy);
	return text;
}

/* "EVENT FRAME ESTIMATE", a line a cell, sorted; to free. */
static char *spell_flat(const struct profile *profile)
{
	struct buffer out = { 0 };
	const struct table *flat = profile_table(profile, PROFILE_FLAT);
	for (size_t row = 0; row < flat->count; row++) {
		const uint64_t *keys = table_keys(flat, row);
		struct span event = profile_event(profile, keys[FLAT_EVENT]).name;
		buffer_printf(&out, "%.*s ", (int)event.size, (const char *)event.data);
		append_frame(profile, &out, keys[FLAT_IMAGE], keys[FLAT_VADDR], keys[FLAT_NAME]);
		buffer_printf(&out, " %llu\n",
			      (unsigned long long)table_values(flat, row)[CELL_ESTIMATE]);
	}
	buffer_text(&out);
	return sorted((char *)out.data);
}

/* "FROM > TO COUNT", likewise. */
static char *spell_edges(const struct profile *profile)
{
	struct buffer out = { 0 };
	const struct table *edges = profile_table(profile, PROFILE_EDGE);
	for (size_t row = 0; row < edges->count; row++) {
		const uint64_t *keys = table_keys(edges, row);
		assert_int_equal(keys[EDGE_ORIGIN], ORIGIN_IMPORTED);
		append_frame(profile, &out, keys[EDGE_FROM_IMAGE], keys[EDGE_FROM_VADDR],
			     keys[EDGE_FROM_NAME]);
		buffer_append_text(&out, " > ");
		append_frame(profile, &out, keys[EDGE_TO_IMAGE], keys[EDGE_TO_VADDR],
			     keys[EDGE_TO_NAME]);
		buffer_printf(&out, " %llu\n", (unsigned long long)table_values(edges, row)[0]);
	}
	buffer_text(&out);
	return sorted((char *)out.data);
}

static void expect_flat(const struct profile *profile, const char *wanted)
{
	CLEANUP(free_pointer) char *text = spell_flat(profile);
	assert_string_equal(text, wanted);
}

static void expect_edges(const struct profile *profile, const char *wanted)
{
	CLEANUP(free_pointer) char *text = spell_edges(profile);
	assert_string_equal(text, wanted);
}

/* The example of the format's specification. */
static const char example[] = "# callgrind format\n"
			      "events: Cycles Instructions Flops\n"
			      "fl=file.f\n"
			      "fn=main\n"
			      "15 90 14 2\n"
			      "16 20 12\n";

static void test_costs_of_lines(void **state)
{
	(void)state;
	for (size_t piece = 1; piece < sizeof(example) + 2; piece++) {
		CLEANUP(profile_freep) struct profile *profile = must_read(example, piece, NULL);
		expect_flat(profile, "Cycles main 110\nFlops main 2\nInstructions main 26\n");
	}
}

static void test_calls_are_edges_and_no_cost(void **state)
{
	(void)state;
	static const char text[] = "events: Instructions\n"
				   "\n"
				   "fl=file1.c\n"
				   "fn=main\n"
				   "16 20\n"
				   "cfn=func1\n"
				   "calls=1 50\n"
				   "16 400\n"
				   "cfi=file2.c\n"
				   "cfn=func2\n"
				   "calls=3 20\n"
				   "16 400\n"
				   "\n"
				   "fn=func1\n"
				   "51 100\n"
				   "cfi=file2.c\n"
				   "cfn=func2\n"
				   "calls=2 20\n"
				   "51 300\n"
				   "\n"
				   "fl=file2.c\n"
				   "fn=func2\n"
				   "20 700";
	CLEANUP(profile_freep) struct profile *profile = must_read(text, 7, NULL);
	expect_flat(profile,
		    "Instructions func1 100\nInstructions func2 700\nInstructions main 20\n");
	expect_edges(profile, "func1 > func2 2\nmain > func1 1\nmain > func2 3\n");
	assert_int_equal(profile_table(profile, PROFILE_STACK)->count, 0);
	struct profile_event event = profile_event(profile, 1);
	assert_int_equal(event.sampled, 0);
	assert_int_equal(event.origin, ORIGIN_IMPORTED);
}

static const char with_addresses[] = "version: 1\n"
				     "creator: callgrind-3.19.0\n"
				     "pid: 29767\n"
				     "cmd:  /usr/bin/a-program-of-long-name --flag\n"
				     "part: 1\n"
				     "desc: Trigger: Program termination\n"
				     "positions: instr line\n"
				     "events: Ir Bc\n"
				     "event: Ir : instructions\n"
				     "event: CEst = Ir + 10 * Bc : cycles\n"
				     "summary: 14 2\n"
				     "\n"
				     "ob=(1) /bin/x\n"
				     "fl=(1) x.c\n"
				     "fn=(1) main\n"
				     "0x100 5 2\n"
				     "+3 * 2 1\n"
				     "jcnd=1/2 +17 +2\n"
				     "* *\n"
				     "fi=(2) y.h\n"
				     "+2 -1 2\n"
				     "fe=(1)\n"
				     "+5 +6 1\n"
				     "cob=(2) /lib/libc.so\n"
				     "cfi=(3) puts.c\n"
				     "cfn=(2) puts\n"
				     "calls=4 0x40 7\n"
				     "* * 90 3\n"
				     "fn=(3) main'2\n"
				     "0x100 5 1\n"
				     "ob=(2)\n"
				     "fl=(3)\n"
				     "fn=(2)\n"
				     "0x40 7 5 1\n"
				     "\n"
				     "totals: 13 2\n";

static void test_addresses_and_compression(void **state)
{
	(void)state;
	CLEANUP(buffer_release) struct buffer said = { 0 };
	CLEANUP(profile_freep)
	struct profile *profile = must_read(with_addresses, SIZE_MAX, &said);
	expect_flat(profile, "Bc /bin/x:main@103 1\n"
			     "Bc /lib/libc.so:puts@40 1\n"
			     "CEst /bin/x:main'2@100 1\n"
			     "CEst /bin/x:main@100 2\n"
			     "CEst /bin/x:main@103 12\n"
			     "CEst /bin/x:main@105 2\n"
			     "CEst /bin/x:main@10a 1\n"
			     "CEst /lib/libc.so:puts@40 15\n"
			     "Ir /bin/x:main'2@100 1\n"
			     "Ir /bin/x:main@100 2\n"
			     "Ir /bin/x:main@103 2\n"
			     "Ir /bin/x:main@105 2\n"
			     "Ir /bin/x:main@10a 1\n"
			     "Ir /lib/libc.so:puts@40 5\n");
	expect_edges(profile, "/bin/x:main@103 > /bin/x:main@114 1\n"
			      "/bin/x:main@10a > /lib/libc.so:puts@40 4\n");
	assert_string_equal(buffer_text(&said),
			    "note: its summary counts more or less than its lines add "
			    "up to; the summary is kept as counts of the whole "
			    "program\n");
	const struct table *values = profile_table(profile, PROFILE_VALUE);
	assert_int_equal(values->count, 2);
	assert_int_equal(table_keys(values, 0)[VALUE_VADDR], 0x10a);
	assert_int_equal(table_keys(values, 0)[VALUE_KIND], VALUE_CALLED);
	assert_int_equal(table_values(values, 0)[CELL_ESTIMATE], 90);
	assert_int_equal(table_values(values, 1)[CELL_ESTIMATE], 3);
	const struct table *counters = profile_table(profile, PROFILE_COUNTER);
	assert_int_equal(counters->count, 2);
	assert_int_equal(table_values(counters, 0)[CELL_ESTIMATE], 14);
	struct profile_context context = profile_context(profile, 1);
	assert_memory_equal(context.comm.data, "a-program-of-lo", context.comm.size);
	struct profile_source source = profile_source(profile, 0);
	assert_memory_equal(source.tool.data, "callgrind-3.19.0", source.tool.size);
	assert_memory_equal(source.labels.data, "pid=29767", source.labels.size);
}

static void test_lines_of_addresses(void **state)
{
	(void)state;
	CLEANUP(profile_freep)
	struct profile *profile = must_read(with_addresses, SIZE_MAX, NULL);
	static const struct {
		uint64_t vaddr;
		const char *file;
		uint32_t line;
	} wanted[] = { { 0x100, "x.c", 5 },
		       { 0x103, "x.c", 5 },
		       { 0x105, "y.h", 4 },
		       { 0x10a, "x.c", 10 },
		       { 0x114, "x.c", 7 } };
	CLEANUP(resolver_freep) struct resolver *resolver = NULL;
	const struct resolver_options options = { .stash_only = true };
	assert_int_equal(resolver_new(profile, &options, &resolver, NULL), 0);
	uint64_t image = 0;
	for (uint64_t id = 1; id <= profile_table(profile, PROFILE_IMAGE)->count; id++)
		if (span_equal(profile_image(profile, id).name, span_of_text("/bin/x")))
			image = id;
	uint32_t name;
	assert_int_equal(profile_add_text(profile, "main", &name), 0);
	for (size_t i = 0; i < COUNT_OF(wanted); i++) {
		const struct profile_frame frame = { FRAME_IP, (uint32_t)image, wanted[i].vaddr,
						     name };
		const struct place *place = resolver_place(resolver, &frame);
		const struct source_frame *frames;
		assert_string_equal(place->procedure->name, "main");
		assert_int_equal(resolver_source(resolver, place, &frames), 1);
		assert_string_equal(frames[0].file, wanted[i].file);
		assert_int_equal(frames[0].line, wanted[i].line);
	}
}

static void test_parts_add_up(void **state)
{
	(void)state;
	CLEANUP(buffer_release) struct buffer said = { 0 };
	CLEANUP(profile_freep)
	struct profile *profile = must_read("part: 1\nevents: A B\nsummary: 1 2\nfn=(1) f\n"
					    "1 1 2\ntotals: 1 2\n"
					    "part: 2\nevents: B A\nsummary: 7 0\nfn=(1)\n"
					    "9 7\ntotals: 7\n",
					    SIZE_MAX, &said);
	expect_flat(profile, "A f 1\nB f 9\n");
	assert_string_equal(buffer_text(&said), "");
	assert_int_equal(profile_table(profile, PROFILE_COUNTER)->count, 0);
}

#define CACHEGRIND "desc: I1 cache: 32768 B\ncmd: ./a\nevents: Ir\nfl=a.c\nfn=main\n1 100\n"
#define UNENDED                                                                                    \
	"note: no newline ends its last line: if the file was cut off, that line may be too\n"
#define NO_SUMMARY "warning: the file is cut off: cachegrind ends it with a summary\n"

static void test_a_file_that_is_cut_off(void **state)
{
	(void)state;
	static const struct {
		const char *text, *said;
	} wanted[] = {
		{ CACHEGRIND "2 20\nsummary: 120\n", "" },
		{ CACHEGRIND "2 20\nsummary: 120", UNENDED },
		{ CACHEGRIND "2 20\n", NO_SUMMARY },
		{ CACHEGRIND "2 2", NO_SUMMARY },
		/* of other tools, which need not have one */
		{ "events: Ir\nfn=main\n1 100\n", "" },
		{ "events: Ir\nfn=main\n1 10", UNENDED },
		{ "version: 1\ncmd: a\nevents: Ir\nfn=main\n1 100\n", "" },
		{ "creator: x\ncmd: a\nevents: Ir\nfn=main\n1 100\n", "" },
	};
	for (size_t i = 0; i < COUNT_OF(wanted); i++) {
		CLEANUP(buffer_release) struct buffer said = { 0 };
		profile_free(must_read(wanted[i].text, 5, &said));
		assert_string_equal(buffer_text(&said), wanted[i].said);
	}
}

static void test_totals_are_checked(void **state)
{
	(void)state;
	CLEANUP(buffer_release) struct buffer said = { 0 };
	CLEANUP(profile_freep)
	struct profile *profile = must_read("events: A\nfn=f\n1 3\ntotals: 4\n", 5, &said);
	assert_string_equal(buffer_text(&said),
			    "warning: line 4: the costs of A add up to 3, not to the "
			    "total of 4\n");
}

static void test_names_that_look_like_numbers(void **state)
{
	(void)state;
	CLEANUP(profile_freep)
	struct profile *profile = must_read("events: A\nfn=(below main)\n1 1\nfn=(2) (3)\n1 2\n"
					    "fn=(2)\n1 4\nob=???\nfn=x\n1 8\n",
					    3, NULL);
	expect_flat(profile, "A (3) 6\nA (below main) 1\nA no object file:x 8\n");
}

/* As Xdebug and google/pprof write them. */
static void test_other_writers(void **state)
{
	(void)state;
	CLEANUP(profile_freep)
	struct profile *php = must_read("creator: xdebug 3.2.0 (PHP 8.2)\npositions: line\n"
					"events: Time_(10ns)\nfl=(1) php:internal\nfn=(1) php::f\n"
					"3 12\n\nfl=(2) /x.php\nfn=(2) {main}\n1 20\ncfl=(1)\n"
					"cfn=(1)\ncalls=1 0 0\n3 12\n\nsummary: 32\n",
					SIZE_MAX, NULL);
	expect_flat(php, "Time_(10ns) php::f 12\nTime_(10ns) {main} 20\n");
	expect_edges(php, "{main} > php::f 1\n");
	CLEANUP(profile_freep)
	struct profile *go = must_read("positions: instr line\nevents: inuse_space(MB)\n\n"
				       "ob=\nfl=(1) a.go\nfn=(1) a\n0x10 2 5\n\nob=\n"
				       "fl=(1)\nfn=(2) b\n-8 3 0\ncfl=(1)\ncfn=(1)\n"
				       "calls=0 * 2\n* * 5\n",
				       SIZE_MAX, NULL);
	expect_flat(go, "inuse_space(MB) a 5\n");
	expect_edges(go, "");
}

static void test_malformed(void **state)
{
	(void)state;
	static const struct {
		const char *text, *message;
	} wanted[] = {
		{ "events: A\nfn=f\n1 2 3\n", "line 3: its costs are no numbers" },
		{ "events: A\nfn=f\n1 two\n", "line 3: its costs are no numbers" },
		{ "events: A\nfn=f\n1 2\n-2 1\n", "line 4: its position is no number" },
		{ "events: A\nfn=f\n9a 1\n", "line 3: its position is no number" },
		{ "events: A\nfn=(1)\n", "line 2: nothing had that number before" },
		{ "events: A\nfn=f\nhello\n", "line 3: it is neither a cost nor a name" },
		{ "events: A\nhm=f\n", "line 2: it is neither a cost nor a name" },
		{ "fn=f\n1 2\n", "line 2: a cost comes before the names" },
		{ "events: A A\n", "line 1: it names an event twice" },
		{ "events:\n", "line 1: it names no event" },
		{ "events: A\nfn=f\ncalls=x 1\n", "line 3: its count or its target" },
		{ "events: A\nfn=f\ncalls=1 1\nfn=g\n", "line 4: the line before needs" },
		{ "events: A\nfn=f\n1 1\ncalls=1 1\n", "line 4: the file ends in the middle" },
		{ "positions: line instr\nevents: A\n", "line 1: positions are" },
		{ "event: B = 3 +\nevents: A\n", "line 1: its formula is no sum" },
		{ "creator: callgrind-3\nevents: A\nfn=f\n1 1\n", "line 4: the file is cut off" },
		{ "events: A\nfn=f\n1 18446744073709551616\n", "line 3: its costs are no numbers" },
	};
	for (size_t i = 0; i < COUNT_OF(wanted); i++) {
		struct profile *profile = NULL;
		struct error err = { 0 };
		const char *text = wanted[i].text;
		assert_int_equal(imported(&importer_callgrind, span_of_text(text), SIZE_MAX,
					  &(struct import_options){ 0 }, &profile, &err),
				 -EBADMSG);
		if (strncmp(err.text, wanted[i].message, strlen(wanted[i].message)) != 0)
			fail_msg("'%s', not '%s'", err.text, wanted[i].message);
	}
}

static void test_force_keeps_what_came_before(void **state)
{
	(void)state;
	static const char text[] = "events: A\nfn=f\n1 2\n1 x\n1 4\n";
	CLEANUP(buffer_release) struct buffer said = { 0 };
	CLEANUP(profile_freep) struct profile *profile = NULL;
	assert_int_equal(imported(&importer_callgrind, span_of_text(text), 4,
				  &(struct import_options){ .force = true,
							    .say = imported_say,
							    .say_context = &said },
				  &profile, NULL),
			 0);
	expect_flat(profile, "A f 2\n");
	assert_string_equal(buffer_text(&said),
			    "warning: line 4: its costs are no numbers, or more than the file has "
			    "events; what comes before is kept\n");
}

static void test_too_much(void **state)
{
	(void)state;
	static const char *const texts[] = {
		"fn=f\n0x1 18446744073709551615\n0x2 1\n",
		"fn=f\ncfn=g\ncalls=1 0x9\n0x1 18446744073709551615\ncfn=g\ncalls=1 0x9\n0x2 1\n",
		"fn=f\ncfn=g\ncalls=18446744073709551615 0x9\n0x1 1\ncalls=1 0x9\n0x2 1\n",
	};
	static const char *const messages[] = { "line 6: the costs add up to more than 64 bits",
						"line 10: the costs add up to more than 64 bits",
						"line 9: the costs add up to more than 64 bits" };
	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		CLEANUP(buffer_release) struct buffer text = { 0 };
		struct profile *profile = NULL;
		struct error err = { 0 };
		buffer_printf(&text, "positions: instr\nevents: A\nob=/bin/x\n%s", texts[i]);
		assert_int_equal(imported(&importer_callgrind, span_of_text(buffer_text(&text)),
					  SIZE_MAX, &(struct import_options){ 0 }, &profile, &err),
				 -EOVERFLOW);
		assert_string_equal(err.text, messages[i]);
	}
}

static void test_recognised(void **state)
{
	(void)state;
	static const char *const yes[] = { example, with_addresses, "events: A",
					   "\n# x\r\nversion: 1\nevents: Ir\n" };
	static const char *const no[] = { "", "main;f 3\n", "version: 1\nother: 2\nevents: A\n",
					  "creator: x\n", "event" };
	for (size_t i = 0; i < COUNT_OF(yes); i++)
		assert_ptr_equal(importer_find(yes[i], strlen(yes[i])), &importer_callgrind);
	for (size_t i = 0; i < COUNT_OF(no); i++)
		assert_false(importer_callgrind.recognise(no[i], strlen(no[i])));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_costs_of_lines),
		cmocka_unit_test(test_calls_are_edges_and_no_cost),
		cmocka_unit_test(test_addresses_and_compression),
		cmocka_unit_test(test_lines_of_addresses),
		cmocka_unit_test(test_parts_add_up),
		cmocka_unit_test(test_totals_are_checked),
		cmocka_unit_test(test_a_file_that_is_cut_off),
		cmocka_unit_test(test_names_that_look_like_numbers),
		cmocka_unit_test(test_other_writers),
		cmocka_unit_test(test_malformed),
		cmocka_unit_test(test_force_keeps_what_came_before),
		cmocka_unit_test(test_too_much),
		cmocka_unit_test(test_recognised),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
