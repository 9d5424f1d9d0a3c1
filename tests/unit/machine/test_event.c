#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "machine/event.h"
#include "machine/event_names.h"
#include "machine/pmu.h"
#include "tree.h"

#define PMU "sys/bus/event_source/devices/"

static const struct tree_file intel_files[] = {
	{ PMU "cpu/type", "4" },
	{ PMU "cpu/format/event", "config:0-7" },
	{ PMU "cpu/format/umask", "config:8-15" },
	{ PMU "cpu/format/edge", "config:18" },
	{ PMU "cpu/format/cmask", "config:24-31" },
	{ PMU "cpu/format/offcore_rsp", "config1:0-63" },
	{ PMU "cpu/format/frontend", "config1:0-23" },
	{ PMU "cpu/events/cpu-cycles", "event=0x3c" },
	{ PMU "cpu/events/topdown-retiring", "event=0xc2,umask=0x02" },
	{ PMU "cpu/events/mem-loads", "event=0xcd,umask=0x1,ldlat=3" },
	{ PMU "cpu/events/needs-core", "event=0x1,umask=?" },
	{ PMU "software/type", "1" },
	{ PMU "power/type", "12" },
	{ PMU "power/cpumask", "0" },
	{ PMU "power/format/event", "config:0-7" },
	{ PMU "power/events/energy-pkg", "event=0x02" },
	{ PMU "power/events/energy-pkg.scale", "2.3283064365386962890625e-10" },
	{ PMU "power/events/energy-pkg.unit", "Joules" },
	{ PMU "uncore_imc_0/type", "14" },
	{ PMU "uncore_imc_0/cpumask", "0" },
	{ PMU "uncore_imc_0/format/event", "config:0-7" },
	{ PMU "uncore_imc_1/type", "15" },
	{ PMU "uncore_imc_1/cpumask", "0" },
	{ PMU "uncore_imc_1/format/event", "config:0-7" },
	{ NULL, NULL },
};

static const struct tree_file hybrid_files[] = {
	{ PMU "cpu_atom/type", "10" },
	{ PMU "cpu_atom/cpus", "4-7" },
	{ PMU "cpu_atom/format/event", "config:0-7" },
	{ PMU "cpu_atom/format/umask", "config:8-15" },
	{ PMU "cpu_atom/events/topdown-retiring", "event=0xc2,umask=0x0" },
	{ PMU "cpu_core/type", "4" },
	{ PMU "cpu_core/cpus", "0-3" },
	{ PMU "cpu_core/format/event", "config:0-7" },
	{ PMU "cpu_core/format/umask", "config:8-15" },
	{ PMU "cpu_core/events/topdown-retiring", "event=0x00,umask=0x80" },
	{ PMU "cpu_core/events/slots", "event=0x00,umask=0x4" },
	{ PMU "software/type", "1" },
	{ NULL, NULL },
};

static const struct tree_file arm_files[] = {
	{ PMU "armv8_cortex_a53/type", "7" },
	{ PMU "armv8_cortex_a53/cpus", "0-3" },
	{ PMU "armv8_cortex_a53/format/event", "config:0-15" },
	{ PMU "armv8_cortex_a72/type", "8" },
	{ PMU "armv8_cortex_a72/cpus", "4-5" },
	{ PMU "armv8_cortex_a72/format/event", "config:0-15" },
	{ NULL, NULL },
};

static const struct tree_file no_pmu_files[] = {
	{ PMU "software/type", "1" },
	{ NULL, NULL },
};

struct world {
	struct tree tree;
	struct pmu_list pmus;
	struct event_list list;
	struct error err;
};

static void world_make(struct world *world, const struct tree_file *files)
{
	memset(world, 0, sizeof(*world));
	tree_make(&world->tree, files);
	assert_int_equal(pmu_list_read(&world->tree.root, &world->pmus, &world->err), 0);
}

static void world_release(struct world *world)
{
	event_list_release(&world->list);
	pmu_list_release(&world->pmus);
	tree_remove(&world->tree);
}

static const struct event *parse_one(struct world *world, const char *text)
{
	int status = event_list_parse(&world->list, &world->pmus, NULL, text, &world->err);
	if (status)
		fail_msg("'%s': %s", text, world->err.text);
	return &world->list.events[world->list.count - 1];
}

static void refuses(struct world *world, const char *text, int code, const char *sentence)
{
	size_t before = world->list.count;
	assert_int_equal(event_list_parse(&world->list, &world->pmus, NULL, text, &world->err),
			 code);
	assert_string_equal(world->err.text, sentence);
	assert_int_equal(world->list.count, before);
}

static void assert_perf(const struct event *event, const char *spelling)
{
	char text[256];
	event_format_perf(event, text, sizeof(text));
	assert_string_equal(text, spelling);
}

static void generic_names_have_the_kernels_numbers(void **state)
{
	(void)state;
	CLEANUP(world_release) struct world w;
	world_make(&w, intel_files);
	const struct event *event = parse_one(&w, "cycles");
	assert_int_equal(event->attr.type, PERF_TYPE_HARDWARE);
	assert_int_equal(event->attr.config, PERF_COUNT_HW_CPU_CYCLES);
	assert_int_equal(event->attr.size, sizeof(event->attr));
	assert_int_equal(event->cycles, EVENT_THREAD_CYCLES);
	assert_string_equal(event->name, "cycles");
	assert_string_equal(event->pmu, "cpu");
	assert_string_equal(event->unit, "cycles");
	assert_null(event->core_type);
	assert_int_equal(parse_one(&w, "ref-cycles")->cycles, EVENT_REF_CYCLES);
	assert_int_equal(parse_one(&w, "branch-instructions")->attr.config,
			 PERF_COUNT_HW_BRANCH_INSTRUCTIONS);
	assert_int_equal(parse_one(&w, "cs")->attr.type, PERF_TYPE_SOFTWARE);
	event = parse_one(&w, "cpu-clock");
	assert_true(event->clock);
	assert_string_equal(event->unit, "ns");
	assert_string_equal(event->pmu, "software");
}

static void cache_names_take_every_spelling_of_perf(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		uint64_t config;
	} known[] = {
		{ "L1-dcache-loads", 0x0 },
		{ "L1-dcache-load-misses", 0x10000 },
		{ "L1-dcache-stores", 0x100 },
		{ "l1d-write-miss", 0x10100 },
		{ "L1-dcache-misses-load", 0x10000 },
		{ "L1-icache-load-misses", 0x10001 },
		{ "LLC-load-misses", 0x10002 },
		{ "L2-prefetch-misses", 0x10202 },
		{ "dTLB-store-misses", 0x10103 },
		{ "iTLB-load-misses", 0x10004 },
		{ "branch-load-misses", 0x10005 },
		{ "node-speculative-read-refs", 0x206 },
		{ "Data-TLB-read", 0x3 },
		{ "l1-d", 0x0 },
	};
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		uint64_t config = UINT64_MAX;
		if (!cache_name_parse(known[i].name, &config))
			fail_msg("%s", known[i].name);
		assert_int_equal(config, known[i].config);
	}
	uint64_t config;
	assert_false(cache_name_parse("L1-icache-stores", &config));
	assert_false(cache_name_parse("L1-dcache-", &config));
	assert_false(cache_name_parse("L1-dcache-load-store", &config));
	assert_false(cache_name_parse("L1-dcache-load-miss-miss", &config));
	assert_false(cache_name_parse("L1-dcacheload", &config));
	assert_false(cache_name_parse("", &config));
}

static void canonical_cache_names_parse_back(void **state)
{
	(void)state;
	char name[CACHE_NAME_SIZE], description[64];
	uint64_t config, back;
	size_t count = 0;
	for (; cache_name_at(count, name, &config, description, sizeof(description)); count++) {
		assert_true(cache_name_parse(name, &back));
		assert_int_equal(back, config);
	}
	assert_int_equal(count, 32);
}

static void modifiers_set_what_perf_sets(void **state)
{
	(void)state;
	CLEANUP(world_release) struct world w;
	world_make(&w, intel_files);
	const struct event *event = parse_one(&w, "cycles:u");
	assert_true(event->attr.exclude_kernel && event->attr.exclude_hv);
	assert_false(event->attr.exclude_user);
	assert_string_equal(event->name, "cycles:u");
	event = parse_one(&w, "cycles:uk");
	assert_false(event->attr.exclude_kernel || event->attr.exclude_user);
	assert_true(event->attr.exclude_hv);
	assert_int_equal(parse_one(&w, "cycles:ppp")->attr.precise_ip, 3);
	assert_true(parse_one(&w, "cycles:P")->max_precise);
	event = parse_one(&w, "cycles:G");
	assert_true(event->attr.exclude_host && !event->attr.exclude_guest);
	event = parse_one(&w, "cycles:HID");
	assert_true(event->attr.exclude_guest && event->attr.exclude_idle && event->attr.pinned);
	refuses(&w, "cycles:x", -EINVAL,
		"unknown modifier 'x': there are u k h (user, kernel, hypervisor), p to ppp and P "
		"(precise), G H (guest, host), I (not idle), S, D, e (character 8 of 'cycles:x')");
	refuses(&w, "cycles:pppp", -EINVAL,
		"more than three 'p': ppp is the most precise (character 11 of 'cycles:pppp')");
	refuses(&w, "cycles:", -EINVAL,
		"a modifier is missing after ':' (character 7 of 'cycles:')");
	refuses(&w, "cpu-clock:pp", -EINVAL,
		"'cpu-clock' is a software event: it has no precise form, drop the 'p'");
}

static void groups_share_a_leader_and_their_modifiers(void **state)
{
	(void)state;
	CLEANUP(world_release) struct world w;
	world_make(&w, intel_files);
	parse_one(&w, "page-faults,{cycles:k,instructions, cpu-clock}:u,branches");
	assert_int_equal(w.list.count, 5);
	assert_int_equal(w.list.events[0].leader, 0);
	assert_int_equal(w.list.events[1].leader, 1);
	assert_int_equal(w.list.events[2].leader, 1);
	assert_int_equal(w.list.events[3].leader, 1);
	assert_int_equal(w.list.events[4].leader, 4);
	assert_int_equal(event_list_group_size(&w.list, 1), 3);
	assert_string_equal(w.list.events[1].name, "cycles:ku");
	assert_false(w.list.events[1].attr.exclude_kernel || w.list.events[1].attr.exclude_user);
	assert_string_equal(w.list.events[2].name, "instructions:u");
	assert_true(w.list.events[2].attr.exclude_kernel);
	assert_false(w.list.events[4].attr.exclude_kernel);
	refuses(&w, "{cycles,instructions", -EINVAL, "no '}' closes '{cycles,instructions'");
	refuses(&w, "{cycles,{branches}}", -EINVAL,
		"an event is missing before '{' (character 9 of '{cycles,{branches}}')");
	refuses(&w, "cycles}", -EINVAL, "a comma is missing before '}' (character 7 of 'cycles}')");
	refuses(&w, "cycles,", -EINVAL,
		"an event is missing at the end (character 8 of 'cycles,')");
	refuses(&w, "{}", -EINVAL, "an event is missing before '}' (character 2 of '{}')");
	refuses(&w, "", -EINVAL, "an event is missing");
	refuses(&w, "{cycles,power/energy-pkg/}", -EINVAL,
		"a group counts on one PMU, but this one is on 'power' and the CPU's own "
		"(character 2 of '{cycles,power/energy-pkg/}')");
}

static void sysfs_terms_fill_the_config_words(void **state)
{
	(void)state;
	CLEANUP(world_release) struct world w;
	world_make(&w, intel_files);
	const struct event *event = parse_one(&w, "cpu/event=0xc2,umask=1,edge,cmask=0x10/u");
	assert_int_equal(event->attr.type, 4);
	assert_int_equal(event->attr.config, 0x100401c2);
	assert_true(event->attr.exclude_kernel);
	assert_string_equal(event->name, "cpu/event=0xc2,umask=1,edge,cmask=0x10/u");
	assert_perf(event, "r100401c2:u");
	event = parse_one(&w, "cpu/event=0xb7,umask=1,offcore_rsp=0x3fbfc00001,name=far/");
	assert_int_equal(event->attr.config1, 0x3fbfc00001);
	assert_string_equal(event->name, "far");
	assert_perf(event, "cpu/config=0x1b7,config1=0x3fbfc00001/");
	event = parse_one(&w, "cpu/umask=0x5,topdown-retiring/");
	assert_int_equal(event->attr.config, 0x5c2);
	event = parse_one(&w, "cpu/config=0x3c,period=1000003/");
	assert_int_equal(event->attr.sample_period, 1000003);
	assert_int_equal(event->cycles, EVENT_THREAD_CYCLES);
	event = parse_one(&w, "cpu/needs-core,umask=7/");
	assert_int_equal(event->attr.config, 0x701);
	event = parse_one(&w, "power/energy-pkg/");
	assert_true(event->uncore && event->has_cpus);
	assert_string_equal(event->unit, "Joules");
	assert_true(event->scale > 2.3e-10 && event->scale < 2.4e-10);
	event = parse_one(&w, "topdown-retiring:k");
	assert_int_equal(event->attr.config, 0x2c2);
	assert_string_equal(event->name, "topdown-retiring:k");

	refuses(&w, "cpu/event=0x1ff/", -EINVAL,
		"'event' of PMU 'cpu' has 8 bits; 0x1ff does not fit (character 5 of "
		"'cpu/event=0x1ff/')");
	refuses(&w, "cpu/evnet=1/", -ENOENT,
		"PMU 'cpu' has no event or field 'evnet'; did you mean 'event'? (character 5 of "
		"'cpu/evnet=1/')");
	refuses(&w, "cpu/event=x/", -EINVAL,
		"'event' of PMU 'cpu' needs a number, not 'x' (character 5 of 'cpu/event=x/')");
	refuses(&w, "cpu/needs-core/", -EINVAL,
		"event 'needs-core' of PMU 'cpu' needs a value: write 'cpu/needs-core,umask=.../'");
	refuses(&w, "cpu/event=1", -EINVAL, "'cpu/event=1' needs two slashes, as 'pmu/event/'");
	refuses(&w, "/event=1/", -EINVAL, "a PMU's name is missing before '/'");
	refuses(&w, "cpu/mem-loads/", -ENOENT,
		"PMU 'cpu' has no event or field 'ldlat'; its fields: cmask, edge, event, "
		"frontend, "
		"offcore_rsp, umask");
	refuses(&w, "cpx/event=1/", -ENOENT, "this machine has no PMU 'cpx'; did you mean 'cpu'?");
}

static void one_name_stands_for_all_numbered_pmus(void **state)
{
	(void)state;
	CLEANUP(world_release) struct world w;
	world_make(&w, intel_files);
	parse_one(&w, "uncore_imc/event=4/,imc_1/event=5/");
	assert_int_equal(w.list.count, 3);
	assert_int_equal(w.list.events[0].attr.type, 14);
	assert_int_equal(w.list.events[1].attr.type, 15);
	assert_int_equal(w.list.events[1].attr.config, 4);
	assert_string_equal(w.list.events[1].pmu, "uncore_imc_1");
	assert_int_equal(w.list.events[2].attr.type, 15);
	refuses(&w, "{uncore_imc/event=4/,uncore_imc_0/event=1/}", -EINVAL,
		"'uncore_imc/event=4/' stands for 2 PMUs; in a group name one, as "
		"'uncore_imc_0/.../' "
		"(character 2 of '{uncore_imc/event=4/,uncore_imc_0/event=1/}')");
}

static void a_generic_event_opens_once_per_core_type(void **state)
{
	(void)state;
	CLEANUP(world_release) struct world w;
	world_make(&w, hybrid_files);
	parse_one(&w, "cycles:u");
	assert_int_equal(w.list.count, 2);
	assert_int_equal(w.list.events[0].attr.config, (uint64_t)10 << 32);
	assert_string_equal(w.list.events[0].core_type, "cpu_atom");
	assert_string_equal(w.list.events[0].name, "cycles:u");
	assert_perf(&w.list.events[0], "cpu_atom/cycles/u");
	assert_int_equal(w.list.events[1].attr.config, (uint64_t)4 << 32);
	assert_true(cpu_set_has(&w.list.events[1].cpus, 3));
	assert_false(cpu_set_has(&w.list.events[1].cpus, 4));
	event_list_release(&w.list);

	parse_one(&w, "{cycles,instructions,page-faults}");
	assert_int_equal(w.list.count, 6);
	assert_int_equal(w.list.events[2].leader, 0);
	assert_int_equal(w.list.events[3].leader, 3);
	assert_string_equal(w.list.events[4].core_type, "cpu_core");
	event_list_release(&w.list);

	parse_one(&w, "{cpu_core/slots/,instructions}");
	assert_int_equal(w.list.count, 2);
	assert_string_equal(w.list.events[1].core_type, "cpu_core");
	assert_int_equal(w.list.events[1].attr.config, ((uint64_t)4 << 32) | 1);
	event_list_release(&w.list);

	parse_one(&w, "topdown-retiring,slots,r1c2");
	assert_int_equal(w.list.count, 5);
	assert_int_equal(w.list.events[0].attr.config, 0xc2);
	assert_int_equal(w.list.events[0].attr.type, 10);
	assert_int_equal(w.list.events[1].attr.config, 0x8000);
	assert_int_equal(w.list.events[2].attr.config, 0x400);
	assert_string_equal(w.list.events[2].core_type, "cpu_core");
	assert_int_equal(w.list.events[3].attr.type, 10);
	assert_int_equal(w.list.events[4].attr.type, 4);
	refuses(&w, "{cpu_core/slots/,cpu_atom/topdown-retiring/}", -EINVAL,
		"a group counts on one PMU, but this one is on 'cpu_core' and 'cpu_atom' "
		"(character "
		"18 of '{cpu_core/slots/,cpu_atom/topdown-retiring/}')");
}

static void arm_clusters_get_architectural_numbers(void **state)
{
	(void)state;
	CLEANUP(world_release) struct world w;
	world_make(&w, arm_files);
	parse_one(&w, "{cycles,instructions}");
	assert_int_equal(w.list.count, 4);
	assert_int_equal(w.list.events[0].attr.type, 7);
	assert_int_equal(w.list.events[0].attr.config, 0x11);
	assert_int_equal(w.list.events[3].attr.type, 8);
	assert_int_equal(w.list.events[3].attr.config, 0x08);
	assert_string_equal(w.list.events[3].unit, "instructions");
	assert_int_equal(w.list.events[2].cycles, EVENT_THREAD_CYCLES);
	event_list_release(&w.list);
	parse_one(&w, "armv8_cortex_a72/event=0x4004/");
	assert_int_equal(w.list.events[0].cycles, EVENT_REF_CYCLES);
}

static void a_misspelt_name_is_answered_with_the_nearest(void **state)
{
	(void)state;
	CLEANUP(world_release) struct world w;
	world_make(&w, no_pmu_files);
	refuses(&w, "cylces", -ENOENT, "unknown event 'cylces'; did you mean 'cycles'?");
	refuses(&w, "page-faults,instrucions:u", -ENOENT,
		"unknown event 'instrucions'; did you mean 'instructions'? (character 13 of "
		"'page-faults,instrucions:u')");
	refuses(&w, "L1-dcache-load-mises", -ENOENT,
		"unknown event 'L1-dcache-load-mises'; did you mean 'L1-dcache-load-misses'?");
	refuses(&w, "gibberish", -ENOENT, "unknown event 'gibberish'");
	refuses(&w, "gibberish:u", -ENOENT, "unknown event 'gibberish'");
	refuses(&w, "sched:sched_switch", -ENOENT,
		"tracepoints, as 'sched:sched_switch', are not counted or sampled");
	refuses(&w, "cpu/event=1/", -ENOENT,
		"this machine has no PMU 'cpu': no hardware counters are here");
}

static void raw_events_are_hexadecimal(void **state)
{
	(void)state;
	CLEANUP(world_release) struct world w;
	world_make(&w, intel_files);
	const struct event *event = parse_one(&w, "r01c2:k");
	assert_int_equal(event->attr.type, PERF_TYPE_RAW);
	assert_int_equal(event->attr.config, 0x1c2);
	assert_perf(event, "r1c2:k");
	assert_int_equal(parse_one(&w, "r3c")->cycles, EVENT_THREAD_CYCLES);
	assert_int_equal(parse_one(&w, "rffffffffffffffff")->attr.config, UINT64_MAX);
	assert_int_equal(event_list_parse(&w.list, &w.pmus, NULL, "rffffffffffffffff0", &w.err),
			 -ENOENT);
	assert_int_equal(event_list_parse(&w.list, &w.pmus, NULL, "r", &w.err), -ENOENT);
}

static void every_cut_and_every_flip_of_an_event_list_is_survived(void **state)
{
	(void)state;
	static const char whole[] =
		"{cycles:k,cpu/event=0xc2,umask=1,name='a,b'/pp}:u, L1-dcache-load-misses:G,r1c2,"
		"power/energy-pkg/";
	CLEANUP(world_release) struct world w;
	world_make(&w, intel_files);
	parse_one(&w, whole);
	assert_string_equal(w.list.events[1].name, "a,b");
	char text[sizeof(whole)];
	for (size_t cut = 0; cut < sizeof(whole); cut++) {
		memcpy(text, whole, cut);
		text[cut] = 0;
		event_list_parse(&w.list, &w.pmus, NULL, text, &w.err);
	}
	for (size_t i = 0; i + 1 < sizeof(whole); i++)
		for (int value = 1; value < 256; value++) {
			memcpy(text, whole, sizeof(whole));
			text[i] = (char)value;
			size_t before = w.list.count;
			if (event_list_parse(&w.list, &w.pmus, NULL, text, &w.err))
				assert_int_equal(w.list.count, before);
			if (w.list.count > 1000)
				event_list_release(&w.list);
		}
}

static void spelling_distance_counts_edits(void **state)
{
	(void)state;
	assert_int_equal(spelling_distance("cycles", "cycles"), 0);
	assert_int_equal(spelling_distance("cylces", "cycles"), 1);
	assert_int_equal(spelling_distance("CYCLES", "cycles"), 0);
	assert_int_equal(spelling_distance("cycle", "cycles"), 1);
	assert_int_equal(spelling_distance("kitten", "sitting"), 3);
	assert_int_equal(spelling_distance("", "abc"), 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(generic_names_have_the_kernels_numbers),
		cmocka_unit_test(cache_names_take_every_spelling_of_perf),
		cmocka_unit_test(canonical_cache_names_parse_back),
		cmocka_unit_test(modifiers_set_what_perf_sets),
		cmocka_unit_test(groups_share_a_leader_and_their_modifiers),
		cmocka_unit_test(sysfs_terms_fill_the_config_words),
		cmocka_unit_test(one_name_stands_for_all_numbered_pmus),
		cmocka_unit_test(a_generic_event_opens_once_per_core_type),
		cmocka_unit_test(arm_clusters_get_architectural_numbers),
		cmocka_unit_test(a_misspelt_name_is_answered_with_the_nearest),
		cmocka_unit_test(raw_events_are_hexadecimal),
		cmocka_unit_test(every_cut_and_every_flip_of_an_event_list_is_survived),
		cmocka_unit_test(spelling_distance_counts_edits),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
