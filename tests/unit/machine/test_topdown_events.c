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
#include "machine/topdown_events.h"
#include "tree.h"

#define PMU "sys/bus/event_source/devices/"

static const struct tree_file files[] = {
	{ PMU "cpu/type", "4" },
	{ PMU "cpu/format/event", "config:0-7,32-35" }, /* as on AMD; Intel uses the first part */
	{ PMU "cpu/format/umask", "config:8-15" },
	{ PMU "cpu/format/edge", "config:18" },
	{ PMU "cpu/format/inv", "config:23" },
	{ PMU "cpu/format/cmask", "config:24-31" },
	{ PMU "software/type", "1" },
	{ NULL, NULL },
};

static struct topdown_method method;

struct scene {
	struct tree tree;
	struct pmu_list pmus;
	struct event_list list;
	struct topdown_events events;
};

static void use_table(const char *name)
{
	struct error err;
	for (size_t i = 0; topdown_table_name(i); i++)
		if (strcmp(topdown_table_name(i), name) == 0) {
			assert_int_equal(topdown_method_parse(topdown_table_text(i), name, FACT_NO,
							      &method, &err),
					 0);
			return;
		}
	fail_msg("no table '%s'", name);
}

static void set_up(struct scene *scene, const char *table)
{
	struct error err;
	*scene = (struct scene){ 0 };
	use_table(table);
	tree_make(&scene->tree, files);
	assert_int_equal(pmu_list_read(&scene->tree.root, &scene->pmus, &err), 0);
	assert_int_equal(event_list_parse(&scene->list, &scene->pmus, NULL, "page-faults", &err),
			 0);
}

static void tear_down(struct scene *scene)
{
	event_list_release(&scene->list);
	pmu_list_release(&scene->pmus);
	tree_remove(&scene->tree);
}

static void add(struct scene *scene, unsigned levels)
{
	struct error err;
	if (topdown_events_add(&method, "cpu", levels, &scene->pmus, &scene->list, &scene->events,
			       &err))
		fail_msg("%s", err.text);
}

/* All that a level needs is in the list, once, behind what was there, as the table has it. */
static void assert_added(const struct scene *scene, unsigned levels)
{
	size_t found = 0;
	assert_int_equal(scene->events.first, 1);
	assert_int_equal(scene->list.count, 1 + scene->events.count);
	for (size_t i = 0; i < method.event_count; i++) {
		size_t at = scene->events.event_of[i];
		if (!method.events[i].level || method.events[i].level > levels) {
			assert_int_equal(at, SIZE_MAX);
			continue;
		}
		assert_int_equal(at, scene->events.first + found++);
		assert_int_equal(scene->list.events[at].attr.config, method.events[i].config);
		assert_int_equal(scene->list.events[at].attr.type, 4);
	}
	assert_int_equal(found, scene->events.count);
	assert_true(found > 0);
}

static void slots_lead_the_group_of_the_metrics(void **state)
{
	(void)state;
	struct scene scene;
	set_up(&scene, "golden-cove");
	add(&scene, 1);
	assert_added(&scene, 1);
	size_t leader = scene.events.first;
	assert_int_equal(scene.list.events[leader].attr.config, 0x400);
	for (size_t i = 0; i < method.event_count; i++)
		if (scene.events.event_of[i] != SIZE_MAX && method.events[i].field >= 0)
			assert_int_equal(scene.list.events[scene.events.event_of[i]].leader,
					 leader);
	tear_down(&scene);
}

static void level_2_needs_more_events_than_level_1(void **state)
{
	(void)state;
	static const char *const tables[] = { "golden-cove", "zen4" };
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		struct scene scene;
		set_up(&scene, tables[i]);
		add(&scene, 1);
		assert_added(&scene, 1);
		size_t first = scene.events.count;
		tear_down(&scene);
		set_up(&scene, tables[i]);
		add(&scene, 2);
		assert_added(&scene, 2);
		assert_true(scene.events.count > first);
		tear_down(&scene);
	}
}

static void groups_of_the_method_are_groups_of_the_list(void **state)
{
	(void)state;
	struct scene scene;
	set_up(&scene, "zen4");
	add(&scene, 2);
	for (size_t i = 0; i < method.event_count; i++)
		for (size_t k = 0; k < i; k++) {
			size_t a = scene.events.event_of[i], b = scene.events.event_of[k];
			if (a == SIZE_MAX || b == SIZE_MAX)
				continue;
			bool together = scene.list.events[a].leader == scene.list.events[b].leader;
			assert_int_equal(together,
					 method.events[i].group == method.events[k].group);
		}
	tear_down(&scene);
}

static void a_pmu_that_is_not_there_leaves_the_list_as_it_was(void **state)
{
	(void)state;
	struct scene scene;
	struct error err = { 0 };
	set_up(&scene, "golden-cove");
	assert_true(topdown_events_add(&method, "cpu_core", 1, &scene.pmus, &scene.list,
				       &scene.events, &err) < 0);
	assert_true(err.text[0]);
	assert_int_equal(scene.list.count, 1);
	tear_down(&scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slots_lead_the_group_of_the_metrics),
		cmocka_unit_test(level_2_needs_more_events_than_level_1),
		cmocka_unit_test(groups_of_the_method_are_groups_of_the_list),
		cmocka_unit_test(a_pmu_that_is_not_there_leaves_the_list_as_it_was),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
