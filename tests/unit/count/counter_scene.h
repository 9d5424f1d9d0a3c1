/*
 * counter_scene - counters of a made-up machine, and what was measured with them.
 */
#pragma once

#include "count/counter_private.h"
#include "counting_machine.h"
#include "culprit/counter.h"

struct scene {
	struct tree tree;
	struct culprit_counters *counters;
	struct culprit_error error;
	struct culprit_value values[16];
	struct culprit_event event;
};

static inline int open_scene(struct scene *scene, const struct tree_file *machine,
			     const char *events, const struct culprit_options *options)
{
	*scene = (struct scene){ 0 };
	tree_make(&scene->tree, machine);
	struct count_world world = { &count_kernel_replayed, scene->tree.path };
	return counters_open(events, options, &world, &scene->counters, &scene->error);
}

static inline void close_scene(struct scene *scene)
{
	culprit_counters_close(scene->counters);
	tree_remove(&scene->tree);
	assert_int_equal(replayed.open, 0);
	replayed_begin();
}

static inline struct replayed_event *hardware(uint64_t config)
{
	return replayed_find(PERF_TYPE_HARDWARE, config);
}

static inline uint32_t flags_of_measuring(struct scene *scene)
{
	assert_int_equal(culprit_counters_start(scene->counters), 0);
	assert_int_equal(culprit_counters_stop(scene->counters), 0);
	assert_int_equal(culprit_counters_values(scene->counters, scene->values, 2), 0);
	return scene->values[0].flags;
}
