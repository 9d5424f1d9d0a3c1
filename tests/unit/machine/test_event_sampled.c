/* Which event of a group is sampled, by what was written and by what the kernel can. */
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
#include "machine/pmu.h"
#include "tree.h"

#define PMU "sys/bus/event_source/devices/"

static const struct tree_file ice_lake_files[] = {
	{ PMU "cpu/type", "4" },
	{ PMU "cpu/format/event", "config:0-7" },
	{ PMU "cpu/format/umask", "config:8-15" },
	{ PMU "cpu/events/slots", "event=0x00,umask=0x4" },
	{ PMU "cpu/events/topdown-retiring", "event=0x00,umask=0x80" },
	{ PMU "cpu/events/topdown-be-bound", "event=0x00,umask=0x83" },
	{ NULL, NULL },
};

/* The same numbers, where they mean something else. */
static const struct tree_file sky_lake_files[] = {
	{ PMU "cpu/type", "4" },
	{ PMU "cpu/format/event", "config:0-7" },
	{ PMU "cpu/format/umask", "config:8-15" },
	{ PMU "cpu/events/topdown-retiring", "event=0xc2,umask=0x02" },
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
	{ NULL, NULL },
};

static const struct tree_file arm_files[] = {
	{ PMU "armv8_pmuv3_0/type", "7" },
	{ PMU "armv8_pmuv3_0/cpus", "0-3" },
	{ PMU "armv8_pmuv3_0/format/event", "config:0-15" },
	{ PMU "armv8_pmuv3_0/events/slots", "event=0x0400" },
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

static void parse(struct world *world, const char *text)
{
	event_list_release(&world->list);
	if (event_list_parse(&world->list, &world->pmus, NULL, text, &world->err) < 0)
		fail_msg("'%s': %s", text, world->err.text);
}

/* The place in the list of the event that is sampled in the group of the first one. */
static size_t sampled(struct world *world, const char *text)
{
	size_t at = SIZE_MAX;
	parse(world, text);
	if (event_list_sampled(&world->list, 0, &at, &world->err) < 0)
		fail_msg("'%s': %s", text, world->err.text);
	return at;
}

static void refuses(struct world *world, const char *text, const char *sentence)
{
	size_t at = 77;
	parse(world, text);
	assert_int_equal(event_list_sampled(&world->list, 0, &at, &world->err), -EINVAL);
	assert_string_equal(world->err.text, sentence);
	assert_int_equal(at, 77);
}

static void a_leader_is_sampled_unless_another_is_marked(void **state)
{
	(void)state;
	CLEANUP(world_release) struct world w;
	world_make(&w, ice_lake_files);
	assert_int_equal(sampled(&w, "cycles"), 0);
	assert_int_equal(sampled(&w, "cycles:S"), 0);
	assert_int_equal(sampled(&w, "{cycles,instructions,branches}"), 0);
	assert_int_equal(sampled(&w, "{cycles,instructions,branches}:S"), 0);
	assert_int_equal(sampled(&w, "{cycles:S,instructions:S}"), 0);
	assert_int_equal(sampled(&w, "{cycles,instructions:S,branches}"), 1);
	assert_int_equal(sampled(&w, "{cycles,instructions,branches:uS}:S"), 2);
	assert_int_equal(sampled(&w, "{cycles,cpu/event=0xc4/S}"), 1);
	refuses(&w, "{cycles,instructions:S,branches:S}",
		"both 'instructions:S' and 'branches:S' are marked to be sampled: one event of a "
		"group is, and reads the others");
	/* each group for itself */
	size_t at;
	parse(&w, "{cycles,instructions:S},{cycles,branches}");
	assert_int_equal(event_list_sampled(&w.list, 2, &at, &w.err), 0);
	assert_int_equal(at, 2);
}

static void slots_lead_their_metrics_and_are_not_sampled(void **state)
{
	(void)state;
	CLEANUP(world_release) struct world w;
	world_make(&w, ice_lake_files);
	assert_int_equal(sampled(&w, "{slots,cycles,topdown-retiring,topdown-be-bound}:S"), 1);
	assert_int_equal(sampled(&w, "{slots,topdown-retiring,instructions,cycles}"), 2);
	assert_int_equal(sampled(&w, "{slots,topdown-retiring,instructions,cycles:S}"), 3);
	assert_int_equal(sampled(&w, "{r400,r8000,cycles}"), 2);
	assert_int_equal(sampled(&w, "{cpu/slots/u,cpu/topdown-retiring/u,cpu-clock}"), 2);
	refuses(&w, "{slots,topdown-retiring}:S",
		"slots and topdown events cannot be sampled when they are a group: it takes "
		"another event in it, as {slots,cycles,topdown-retiring}");
	refuses(&w, "{slots:S,cycles,topdown-retiring}",
		"'slots:S' cannot be sampled in a group of slots and topdown events");
	refuses(&w, "{slots,cycles,topdown-retiring:S}",
		"'topdown-retiring:S' cannot be sampled in a group of slots and topdown events");
	const char *led = "' is counted only in a group that slots leads, as "
			  "{slots,cycles,topdown-retiring}";
	char sentence[256];
	snprintf(sentence, sizeof(sentence), "'topdown-retiring%s", led);
	refuses(&w, "topdown-retiring", sentence);
	refuses(&w, "{cycles,slots,topdown-retiring}", sentence);
	snprintf(sentence, sizeof(sentence), "'topdown-be-bound:u%s", led);
	refuses(&w, "{cycles,topdown-be-bound}:u", sentence);
}

/* perf samples slots, too, where none of the metrics is counted with them. */
static void slots_without_metrics_are_as_any_event(void **state)
{
	(void)state;
	CLEANUP(world_release) struct world w;
	world_make(&w, ice_lake_files);
	assert_int_equal(sampled(&w, "slots"), 0);
	assert_int_equal(sampled(&w, "{slots,cycles}:S"), 0);
	assert_int_equal(sampled(&w, "{cycles,slots}"), 0);
}

static void the_same_numbers_mean_nothing_on_other_machines(void **state)
{
	(void)state;
	CLEANUP(world_release) struct world w;
	world_make(&w, sky_lake_files);
	assert_int_equal(sampled(&w, "{r400,cycles,r8000}"), 0);
	assert_int_equal(sampled(&w, "topdown-retiring"), 0);
	world_release(&w);
	world_make(&w, arm_files);
	assert_int_equal(sampled(&w, "{slots,r8000,cycles}"), 0);
}

static void on_hybrid_machines_only_the_large_cores_have_metrics(void **state)
{
	(void)state;
	CLEANUP(world_release) struct world w;
	world_make(&w, hybrid_files);
	assert_int_equal(sampled(&w, "{slots,cycles,topdown-retiring}"), 1);
	assert_int_equal(w.list.count, 3);
	assert_string_equal(w.list.events[1].core_type, "cpu_core");
	/* events of their own on the small ones */
	assert_int_equal(sampled(&w, "cpu_atom/topdown-retiring/"), 0);
	refuses(&w, "cpu_core/topdown-retiring/",
		"'cpu_core/topdown-retiring/' is counted only in a group that slots leads, as "
		"{slots,cycles,topdown-retiring}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_leader_is_sampled_unless_another_is_marked),
		cmocka_unit_test(slots_lead_their_metrics_and_are_not_sampled),
		cmocka_unit_test(slots_without_metrics_are_as_any_event),
		cmocka_unit_test(the_same_numbers_mean_nothing_on_other_machines),
		cmocka_unit_test(on_hybrid_machines_only_the_large_cores_have_metrics),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
