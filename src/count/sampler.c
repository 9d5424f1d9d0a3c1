#include "culprit/sampler.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/perf_event.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/count_of.h"
#include "base/error.h"
#include "count/kernel.h"
#include "count/sampler_file.h"
#include "count/sampler_private.h"
#include "count/sampler_ring.h"
#include "machine/culprit_names.h"
#include "machine/machine_root.h"
#include "machine/pmu.h"

#define CHAIN_MOST (SAMPLER_RECORD_MOST / sizeof(uint64_t))

/* ---- opening */

static int check_options(const struct culprit_sampler_options *options, struct error *err)
{
	static const uint64_t none[COUNT_OF(options->reserved)];
	bool no_taker = !options->function && !options->path && options->fd <= 0;
	if (options->path && options->fd > 0)
		return error_set(err, -EINVAL, "samples go to a path or a descriptor, not to both");
	if (no_taker)
		return error_set(
			err, -EINVAL,
			"a sampler needs a function, a path or a descriptor for its samples");
	if (options->frequency_hz && options->period)
		return error_set(err, -EINVAL, "a sampler has a frequency or a period, not both");
	if (memcmp(options->reserved, none, sizeof(none)) != 0)
		return error_set(err, -EINVAL,
				 "options of a sampler that this library does not know are set");
	return 0;
}

/* One event, which on a machine with several types of cores is one for each type. */
static int parse_event(struct culprit_sampler *sampler, const char *root_path, const char *text,
		       const struct culprit_sampler_options *options, struct error *err)
{
	CLEANUP(machine_root_close) struct machine_root root = { .fd = -1 };
	const struct event_namer *namer = NULL;
	if (options->names && !(namer = culprit_names_namer(options->names)))
		return error_set(err, -EINVAL,
				 "the names of events come from a library of another version");
	int ret = machine_root_open(root_path, &root, err);
	if (ret < 0)
		return ret;
	ret = pmu_list_read_if_any(&root, &sampler->pmus, err);
	if (ret == 0)
		ret = event_list_parse(&sampler->list, &sampler->pmus, namer, text, err);
	if (ret < 0)
		return ret;
	const struct event *events = sampler->list.events;
	for (size_t i = 1; i < sampler->list.count; i++)
		if (!events[i].core_type || strcmp(events[i].name, events[0].name) != 0)
			return error_set(err, -EINVAL,
					 "a sampler samples one event, and '%s' are several", text);
	if (!sampler->list.count || sampler->list.count > COUNT_OF(sampler->attrs))
		return error_set(err, -EINVAL, "'%s' are %zu events", text, sampler->list.count);
	if (options->user_only && events[0].attr.exclude_user)
		return error_set(err, -EINVAL,
				 "'%s' is of the kernel alone, and user_only leaves the kernel out",
				 text);
	sampler->event_count = sampler->list.count;
	snprintf(sampler->name, sizeof(sampler->name), "%s", events[0].name);
	return 0;
}

static int make_rooms(struct culprit_sampler *sampler,
		      const struct culprit_sampler_options *options, struct error *err)
{
	bool calls = options->stacks && options->function;
	sampler->room = malloc(SAMPLER_RECORD_MOST);
	sampler->calls = calls ? malloc(CHAIN_MOST * sizeof(uint64_t)) : NULL;
	if (!sampler->room || (calls && !sampler->calls))
		return error_set(err, -ENOMEM, "out of memory opening a sampler");
	sampler->function = options->function;
	sampler->context = options->context;
	return 0;
}

static int open_file(struct culprit_sampler *sampler, const struct culprit_sampler_options *options,
		     struct error *err)
{
	if (!options->path && options->fd <= 0)
		return 0;
	sampler->file = calloc(1, sizeof(*sampler->file));
	if (sampler->file)
		sampler->file->stream.fd = -1;
	sampler->path = options->path ? strdup(options->path) : NULL;
	if (!sampler->file || (options->path && !sampler->path))
		return error_set(err, -ENOMEM, "out of memory opening a sampler");
	return options->path ? sampler_stream_create(&sampler->file->stream, options->path, err)
			     : sampler_stream_use(&sampler->file->stream, options->fd, err);
}

/* The numbers that an event has on the lanes. */
static size_t ids_of(const struct culprit_sampler *sampler, size_t event, uint64_t *ids)
{
	size_t count = 0;
	for (size_t i = 0; i < sampler->lane_count; i++)
		if (sampler->lanes[i].fds[event] >= 0)
			ids[count++] = sampler->lanes[i].ids[event];
	return count;
}

static int write_failure(const struct culprit_sampler *sampler, int code, struct error *err)
{
	if (sampler->path)
		return error_set(err, code, "cannot write '%s': %s", sampler->path,
				 strerror(-code));
	return error_set(err, code, "cannot write samples to the descriptor: %s", strerror(-code));
}

/* What stands before the first sample. */
static int begin_file(struct culprit_sampler *sampler, struct error *err)
{
	struct sampler_file *file = sampler->file;
	if (!file)
		return 0;
	CLEANUP(free_pointer) uint64_t *ids = calloc(sampler->lane_count, sizeof(*ids));
	if (!ids)
		return error_set(err, -ENOMEM, "out of memory opening a sampler");
	file->id = sampler->lanes[0].dummy_id;
	file->pid = sampler->own.pid;
	sampler_file_begin(file);
	for (size_t e = 0; e < sampler->event_count; e++) {
		size_t count = ids_of(sampler, e, ids);
		if (count)
			sampler_file_event(file, &sampler->attrs[e], ids, count, sampler->name);
	}
	for (size_t i = 0; i < sampler->lane_count; i++)
		ids[i] = sampler->lanes[i].dummy_id;
	sampler_file_event(file, &sampler->dummy, ids, sampler->lane_count, "dummy:u");
	sampler_file_machine(file);
	sampler->loads = sampler_loads_now();
	sampler->looked_ns = clock_monotonic_ns();
	if (!sampler->attrs[0].exclude_kernel)
		sampler_maps_write_kernel(file, sampler->looked_ns);
	sampler_maps_write(file, sampler->looked_ns);
	int ret = sampler_stream_flush(&file->stream);
	return ret < 0 ? write_failure(sampler, ret, err) : 0;
}

static void free_sampler(struct culprit_sampler *sampler)
{
	sampler_close_events(sampler);
	own_process_release(&sampler->own);
	if (sampler->file)
		sampler_stream_close(&sampler->file->stream);
	event_list_release(&sampler->list);
	pmu_list_release(&sampler->pmus);
	free(sampler->file);
	free((char *)sampler->path);
	free(sampler->room);
	free(sampler->calls);
	free(sampler);
}

static void free_samplerp(struct culprit_sampler **sampler)
{
	if (*sampler)
		free_sampler(*sampler);
}

static int open_sampler(const struct count_world *world, const char *event,
			const struct culprit_sampler_options *options, struct culprit_sampler **out,
			struct error *err)
{
	static const struct culprit_sampler_options nothing;
	options = options ? options : &nothing;
	int ret = check_options(options, err);
	if (ret < 0)
		return ret;
	CLEANUP(free_samplerp) struct culprit_sampler *sampler = calloc(1, sizeof(*sampler));
	if (!sampler)
		return error_set(err, -ENOMEM, "out of memory opening a sampler");
	sampler->kernel = world->kernel;
	own_process_init(&sampler->own);
	ret = parse_event(sampler, world->root, event, options, err);
	if (ret == 0)
		ret = make_rooms(sampler, options, err);
	if (ret == 0)
		ret = sampler_open_events(sampler, options, err);
	/* The file last: it is not touched when there is nothing to sample. */
	if (ret == 0)
		ret = open_file(sampler, options, err);
	if (ret == 0)
		ret = begin_file(sampler, err);
	if (ret < 0)
		return ret;
	*out = sampler;
	sampler = NULL;
	return 0;
}

int sampler_open(const struct count_world *world, const char *event,
		 const struct culprit_sampler_options *options, struct culprit_sampler **sampler,
		 struct culprit_error *error)
{
	struct error err = { 0 };
	int ret = open_sampler(world, event, options, sampler, &err);
	if (error && ret < 0) {
		error->code = err.code;
		snprintf(error->text, sizeof(error->text), "%s", err.text);
	}
	return ret;
}

int culprit_sampler_open(const char *event, const struct culprit_sampler_options *options,
			 struct culprit_sampler **sampler, struct culprit_error *error)
{
	return sampler_open(&count_world_real, event, options, sampler, error);
}

/* ---- sampling */

/* 0, or the first failure; the others are switched all the same. */
static int control_all(const struct culprit_sampler *sampler, unsigned long request)
{
	int ret = 0;
	for (size_t i = 0; i < sampler->lane_count; i++)
		for (size_t e = 0; e < sampler->event_count; e++) {
			int fd = sampler->lanes[i].fds[e];
			int status = fd < 0 ? 0 : sampler->kernel->control(fd, request, 0);
			ret = ret ? ret : status;
		}
	return ret;
}

int culprit_sampler_start(struct culprit_sampler *sampler)
{
	if (!own_process_is_this(&sampler->own))
		return -ECHILD;
	if (sampler->running)
		return 0;
	if (sampler->file)
		sampler_look_at_loads(sampler);
	int ret = control_all(sampler, PERF_EVENT_IOC_ENABLE);
	if (ret < 0)
		control_all(sampler, PERF_EVENT_IOC_DISABLE);
	sampler->running = ret == 0;
	return ret;
}

int culprit_sampler_stop(struct culprit_sampler *sampler)
{
	if (!own_process_is_this(&sampler->own))
		return -ECHILD;
	int ret = control_all(sampler, PERF_EVENT_IOC_DISABLE);
	int taken = sampler_take(sampler);
	sampler->running = false;
	return ret ? ret : taken;
}

int culprit_sampler_drain(struct culprit_sampler *sampler)
{
	if (!own_process_is_this(&sampler->own))
		return -ECHILD;
	int ret = sampler_take(sampler);
	int written = sampler->file ? sampler_stream_flush(&sampler->file->stream) : 0;
	return ret ? ret : written;
}

void culprit_sampler_counts(const struct culprit_sampler *sampler,
			    struct culprit_sampler_counts *counts)
{
	*counts = sampler->counts;
	if (own_process_is_this(&sampler->own))
		counts->lost = sampler_lost(sampler);
}

const char *culprit_sampler_event(const struct culprit_sampler *sampler)
{
	return sampler->name;
}

/* ---- closing */

/* Samples for whose loss the kernel has not written a record: there was no room for it either. */
static void write_late_losses(struct culprit_sampler *sampler)
{
	uint64_t lost = sampler_lost(sampler);
	if (!sampler->file || lost <= sampler->counts.lost)
		return;
	size_t lane = 0;
	while (lane + 1 < sampler->lane_count && sampler->lanes[lane].fds[0] < 0)
		lane++;
	sampler_file_lost(sampler->file, sampler->lanes[lane].ids[0], lost - sampler->counts.lost,
			  clock_monotonic_ns());
}

static int end_file(struct culprit_sampler *sampler, struct error *err)
{
	if (!sampler->file)
		return 0;
	write_late_losses(sampler);
	int ret = sampler_stream_flush(&sampler->file->stream);
	int closed = sampler_stream_close(&sampler->file->stream);
	ret = ret ? ret : closed;
	return ret < 0 ? write_failure(sampler, ret, err) : 0;
}

int culprit_sampler_close(struct culprit_sampler *sampler, struct culprit_error *error)
{
	struct error err = { 0 };
	int ret = 0;
	if (!sampler)
		return 0;
	if (own_process_is_this(&sampler->own)) {
		if (sampler->running)
			culprit_sampler_stop(sampler);
		else
			sampler_take(sampler);
		ret = end_file(sampler, &err);
	}
	free_sampler(sampler);
	if (error && ret < 0) {
		error->code = err.code;
		snprintf(error->text, sizeof(error->text), "%s", err.text);
	}
	return ret;
}
