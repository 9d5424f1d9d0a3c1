#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "count/definitions.h"
#include "counting_machine.h"
#include "machine/event.h"
#include "machine/pmu.h"

struct scene {
	struct tree tree;
	struct pmu_list pmus;
	struct definitions *definitions;
	struct error err;
};

static int parse_on(struct scene *scene, const struct tree_file *machine, const char *text,
		    const struct event_namer *further)
{
	*scene = (struct scene){ 0 };
	tree_make(&scene->tree, machine);
	assert_int_equal(pmu_list_read(&scene->tree.root, &scene->pmus, NULL), 0);
	return definitions_parse(text, strlen(text), "mine", &scene->pmus, further,
				 &scene->definitions, &scene->err);
}

static int parse(struct scene *scene, const char *text, const struct event_namer *further)
{
	return parse_on(scene, counting_intel, text, further);
}

static void end(struct scene *scene)
{
	definitions_free(scene->definitions);
	pmu_list_release(&scene->pmus);
	tree_remove(&scene->tree);
}

static struct event first_event(struct scene *scene, const char *text)
{
	struct event_list list = { 0 };
	assert_int_equal(event_list_parse(&list, &scene->pmus,
					  definitions_namer(scene->definitions), text, NULL),
			 0);
	struct event event = list.events[0];
	event_list_release(&list);
	return event;
}

static void a_name_stands_for_its_event(void **state)
{
	(void)state;
	struct scene scene;
	assert_int_equal(parse(&scene,
			       "# a comment\n\nL3.MISS = r412e # of the last cache\r\n"
			       "\tslow=cpu/event=0x3c,umask=2/u\nsame = L3.MISS:k\nbusy = cycles:u",
			       NULL),
			 0);
	struct event event = first_event(&scene, "L3.MISS");
	assert_int_equal(event.attr.type, PERF_TYPE_RAW);
	assert_int_equal(event.attr.config, 0x412e);
	assert_false(event.attr.exclude_kernel);
	event = first_event(&scene, "slow");
	assert_int_equal(event.attr.config, 0x23c);
	assert_true(event.attr.exclude_kernel);
	event = first_event(&scene, "same");
	assert_int_equal(event.attr.config, 0x412e);
	assert_true(event.attr.exclude_user);
	event = first_event(&scene, "busy");
	assert_int_equal(event.attr.type, PERF_TYPE_HARDWARE);
	event = first_event(&scene, "L3.MISS:u");
	assert_true(event.attr.exclude_kernel);
	end(&scene);
}

static void mistakes_name_file_and_line(void **state)
{
	(void)state;
	static const struct {
		const char *text, *says;
	} cases[] = {
		{ "a = r1\nb r2\n", "definitions 'mine', line 2: 'b r2' is not 'name = event'" },
		{ "1a = r1", "'1a' is no name" },
		{ "a b = r1", "'a b' is no name" },
		{ "= r1", "'' is no name" },
		{ "cycles = r1", "'cycles' is the kernel's name" },
		{ "L1-dcache-loads = r1", "the kernel's name" },
		{ "a = r1\n\na = r2", "line 3: 'a' is defined twice" },
		{ "a = r1,r2", "more than one event" },
		{ "a = {r1,r2}", "more than one event" },
		{ "a = b\nb = r1", "line 1: unknown event 'b'" },
		{ "a = a", "unknown event 'a'" },
		{ "a =", "line 1" },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct scene scene;
		assert_int_equal(parse(&scene, cases[i].text, NULL), -EINVAL);
		if (!strstr(scene.err.text, cases[i].says))
			print_error("'%s': %s\n", cases[i].text, scene.err.text);
		assert_non_null(strstr(scene.err.text, cases[i].says));
		end(&scene);
	}
}

static void what_is_no_text_is_refused(void **state)
{
	(void)state;
	struct scene scene;
	assert_int_equal(parse(&scene, "", NULL), 0);
	definitions_free(scene.definitions);
	scene.definitions = NULL;
	assert_int_equal(definitions_parse("a = r1\0b", 8, "mine", &scene.pmus, NULL,
					   &scene.definitions, &scene.err),
			 -EINVAL);
	assert_non_null(strstr(scene.err.text, "it is no text"));
	end(&scene);
}

static int encode_two(const void *names, const char *name, struct event_encoding *encoding,
		      struct error *err)
{
	(void)names;
	if (strcmp(name, "LIBRARY.NAME") != 0)
		return error_set(err, -ENOENT, "unknown");
	*encoding = (struct event_encoding){ .type = PERF_TYPE_RAW, .config = 0x77 };
	return 0;
}

static int visit_two(const void *names, event_name_visit visit, void *context)
{
	(void)names;
	return visit(context, "LIBRARY.NAME");
}

static int count_name(void *context, const char *name)
{
	(void)name;
	++*(int *)context;
	return 0;
}

static void further_names_are_asked_after_ones_own(void **state)
{
	(void)state;
	static const struct event_namer library = { .encode = encode_two, .each = visit_two };
	struct scene scene;
	int count = 0;
	assert_int_equal(parse(&scene, "short = LIBRARY.NAME", &library), 0);
	assert_int_equal(first_event(&scene, "short").attr.config, 0x77);
	assert_int_equal(first_event(&scene, "LIBRARY.NAME").attr.config, 0x77);
	const struct event_namer *namer = definitions_namer(scene.definitions);
	assert_int_equal(namer->each(namer->names, count_name, &count), 0);
	assert_int_equal(count, 2);
	end(&scene);
}

/* One event is one on each type there. */
static void two_events_are_two_on_several_core_types(void **state)
{
	(void)state;
	struct scene scene;
	assert_int_equal(parse_on(&scene, counting_hybrid, "both = cycles,instructions", NULL),
			 -EINVAL);
	assert_string_equal(scene.err.text, "definitions 'mine', line 1: 'cycles,instructions' is "
					    "more than one event");
	end(&scene);
	assert_int_equal(parse_on(&scene, counting_hybrid, "busy = cycles:u", NULL), 0);
	end(&scene);
}

static void more_names_than_any_cpu_has_are_refused(void **state)
{
	(void)state;
	enum { NAMES = 4097, LINE = 16 };
	struct scene scene;
	char *text = calloc(NAMES, LINE), *end_of_text = text;
	assert_non_null(text);
	for (int i = 0; i < NAMES; i++)
		end_of_text += sprintf(end_of_text, "e%d = r1\n", i);
	assert_int_equal(parse(&scene, text, NULL), -EINVAL);
	assert_string_equal(scene.err.text, "definitions 'mine', line 4097: more than 4096 names");
	end(&scene);
	text[strlen(text) - strlen("e4096 = r1\n")] = 0;
	assert_int_equal(parse(&scene, text, NULL), 0);
	end(&scene);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_events_are_two_on_several_core_types),
		cmocka_unit_test(more_names_than_any_cpu_has_are_refused),
		cmocka_unit_test(a_name_stands_for_its_event),
		cmocka_unit_test(mistakes_name_file_and_line),
		cmocka_unit_test(what_is_no_text_is_refused),
		cmocka_unit_test(further_names_are_asked_after_ones_own),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
