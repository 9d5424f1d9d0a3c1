#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <json-c/json.h>

#include "count/counter_private.h"
#include "culprit/print.h"
#include "made_up_regions.h"

/* "\"" and "," need quotes in CSV, an escape sequence must not reach a terminal. */
#define HOSTILE "a,\"b\"\033[2J"

struct printed {
	char *text;
	size_t size;
};

static struct printed print_values(const struct culprit_counters *counters,
				   const struct culprit_value *values, size_t count,
				   const struct culprit_print_options *options)
{
	struct printed printed = { NULL, 0 };
	FILE *stream = open_memstream(&printed.text, &printed.size);
	assert_non_null(stream);
	assert_int_equal(culprit_counters_print(counters, values, count, options, stream), 0);
	fclose(stream);
	return printed;
}

static struct printed print_regions(const struct culprit_regions *regions,
				    const struct culprit_print_options *options)
{
	struct printed printed = { NULL, 0 };
	FILE *stream = open_memstream(&printed.text, &printed.size);
	assert_non_null(stream);
	assert_int_equal(culprit_regions_print(regions, options, stream), 0);
	fclose(stream);
	return printed;
}

static void expect(struct printed printed, const char *text)
{
	assert_string_equal(printed.text, text);
	free(printed.text);
}

static int no_branches(const struct perf_event_attr *attr, pid_t pid, int cpu)
{
	(void)pid;
	(void)cpu;
	return attr->type == PERF_TYPE_HARDWARE && attr->config == PERF_COUNT_HW_BRANCH_MISSES
		       ? -ENOENT
		       : 0;
}

static const struct culprit_value values[] = {
	{ .value = 1234567,
	  .low = 1234000,
	  .high = 1235134,
	  .count = 1234600,
	  .enabled_ns = 900,
	  .running_ns = 900 },
	{ .value = 7.5,
	  .low = NAN,
	  .high = NAN,
	  .count = 3,
	  .enabled_ns = 1000,
	  .running_ns = 400,
	  .flags = CULPRIT_MULTIPLEXED | CULPRIT_NO_INTERVAL },
	{ .value = NAN, .low = NAN, .high = NAN, .flags = CULPRIT_ABSENT },
};

struct counter_scene {
	struct tree tree;
	struct count_world world;
	struct culprit_counters *counters;
};

static void open_counters(struct counter_scene *scene)
{
	scene->world = counting_machine(&scene->tree, counting_intel);
	replayed.judge = no_branches;
	assert_int_equal(counters_open("cycles,instructions:u,branch-misses", NULL, &scene->world,
				       &scene->counters, NULL),
			 0);
}

static void close_counters(struct counter_scene *scene)
{
	culprit_counters_close(scene->counters);
	counting_machine_end(&scene->tree);
}

static void values_are_aligned_and_say_what_is_wrong_with_them(void **state)
{
	(void)state;
	struct counter_scene scene;
	open_counters(&scene);
	struct culprit_event absent;
	char text[1024];
	assert_int_equal(culprit_counters_event(scene.counters, 2, &absent), 0);
	snprintf(text, sizeof(text),
		 "  value  unit          event           95 %% interval       per access\n"
		 "1234567  cycles        cycles          1234000 .. 1235134       12346\n"
		 "    7.5  instructions  instructions:u  -                        0.075  "
		 "counted 40.0 %% of the time; multiplexed, no interval\n"
		 "      -  misses        branch-misses   -                            -  absent: "
		 "%s\n",
		 absent.why);
	expect(print_values(scene.counters, values, 3,
			    &(struct culprit_print_options){ .units = 100, .unit = "access" }),
	       text);
	close_counters(&scene);
}

static void columns_that_say_nothing_are_left_out_of_text(void **state)
{
	(void)state;
	struct counter_scene scene;
	open_counters(&scene);
	expect(print_values(scene.counters, values, 1, NULL),
	       "  value  unit    event   95 % interval\n"
	       "1234567  cycles  cycles  1234000 .. 1235134\n");
	close_counters(&scene);
}

static void csv_has_a_field_for_everything(void **state)
{
	(void)state;
	struct counter_scene scene;
	open_counters(&scene);
	expect(print_values(scene.counters, values, 2,
			    &(struct culprit_print_options){ .format = CULPRIT_CSV }),
	       "event,core_type,unit,value,low,high,count,enabled_ns,running_ns,per_unit,counted,"
	       "flags,why\n"
	       "cycles,,cycles,1234567,1234000,1235134,1234600,900,900,,cycles,,\n"
	       "instructions:u,,instructions,7.5,,,3,1000,400,,instructions:u,"
	       "\"multiplexed, no interval\",\n");
	close_counters(&scene);
}

static struct json_object *member(struct json_object *object, const char *key)
{
	struct json_object *found;
	if (!json_object_object_get_ex(object, key, &found))
		fail_msg("there is no \"%s\"", key);
	return found;
}

static void json_is_a_document_in_which_the_unknown_is_null(void **state)
{
	(void)state;
	struct counter_scene scene;
	open_counters(&scene);
	struct printed printed =
		print_values(scene.counters, values, 3,
			     &(struct culprit_print_options){ .format = CULPRIT_JSON, .units = 4 });
	struct json_object *document = json_tokener_parse(printed.text);
	assert_non_null(document);
	assert_int_equal(json_object_get_int(member(document, "schema")), 1);
	assert_string_equal(json_object_get_string(member(document, "unit_of_work")), "unit");
	struct json_object *rows = member(document, "values");
	assert_int_equal(json_object_array_length(rows), 3);
	struct json_object *row = json_object_array_get_idx(rows, 1);
	assert_true(json_object_get_double(member(row, "per_unit")) == 7.5 / 4);
	assert_null(member(row, "low"));
	struct json_object *flags = member(row, "flags");
	assert_int_equal(json_object_array_length(flags), 2);
	assert_string_equal(json_object_get_string(json_object_array_get_idx(flags, 0)),
			    "multiplexed");
	row = json_object_array_get_idx(rows, 2);
	assert_null(member(row, "value"));
	assert_null(member(row, "count"));
	assert_null(member(row, "counted"));
	assert_non_null(member(row, "why"));
	json_object_put(document);
	free(printed.text);
	close_counters(&scene);
}

static void open_named(struct region_scene *scene, const char *name)
{
	made_up = (struct made_up_clock){ .cost = 10 };
	assert_int_equal(region_scene_begin(scene, counting_intel, "cycles", NULL), 0);
	assert_int_equal(culprit_regions_join(scene->regions, NULL), 0);
	struct culprit_region *region = culprit_region_named(scene->regions, name);
	made_up_region(region, 1000);
	made_up_region(region, 3000);
	culprit_region_end(region);
}

static void regions_have_a_row_for_each_thread_and_event(void **state)
{
	(void)state;
	struct region_scene scene;
	open_named(&scene, "look\nup");
	char text[2048];
	int tid = gettid();
	int width = snprintf(text, sizeof(text), "%d", tid);
	width = width > 6 ? width : 6;
	snprintf(text, sizeof(text),
		 "region      %-*s  event   unit    count   min  median   p99   max  total  "
		 "95 %% interval  per call\n"
		 "look\\x0aup  %-*s  time    ns          2  1000    1008  3000  3000   4000  "
		 "3999 .. 4001       2000  1 mismatched\n"
		 "look\\x0aup  %-*s  cycles  cycles      2  1000    1008  3000  3000   4000  "
		 "exact              2000\n"
		 "look\\x0aup  %-*d  time    ns          2  1000    1008  3000  3000   4000  "
		 "3999 .. 4001       2000  1 mismatched\n"
		 "look\\x0aup  %-*d  cycles  cycles      2  1000    1008  3000  3000   4000  "
		 "exact              2000\n",
		 width, "thread", width, "all", width, "all", width, tid, width, tid);
	expect(print_regions(scene.regions,
			     &(struct culprit_print_options){ .units = 2, .unit = "call" }),
	       text);
	region_scene_end(&scene);
}

static void names_of_regions_stay_names_in_every_format(void **state)
{
	(void)state;
	struct region_scene scene;
	open_named(&scene, HOSTILE);
	struct printed text = print_regions(scene.regions, NULL);
	assert_null(strchr(text.text, '\033'));
	assert_non_null(strstr(text.text, "a,\"b\"\\x1b[2J  all"));
	free(text.text);
	struct printed csv = print_regions(
		scene.regions, &(struct culprit_print_options){ .format = CULPRIT_CSV });
	assert_non_null(strstr(csv.text, "\n\"a,\"\"b\"\"\033[2J\",,time,,ns,2,"));
	free(csv.text);
	struct printed json = print_regions(
		scene.regions, &(struct culprit_print_options){ .format = CULPRIT_JSON });
	assert_null(strchr(json.text, '\033'));
	struct json_object *document = json_tokener_parse(json.text);
	assert_non_null(document);
	struct json_object *rows = member(document, "regions");
	assert_int_equal(json_object_array_length(rows), 2);
	struct json_object *all = json_object_array_get_idx(rows, 0);
	struct json_object *own = json_object_array_get_idx(rows, 1);
	assert_string_equal(json_object_get_string(member(all, "region")), HOSTILE);
	assert_null(member(all, "thread"));
	assert_int_equal(json_object_get_int(member(own, "thread")), gettid());
	assert_int_equal(json_object_get_int(member(own, "mismatched")), 1);
	assert_null(member(own, "not_joined"));
	struct json_object *time = json_object_array_get_idx(member(own, "values"), 0);
	assert_string_equal(json_object_get_string(member(time, "event")), "time");
	assert_int_equal(json_object_get_int(member(time, "total")), 4000);
	json_object_put(document);
	free(json.text);
	region_scene_end(&scene);
}

static void a_stream_that_fails_is_reported(void **state)
{
	(void)state;
	struct counter_scene scene;
	open_counters(&scene);
	FILE *full = fopen("/dev/full", "w");
	assert_non_null(full);
	setvbuf(full, NULL, _IONBF, 0);
	assert_int_equal(culprit_counters_print(scene.counters, values, 3, NULL, full), -EIO);
	fclose(full);
	close_counters(&scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_are_aligned_and_say_what_is_wrong_with_them),
		cmocka_unit_test(columns_that_say_nothing_are_left_out_of_text),
		cmocka_unit_test(csv_has_a_field_for_everything),
		cmocka_unit_test(json_is_a_document_in_which_the_unknown_is_null),
		cmocka_unit_test(regions_have_a_row_for_each_thread_and_event),
		cmocka_unit_test(names_of_regions_stay_names_in_every_format),
		cmocka_unit_test(a_stream_that_fails_is_reported),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
