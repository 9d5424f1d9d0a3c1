/*
 * made_up_regions - regions of a machine whose clock goes as a test says: each reading of it takes
 * some ticks, of 1 ns, and so does each read(2) of events in events. A thread has its own.
 */
#pragma once

#include <math.h>
#include <stdint.h>

#include "base/random.h"
#include "count/region_private.h"
#include "counting_machine.h"
#include "culprit/region.h"

struct made_up_clock {
	uint64_t ticks;
	uint64_t cost;	/* of a reading, in ticks and in events */
	uint64_t noise; /* and up to as much on top: a sum of four, so that it is nearly normal */
	uint64_t tail;	/* and an exponential distribution of this mean */
	struct random_state random;
};

static __thread struct made_up_clock made_up;

static inline uint64_t made_up_cost(void)
{
	double cost = (double)made_up.cost;
	for (int i = 0; i < 4 && made_up.noise; i++)
		cost += random_unit(&made_up.random) * (double)made_up.noise / 4;
	if (made_up.tail)
		cost -= log(1 - random_unit(&made_up.random)) * (double)made_up.tail;
	return (uint64_t)llround(cost);
}

static inline uint64_t made_up_ticks(void)
{
	made_up.ticks += made_up_cost();
	return made_up.ticks;
}

static inline ssize_t made_up_read(int fd, void *buffer, size_t size)
{
	for (size_t i = 0; i < replayed.count; i++)
		replayed.events[i].count += made_up_cost();
	return count_kernel_replayed.read(fd, buffer, size);
}

struct region_scene {
	struct tree tree;
	struct count_kernel kernel;
	struct count_world world;
	struct culprit_regions *regions;
	struct culprit_error error;
	struct culprit_region_result result;
};

/* `events` NULL: the clock alone. */
static inline int region_scene_begin(struct region_scene *scene, const struct tree_file *machine,
				     const char *events, const struct culprit_options *options)
{
	*scene = (struct region_scene){ .kernel = count_kernel_replayed };
	scene->kernel.ticks = made_up_ticks;
	scene->kernel.read = made_up_read;
	scene->world = counting_machine(&scene->tree, machine);
	scene->world.kernel = &scene->kernel;
	return regions_open(events, options, &scene->world, &scene->regions, &scene->error);
}

static inline void region_scene_end(struct region_scene *scene)
{
	culprit_regions_close(scene->regions);
	counting_machine_end(&scene->tree);
}

/* What the code that is measured does: time passes, and all events happen as often. */
static inline void made_up_work(uint64_t units)
{
	made_up.ticks += units;
	for (size_t i = 0; i < replayed.count; i++)
		replayed.events[i].count += units;
}

static inline void made_up_region(struct culprit_region *region, uint64_t units)
{
	culprit_region_begin(region);
	made_up_work(units);
	culprit_region_end(region);
}
