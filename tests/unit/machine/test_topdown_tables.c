#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/count_of.h"
#include "base/error.h"
#include "machine/event.h"
#include "machine/pmu.h"
#include "machine/topdown_method.h"
#include "machine/topdown_table.h"
#include "trees.h"

static struct topdown_method method;
static struct cpu_info info;

/* ---- the program's tables */

static void every_table_is_whole_and_sensible(void **state)
{
	(void)state;
	for (size_t i = 0; topdown_table_name(i); i++)
		for (enum fact smt = FACT_NO; smt <= FACT_YES; smt++) {
			struct error err;
			const char *name = topdown_table_name(i);
			print_message("%s\n", name);
			if (topdown_method_parse(topdown_table_text(i), name, smt, &method, &err))
				fail_msg("%s", err.text);
			assert_string_equal(method.name, name);
			assert_true(method.title[0] && method.source[0]);
			assert_in_range(method.group_count, 1, method.event_count);
			for (size_t e = 0; e < method.event_count; e++) {
				const struct topdown_event *event = &method.events[e];
				unsigned before = e ? method.events[e - 1].group : 0;
				assert_in_range(event->group, before, before + 1);
				assert_true(event->level <= 2 && event->corrected_level <= 2);
				assert_true(event->level || event->corrected_level);
				assert_true(event->source[0] != 0);
			}
			/* level 1's events come first, so that it is complete without later groups
			 */
			assert_int_equal(method.events[0].level, 1);
		}
	assert_null(topdown_table_name(27));
}

/* Fields of the register stand behind the slots in their group, as the kernel wants them. */
static void slots_lead_the_fields_of_the_metrics_register(void **state)
{
	(void)state;
	unsigned with_fields = 0;
	for (size_t i = 0; topdown_table_name(i); i++) {
		assert_int_equal(
			topdown_method_parse(topdown_table_text(i), "t", FACT_NO, &method, NULL),
			0);
		with_fields += method.register_levels > 0;
		for (size_t e = 0; e < method.event_count; e++) {
			if (method.events[e].field == TOPDOWN_NO_FIELD)
				continue;
			assert_int_equal(method.events[e].group, 0);
			assert_int_equal(method.events[0].config, 0x0400);
			assert_int_equal(method.events[e].config,
					 0x8000 + 0x100 * method.events[e].field);
		}
	}
	assert_int_equal(with_fields, 3);
}

static bool overlap(const struct topdown_match *a, const struct topdown_match *b)
{
	return a->cpu.arm == b->cpu.arm && strcmp(a->cpu.vendor, b->cpu.vendor) == 0 &&
	       a->cpu.family == b->cpu.family && a->cpu.model <= b->last_model &&
	       b->cpu.model <= a->last_model && a->cpu.revision <= b->last_revision &&
	       b->cpu.revision <= a->last_revision &&
	       (a->cpu.core == b->cpu.core || a->cpu.core == TOPDOWN_CORE_UNKNOWN ||
		b->cpu.core == TOPDOWN_CORE_UNKNOWN);
}

/* All match lines of all tables. */
static size_t read_matches(struct topdown_match *matches, size_t room)
{
	size_t count = 0;
	for (size_t i = 0; topdown_table_name(i); i++) {
		struct span text = topdown_table_text(i);
		struct topdown_line line;
		for (size_t number = 0; topdown_line_take(&text, &number, &line);) {
			bool x86 = span_equal(line.key, span_of_text("match.x86"));
			if (!x86 && !span_equal(line.key, span_of_text("match.arm")))
				continue;
			assert_true(count < room);
			assert_true(x86 ? topdown_match_x86(line.value, &matches[count])
					: topdown_match_arm(line.value, &matches[count]));
			count++;
		}
	}
	return count;
}

static void no_processor_is_in_two_tables(void **state)
{
	(void)state;
	struct topdown_match matches[200], other;
	size_t count = read_matches(matches, COUNT_OF(matches));
	assert_in_range(count, 80, COUNT_OF(matches));
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < i; k++)
			if (overlap(&matches[i], &matches[k]))
				fail_msg("model %#llx is in two tables",
					 (unsigned long long)matches[i].cpu.model);
	/* and this would be found */
	assert_true(topdown_match_x86(span_of_text("GenuineIntel/0x06/0x96-0x97"), &other));
	bool found = false;
	for (size_t i = 0; i < count; i++)
		found |= overlap(&matches[i], &other);
	assert_true(found);
}

static void every_fallback_is_that_of_a_table_that_needs_something(void **state)
{
	(void)state;
	for (size_t i = 0; topdown_table_name(i); i++) {
		struct span of = topdown_table_value(topdown_table_text(i), "fallback-of");
		bool found = !of.size;
		for (size_t k = 0; topdown_table_name(k); k++)
			found |= span_equal(of, span_of_text(topdown_table_name(k))) &&
				 topdown_table_value(topdown_table_text(k), "needs").size;
		assert_true(found);
		/* and what has neither is for some processor */
		assert_true(of.size ||
			    topdown_table_value(topdown_table_text(i), "match.x86").size ||
			    topdown_table_value(topdown_table_text(i), "match.arm").size);
	}
}

/* ---- which one a machine has */

static void describe_x86(const char *vendor, uint64_t family, uint64_t model)
{
	memset(&info, 0, sizeof(info));
	snprintf(info.vendor_name, sizeof(info.vendor_name), "%s", vendor);
	info.smt = FACT_NO;
	info.type_count = 1;
	info.types[0] = (struct cpu_type){
		.family = family, .model = model, .stepping = 1, .midr = CPU_UNKNOWN_U64
	};
}

static void describe_arm(uint64_t midr)
{
	memset(&info, 0, sizeof(info));
	strcpy(info.vendor_name, "Arm");
	info.type_count = 1;
	info.types[0] = (struct cpu_type){ .family = CPU_UNKNOWN_U64,
					   .model = CPU_UNKNOWN_U64,
					   .stepping = CPU_UNKNOWN_U64,
					   .midr = midr };
}

static void expect(const struct pmu *pmu, const char *name)
{
	struct error err;
	if (topdown_method_choose(&info, &info.types[0], pmu, &method, &err))
		fail_msg("%s, not '%s'", err.text, name);
	assert_string_equal(method.name, name);
}

static void expect_none(int code, const char *text)
{
	struct error err;
	assert_int_equal(topdown_method_choose(&info, &info.types[0], NULL, &method, &err), code);
	assert_string_equal(err.text, text);
}

static void processors_find_their_methods(void **state)
{
	(void)state;
	static const struct {
		const char *vendor;
		uint64_t family, model;
		const char *name;
	} x86[] = {
		{ "GenuineIntel", 6, 0x2a, "sandy-bridge" },
		{ "GenuineIntel", 6, 0x2d, "sandy-bridge" },
		{ "GenuineIntel", 6, 0x3e, "ivy-bridge" },
		{ "GenuineIntel", 6, 0x3f, "haswell" },
		{ "GenuineIntel", 6, 0x56, "broadwell" },
		{ "GenuineIntel", 6, 0x55, "skylake" },
		{ "GenuineIntel", 6, 0xa5, "skylake" },
		{ "GenuineIntel", 6, 0x6a, "ice-lake" },
		{ "GenuineIntel", 6, 0x8c, "ice-lake" },
		{ "GenuineIntel", 6, 0xa7, "ice-lake" },
		{ "GenuineIntel", 6, 0x8f, "golden-cove" },
		{ "GenuineIntel", 6, 0xcf, "golden-cove" },
		{ "GenuineIntel", 6, 0xad, "golden-cove" },
		{ "GenuineIntel", 6, 0x4c, "silvermont" },
		{ "GenuineIntel", 6, 0x5f, "goldmont" },
		{ "GenuineIntel", 6, 0x7a, "goldmont-plus" },
		{ "GenuineIntel", 6, 0x86, "tremont" },
		{ "GenuineIntel", 6, 0xbe, "gracemont" },
		{ "GenuineIntel", 6, 0xaf, "crestmont" },
		{ "AuthenticAMD", 0x19, 0x11, "zen4" },
		{ "AuthenticAMD", 0x19, 0xa1, "zen4" },
		{ "AuthenticAMD", 0x1a, 0x02, "zen5" },
		{ "AuthenticAMD", 0x1a, 0x44, "zen5" },
	};
	static const struct {
		uint64_t midr;
		const char *name;
	} arm[] = {
		{ 0x413fd0c1, "neoverse-n1" },	    { 0x411fd401, "neoverse-v1" },
		{ 0x410fd490, "neoverse-n2" },	    { 0x410fd492, "neoverse-n2" },
		{ 0x410fd493, "neoverse-n2-r0p3" }, { 0x6d0fd493, "neoverse-n2-r0p3" },
		{ 0x410fd4f0, "neoverse-v2" },	    { 0x410fd840, "neoverse-v3" },
		{ 0x410fd831, "neoverse-v3" },	    { 0x410fd8e0, "neoverse-n3" },
	};
	for (size_t i = 0; i < COUNT_OF(x86); i++) {
		describe_x86(x86[i].vendor, x86[i].family, x86[i].model);
		expect(NULL, x86[i].name);
	}
	for (size_t i = 0; i < COUNT_OF(arm); i++) {
		describe_arm(arm[i].midr);
		expect(NULL, arm[i].name);
		assert_false(method.fallback);
	}
}

static void others_have_none_and_are_named(void **state)
{
	(void)state;
	describe_x86("GenuineIntel", 6, 0x1a); /* Nehalem */
	expect_none(-ENOENT, "no method for this CPU (GenuineIntel 06-1a-01)");
	describe_x86("AuthenticAMD", 0x19, 0x21); /* Zen 3 */
	expect_none(-ENOENT, "no method for this CPU (AuthenticAMD 19-21-01)");
	describe_x86("AuthenticAMD", 6, 0x55);
	expect_none(-ENOENT, "no method for this CPU (AuthenticAMD 06-55-01)");
	describe_x86("HygonGenuine", 0x18, 0x01);
	expect_none(-ENOENT, "no method for this CPU (HygonGenuine 18-01-01)");
	describe_arm(0x410fd034);
	expect_none(-ENOENT, "no method for this CPU (Arm MIDR 0x410fd034)");
	describe_arm(0x610f0c10 | 0xd0c0); /* another implementer's part of that number */
	expect_none(-ENOENT, "no method for this CPU (Arm MIDR 0x610fdcd0)");
	describe_x86("", CPU_UNKNOWN_U64, CPU_UNKNOWN_U64);
	expect_none(-ENOENT, "no method for this CPU (unknown vendor unknown model)");
}

static void each_core_type_of_a_hybrid_machine_has_its_own(void **state)
{
	(void)state;
	CLEANUP(tree_remove) struct tree tree;
	CLEANUP(pmu_list_release) struct pmu_list pmus = { 0 };
	struct error err;
	tree_make(&tree, tree_intel_hybrid);
	cpu_info_read(&tree.root, &info);
	assert_int_equal(pmu_list_read(&tree.root, &pmus, NULL), 0);
	assert_int_equal(info.type_count, 2);
	for (size_t i = 0; i < 2; i++) {
		const struct cpu_type *type = &info.types[i];
		bool big = strcmp(type->name, "cpu_core") == 0;
		assert_int_equal(topdown_method_choose(&info, type, NULL, &method, &err), 0);
		assert_string_equal(method.name, big ? "golden-cove" : "gracemont");
		/* this tree's cpu_core has slots, and no topdown-* */
		assert_int_equal(topdown_method_choose(&info, type, pmu_find(&pmus, type->name),
						       &method, &err),
				 0);
		assert_string_equal(method.name, big ? "golden-cove-events" : "gracemont");
		assert_int_equal(method.fallback, big);
	}
}

static void three_core_types_are_told_apart(void **state)
{
	(void)state;
	static const char *const names[][2] = { { "cpu_core", "lion-cove" },
						{ "cpu_atom", "skymont" },
						{ "cpu_lowpower", "crestmont" } };
	for (size_t i = 0; i < COUNT_OF(names); i++) {
		describe_x86("GenuineIntel", 6, 0xc5);
		strcpy(info.types[0].name, names[i][0]);
		expect(NULL, names[i][1]);
	}
	describe_x86("GenuineIntel", 6, 0xbd); /* Lunar Lake has no third */
	strcpy(info.types[0].name, "cpu_lowpower");
	expect_none(-ENOENT, "no method for this CPU (GenuineIntel 06-bd-01, cpu_lowpower)");
}

static const struct pmu_event core_events[] = {
	{ .name = "slots" },
	{ .name = "topdown-retiring" },
	{ .name = "topdown-bad-spec" },
	{ .name = "topdown-fe-bound" },
	{ .name = "topdown-be-bound" },
	{ .name = "topdown-heavy-ops" },
	{ .name = "topdown-br-mispredict" },
	{ .name = "topdown-fetch-lat" },
	{ .name = "topdown-mem-bound" },
};

/* Firmware can turn the cores of one kind off: then cpu_info has a type without a name. */
static void a_single_core_type_is_told_by_its_pmu(void **state)
{
	(void)state;
	struct pmu pmu = { .name = "cpu_core",
			   .events = core_events,
			   .event_count = COUNT_OF(core_events) };
	describe_x86("GenuineIntel", 6, 0x97);
	expect(&pmu, "golden-cove");
	pmu.name = "cpu_atom";
	pmu.event_count = 0;
	expect(&pmu, "gracemont");
	pmu.name = "cpu";
	pmu.event_count = COUNT_OF(core_events);
	expect(&pmu, "golden-cove");
	expect_none(-ENODATA,
		    "which of its two kinds of cores this CPU runs on is not known: there "
		    "is no PMU named cpu_core or cpu_atom");
}

static void a_pmu_without_the_register_gets_the_method_with_events(void **state)
{
	(void)state;
	struct pmu pmu = { .name = "cpu", .events = core_events, .event_count = 5 };
	describe_x86("GenuineIntel", 6, 0x6a);
	expect(&pmu, "ice-lake");
	assert_int_equal(method.register_levels, 1);
	pmu.event_count = 4;
	expect(&pmu, "ice-lake-events");
	assert_true(method.fallback);
	assert_int_equal(method.register_levels, 0);
	describe_x86("GenuineIntel", 6,
		     0x8f); /* level 1 alone is what Sapphire Rapids does not have */
	pmu.event_count = 5;
	expect(&pmu, "golden-cove-events");
	pmu.event_count = 9;
	expect(&pmu, "golden-cove");
	assert_int_equal(method.register_levels, 2);
}

static void what_two_threads_share_decides_on_events(void **state)
{
	(void)state;
	describe_x86("GenuineIntel", 6, 0x55);
	expect(NULL, "skylake");
	assert_string_equal(method.events[0].terms, "event=0x3c,umask=0x00");
	info.smt = FACT_YES;
	expect(NULL, "skylake");
	assert_string_equal(method.events[0].terms, "event=0x3c,umask=0x00,any=1");
	info.smt = FACT_UNKNOWN;
	expect_none(-ENODATA,
		    "the method 'skylake' has to know whether two threads share a core, and "
		    "this machine does not say");
	describe_x86("AuthenticAMD", 0x19, 0x11);
	info.smt = FACT_UNKNOWN;
	expect(NULL, "zen4");
}

static size_t wanted(unsigned level, enum topdown_accuracy accuracy)
{
	size_t count = 0;
	for (size_t e = 0; e < method.event_count; e++)
		count += topdown_event_wanted(&method.events[e], level, accuracy);
	return count;
}

static void levels_and_corrections_choose_events(void **state)
{
	(void)state;
	describe_x86("GenuineIntel", 6, 0x8f);
	expect(NULL, "golden-cove");
	assert_int_equal(wanted(1, TOPDOWN_PLAIN), 5);
	assert_int_equal(wanted(1, TOPDOWN_CORRECTED), 6);
	assert_int_equal(wanted(2, TOPDOWN_PLAIN), 9);
	assert_int_equal(wanted(2, TOPDOWN_CORRECTED), method.event_count);
	describe_x86("GenuineIntel", 6, 0x6a);
	expect(NULL, "ice-lake");
	assert_int_equal(wanted(1, TOPDOWN_PLAIN), 5);
	assert_int_equal(wanted(1, TOPDOWN_CORRECTED), 7);
	/* level 2 is made of corrected figures alone */
	assert_int_equal(wanted(2, TOPDOWN_PLAIN), method.event_count);
	describe_x86("AuthenticAMD", 0x19, 0x11);
	expect(NULL, "zen4");
	assert_int_equal(wanted(1, TOPDOWN_CORRECTED), 6);
	assert_int_equal(wanted(2, TOPDOWN_PLAIN), 12);
}

/* ---- events as machine/event.h reads them */

static const struct tree_file formats[] = {
	{ TREE_PMU "cpu/type", "4" },
	{ TREE_PMU "cpu/format/event", "config:0-7" },
	{ TREE_PMU "cpu/format/umask", "config:8-15" },
	{ TREE_PMU "cpu/format/edge", "config:18" },
	{ TREE_PMU "cpu/format/any", "config:21" },
	{ TREE_PMU "cpu/format/inv", "config:23" },
	{ TREE_PMU "cpu/format/cmask", "config:24-31" },
	{ TREE_PMU "amd/type", "4" },
	{ TREE_PMU "amd/format/event", "config:0-7,32-35" },
	{ TREE_PMU "amd/format/umask", "config:8-15" },
	{ TREE_PMU "amd/format/edge", "config:18" },
	{ TREE_PMU "amd/format/inv", "config:23" },
	{ TREE_PMU "amd/format/cmask", "config:24-31" },
	{ TREE_PMU "armv8_pmuv3_0/type", "8" },
	{ TREE_PMU "armv8_pmuv3_0/format/event", "config:0-15" },
	{ NULL, NULL },
};

static void events_parse_to_the_configs_that_tables_have(void **state)
{
	(void)state;
	CLEANUP(tree_remove) struct tree tree;
	CLEANUP(pmu_list_release) struct pmu_list pmus = { 0 };
	tree_make(&tree, formats);
	assert_int_equal(pmu_list_read(&tree.root, &pmus, NULL), 0);
	for (size_t i = 0; topdown_table_name(i); i++) {
		struct error err;
		const char *name = topdown_table_name(i);
		const char *pmu = strncmp(name, "zen", 3) == 0	      ? "amd"
				  : strncmp(name, "neoverse", 8) == 0 ? "armv8_pmuv3_0"
								      : "cpu";
		assert_int_equal(
			topdown_method_parse(topdown_table_text(i), name, FACT_YES, &method, &err),
			0);
		for (size_t e = 0; e < method.event_count; e++) {
			CLEANUP(event_list_release) struct event_list list = { 0 };
			char text[TOPDOWN_EVENT_TEXT_BYTES];
			topdown_event_format(&method.events[e], pmu, text);
			if (event_list_parse(&list, &pmus, NULL, text, &err))
				fail_msg("%s", err.text);
			if (list.events[0].attr.config != method.events[e].config)
				fail_msg("'%s' of '%s' is %#llx, not %#llx", text, name,
					 (unsigned long long)list.events[0].attr.config,
					 (unsigned long long)method.events[e].config);
		}
	}
}

/* ---- tables that are wrong */

static const char right[] = "name t # s\n"
			    "title A core # s\n"
			    "encoding intel # s\n"
			    "unit slots # s\n"
			    "match.x86 GenuineIntel/0x06/0x10 # s\n"
			    "group 1 # s\n"
			    "event.slots event=0x01,umask=0x02 # s\n"
			    "event.b event=0x02 # s\n"
			    "figure.retiring b / slots # s\n"
			    "figure.bad_speculation 1 - b / slots # s\n"
			    "sum none # s\n"
			    "absent.frontend_bound no # s\n"
			    "absent.backend_bound no # s\n"
			    "absent.heavy_operations no # s\n"
			    "absent.light_operations no # s\n"
			    "absent.branch_mispredicts no # s\n"
			    "absent.machine_clears no # s\n"
			    "absent.fetch_latency no # s\n"
			    "absent.fetch_bandwidth no # s\n"
			    "absent.memory_bound no # s\n"
			    "absent.core_bound no # s\n"
			    "absent.smt_contention no # s\n";

/* The table with one text replaced by another. */
static int parse_with(const char *from, const char *to, struct error *err)
{
	char text[4096];
	const char *at = strstr(right, from);
	assert_non_null(at);
	snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - right), right, to, at + strlen(from));
	return topdown_method_parse(span_of_text(text), "t", FACT_NO, &method, err);
}

static void a_broken_table_is_refused_with_the_place(void **state)
{
	(void)state;
	static const struct {
		const char *from, *to, *message;
	} wrong[] = {
		{ "name t", "nam t", "line 1: unknown key 'nam'" },
		{ "name t # s", "name t", "line 1: no source for 'name'" },
		{ "name t # s", "name # s", "line 1: no value for 'name'" },
		{ "name t # s\n", "", "'name' is missing" },
		{ "title A core # s\n", "", "'title' is missing" },
		{ "encoding intel", "encoding vax", "line 3: wrong encoding 'vax'" },
		{ "encoding intel # s\n", "", "line 6: no encoding or no group before 'slots'" },
		{ "unit slots", "unit cows", "line 4: wrong unit 'cows'" },
		{ "unit slots", "unit cycles", "'let.slots' is missing" },
		{ "0x06/0x10", "0x06", "line 5: no processor 'GenuineIntel/0x06'" },
		{ "0x06/0x10", "0x06/0x20-0x10",
		  "line 5: no processor 'GenuineIntel/0x06/0x20-0x10'" },
		{ "0x06/0x10", "0x06/0x10/big",
		  "line 5: no processor 'GenuineIntel/0x06/0x10/big'" },
		{ "group 1 # s\n", "", "line 6: no encoding or no group before 'slots'" },
		{ "group 1 # s\n", "group 1 # s\ngroup 2 # s\n",
		  "line 7: no event before group '2'" },
		{ "event=0x01,", "event=0x101,", "line 7: wrong term 'event=0x101'" },
		{ "event=0x01,", "evnt=0x01,", "line 7: wrong term 'evnt=0x01'" },
		{ "event=0x01,", "event=0x01,,", "line 7: wrong term ''" },
		{ "event.b ", "event.B ", "line 8: no name 'B'" },
		{ "event.b ", "event.slots ", "line 8: given twice 'slots'" },
		{ "event.b ", "event.retiring ", "line 8: given twice 'retiring'" },
		{ "b / slots # s\nfigure.bad", "b / slot # s\nfigure.bad",
		  "line 9: unknown name at 'slot' of 'b / slot'" },
		{ "b / slots # s\nfigure.bad", "b / slots) # s\nfigure.bad",
		  "line 9: cannot read on at ')' of 'b / slots)'" },
		{ "b / slots # s\nfigure.bad", "(b / slots # s\nfigure.bad",
		  "line 9: ')' is missing at '' of '(b / slots'" },
		{ "b / slots # s\nfigure.bad", "b / # s\nfigure.bad",
		  "line 9: no operand at '' of 'b /'" },
		{ "b / slots # s\nfigure.bad", "min(b) # s\nfigure.bad",
		  "line 9: a comma is missing at ')' of 'min(b)'" },
		{ "b / slots # s\nfigure.bad", "b / 99999999999999999999 # s\nfigure.bad",
		  "line 9: no number at '99999999999999999999' of 'b / 99999999999999999999'" },
		{ "b / slots # s\nfigure.bad", "b / 1. # s\nfigure.bad",
		  "line 9: no number at '1.' of 'b / 1.'" },
		/* a category is known from its line on: no formula can refer to itself */
		{ "b / slots # s\nfigure.bad", "retiring # s\nfigure.bad",
		  "line 9: unknown name at 'retiring' of 'retiring'" },
		{ "figure.retiring", "figure.ripening", "line 9: no category 'ripening'" },
		{ "figure.bad_speculation", "figure.retiring", "line 10: given twice 'retiring'" },
		{ "absent.frontend_bound", "absent.retiring", "line 12: given twice 'retiring'" },
		{ "absent.core_bound no # s\n", "", "'core_bound' is missing" },
		{ "sum none # s\n", "", "'sum' is missing" },
		{ "sum none # s\n", "sum none # s\nsum none # s\n", "line 12: given twice 'sum'" },
		{ "b / slots # s\nfigure.bad_speculation 1 - b / slots",
		  "1 / slots # s\nfigure.bad_speculation 0 / slots", "nothing uses event 'b'" },
		{ "sum none", "field.c 1 # s\nsum none", "line 11: no event 'c'" },
		{ "sum none", "field.b 8 # s\nsum none", "line 11: no field '8'" },
	};
	struct error err;
	assert_int_equal(topdown_method_parse(span_of_text(right), "t", FACT_NO, &method, &err), 0);
	for (size_t i = 0; i < COUNT_OF(wrong); i++) {
		char message[200];
		snprintf(message, sizeof(message), "table 't': %s", wrong[i].message);
		assert_int_equal(parse_with(wrong[i].from, wrong[i].to, &err), -EBADMSG);
		assert_string_equal(err.text, message);
	}
}

static void conditions_choose_lines(void **state)
{
	(void)state;
	struct error err;
	assert_int_equal(parse_with("event.b event=0x02",
				    "smt:event.b event=0x03 # s\nsingle:event.b event=0x02", &err),
			 0);
	assert_int_equal(method.events[1].config, 2);
	assert_int_equal(parse_with("event.b event=0x02", "smt:event.b event=0x03", &err),
			 -EBADMSG);
	assert_string_equal(err.text,
			    "table 't': line 9: unknown name at 'b / slots' of 'b / slots'");
}

/* Cut at each length and with each byte changed a table is read or refused, and nothing else. */
static void any_damage_is_read_or_refused(void **state)
{
	(void)state;
	char text[sizeof(right)];
	unsigned refused = 0;
	for (size_t size = 0; size < sizeof(right) - 1; size++)
		refused += topdown_method_parse((struct span){ right, size }, "t", FACT_NO, &method,
						NULL) < 0;
	assert_in_range(refused, sizeof(right) - 4, sizeof(right) - 1); /* but for the last "s\n" */
	for (size_t at = 0; at < sizeof(right) - 1; at++)
		for (unsigned flip = 1; flip < 256; flip <<= 1) {
			memcpy(text, right, sizeof(right));
			text[at] = (char)(text[at] ^ flip);
			topdown_method_parse((struct span){ text, sizeof(right) - 1 }, "t", FACT_NO,
					     &method, NULL);
		}
}

static void nested_and_long_formulas_have_an_end(void **state)
{
	(void)state;
	struct error err;
	char text[3000] = "b";
	for (int i = 0; i < 40; i++) {
		char inner[3000];
		strcpy(inner, text);
		snprintf(text, sizeof(text), "(%.2900s)", inner);
	}
	strcat(text, " / slots # s\nfigure.bad");
	assert_int_equal(parse_with("b / slots # s\nfigure.bad", text, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "nested too deeply"));
	strcpy(text, "b");
	while (strlen(text) < 2 * TOPDOWN_NODES)
		strcat(text, "+1");
	strcat(text, " # s\nfigure.bad");
	assert_int_equal(parse_with("b / slots # s\nfigure.bad", text, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "too many formulas"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_table_is_whole_and_sensible),
		cmocka_unit_test(slots_lead_the_fields_of_the_metrics_register),
		cmocka_unit_test(no_processor_is_in_two_tables),
		cmocka_unit_test(every_fallback_is_that_of_a_table_that_needs_something),
		cmocka_unit_test(processors_find_their_methods),
		cmocka_unit_test(others_have_none_and_are_named),
		cmocka_unit_test(each_core_type_of_a_hybrid_machine_has_its_own),
		cmocka_unit_test(three_core_types_are_told_apart),
		cmocka_unit_test(a_single_core_type_is_told_by_its_pmu),
		cmocka_unit_test(a_pmu_without_the_register_gets_the_method_with_events),
		cmocka_unit_test(what_two_threads_share_decides_on_events),
		cmocka_unit_test(levels_and_corrections_choose_events),
		cmocka_unit_test(events_parse_to_the_configs_that_tables_have),
		cmocka_unit_test(a_broken_table_is_refused_with_the_place),
		cmocka_unit_test(conditions_choose_lines),
		cmocka_unit_test(any_damage_is_read_or_refused),
		cmocka_unit_test(nested_and_long_formulas_have_an_end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
