/* Regions are opened, named and closed. */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "count/counter_private.h"
#include "count/kernel.h"
#include "count/region_private.h"
#include "count/region_summary.h"
#include "count/target_list.h"

#define SPINS	   100 /* tries before a thread that may be of less priority gets time */
#define WAITING_NS 50000

static _Atomic uint64_t last_id;

static void wait_a_little(unsigned tries)
{
	if (tries < SPINS)
		sched_yield();
	else
		nanosleep(&(struct timespec){ .tv_nsec = WAITING_NS }, NULL);
}

/* What the parent's threads measured is not this process's. Their stacks stay: the thread that
 * forked has its own still in hand. */
static void forget_parent(struct culprit_regions *regions)
{
	*regions->last = regions->forgotten;
	regions->forgotten = regions->threads;
	regions->threads = NULL;
	regions->last = &regions->threads;
	for (size_t i = 0; i < CULPRIT_REGION_NAMES; i++) {
		regions->left[i] = NULL; /* another thread may have been at it: left to leak */
		regions->left_mismatched[i] = regions->left_omitted[i] = 0;
		if (regions->all[i])
			atomic_store_explicit(&regions->all[i]->not_joined, 0,
					      memory_order_relaxed);
	}
	regions->listed = 0;
	regions->pid = getpid();
}

void region_lock(struct culprit_regions *regions)
{
	pid_t self = getpid();
	pid_t holder = 0;
	/* what another process holds nobody gives back in this one */
	for (unsigned tries = 0; !atomic_compare_exchange_strong_explicit(
		     &regions->lock, &holder, self, memory_order_acquire, memory_order_relaxed);
	     tries++)
		if (holder == self) {
			wait_a_little(tries);
			holder = 0;
		}
	if (regions->pid != self)
		forget_parent(regions);
}

void region_unlock(struct culprit_regions *regions)
{
	atomic_store_explicit(&regions->lock, 0, memory_order_release);
}

static int report(struct culprit_error *error, const struct error *err, int status)
{
	if (error) {
		error->code = status;
		snprintf(error->text, sizeof(error->text), "%s", err->text);
	}
	return status;
}

/* NULL for NULL. */
static int copy_text(struct culprit_regions *regions, const char *text, const char **copy)
{
	*copy = text ? arena_copy_text(&regions->arena, text, strlen(text)) : NULL;
	return text && !*copy ? -ENOMEM : 0;
}

static int describe(struct culprit_regions *regions, const struct culprit_counters *counters,
		    size_t index)
{
	struct culprit_event *event = &regions->described[index];
	culprit_counters_event(counters, index, event);
	regions->scales[1 + index] = counters->events.events[index].scale;
	regions->substitute[index] = counters->counted[index].substitute;
	if (copy_text(regions, event->name, &event->name) ||
	    copy_text(regions, event->counted, &event->counted) ||
	    copy_text(regions, event->unit, &event->unit) ||
	    copy_text(regions, event->core_type, &event->core_type) ||
	    copy_text(regions, event->why, &event->why))
		return -ENOMEM;
	return 0;
}

/* Opens the events once, to learn what they are and that they can be counted. */
static int look_at_events(struct culprit_regions *regions, struct culprit_error *error)
{
	struct culprit_options options = regions->options;
	struct culprit_counters *counters;
	options.flags |= CULPRIT_NOT_CALIBRATED;
	int status = counters_open(regions->events, &options, regions->world, &counters, error);
	if (status)
		return status;
	struct error err = { 0 };
	size_t count = culprit_counters_count(counters);
	if (count > CULPRIT_REGION_EVENTS)
		status = error_set(&err, -E2BIG, "regions count %d events at most, not %zu",
				   CULPRIT_REGION_EVENTS, count);
	for (size_t i = 0; status == 0 && i < count; i++)
		if (describe(regions, counters, i))
			status = error_set(&err, -ENOMEM, "out of memory while opening regions");
	regions->event_count = count;
	culprit_counters_close(counters);
	return status ? report(error, &err, status) : 0;
}

static int copy_arguments(struct culprit_regions *regions, const char *events,
			  const struct culprit_options *options)
{
	regions->options = *options;
	regions->events = events ? strdup(events) : NULL;
	regions->definitions = options->definitions ? strdup(options->definitions) : NULL;
	regions->options.definitions = regions->definitions;
	return (events && !regions->events) || (options->definitions && !regions->definitions)
		       ? -ENOMEM
		       : 0;
}

static void free_regions(struct culprit_regions *regions)
{
	region_threads_free(regions);
	for (size_t i = 0; i < CULPRIT_REGION_NAMES; i++) {
		free(regions->all[i]);
		free(regions->left[i]);
	}
	arena_release(&regions->arena);
	free(regions->definitions);
	free(regions->events);
	free(regions);
}

int regions_open(const char *events, const struct culprit_options *options,
		 const struct count_world *world, struct culprit_regions **out,
		 struct culprit_error *error)
{
	static const struct culprit_options usual = { .subject = CULPRIT_THIS_THREAD };
	struct error err = { 0 };
	options = options ? options : &usual;
	if (options->subject != CULPRIT_THIS_THREAD)
		return report(error, &err,
			      error_set(&err, -EINVAL, "regions count the threads that join"));
	if (target_options_check(options, &err))
		return report(error, &err, err.code);
	struct culprit_regions *regions = calloc(1, sizeof(*regions));
	if (!regions)
		return report(error, &err,
			      error_set(&err, -ENOMEM, "out of memory while opening regions"));
	regions->world = world;
	regions->id = 1 + atomic_fetch_add_explicit(&last_id, 1, memory_order_relaxed);
	regions->pid = getpid();
	regions->last = &regions->threads;
	int status = copy_arguments(regions, events, options);
	if (status)
		report(error, &err, error_set(&err, status, "out of memory while opening regions"));
	else if (events)
		status = look_at_events(regions, error);
	if (status == 0) {
		status = -pthread_key_create(&regions->key, region_thread_ends);
		if (status)
			report(error, &err,
			       error_set(&err, status, "cannot open regions: %s",
					 "the process has no thread-specific keys left"));
	}
	if (status) {
		free_regions(regions);
		return status;
	}
	tick_source_find(world->kernel, &regions->clock);
	regions->scales[0] = regions->clock.ns_per_tick;
	*out = regions;
	return 0;
}

int culprit_regions_open(const char *events, const struct culprit_options *options,
			 struct culprit_regions **regions, struct culprit_error *error)
{
	return regions_open(events, options, &count_world_real, regions, error);
}

void culprit_regions_close(struct culprit_regions *regions)
{
	if (!regions)
		return;
	/* from here on no thread that ends comes back to its stack */
	pthread_key_delete(regions->key);
	region_lock(regions);
	free_regions(regions);
}

static struct culprit_region *add_region(struct culprit_regions *regions, const char *name)
{
	struct culprit_region *region = calloc(1, sizeof(*region));
	if (!region)
		return NULL;
	*region = (struct culprit_region){
		.regions = regions,
		.key = regions->key,
		.id = regions->id,
		.number = (uint32_t)regions->count,
		.name = arena_copy_text(&regions->arena, name, strlen(name)),
	};
	if (!region->name || region_threads_add_cells(regions, region->number)) {
		free(region);
		return NULL;
	}
	regions->all[regions->count++] = region;
	return region;
}

struct culprit_region *culprit_region_named(struct culprit_regions *regions, const char *name)
{
	struct culprit_region *region = NULL;
	region_lock(regions);
	for (size_t i = 0; !region && i < regions->count; i++)
		if (strcmp(regions->all[i]->name, name) == 0)
			region = regions->all[i];
	if (!region && regions->count < CULPRIT_REGION_NAMES)
		region = add_region(regions, name);
	region_unlock(regions);
	return region;
}
