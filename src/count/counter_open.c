/* Setting counters up: everything that allocates, and that can go wrong for good. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/small_file.h"
#include "count/cost.h"
#include "count/count_set.h"
#include "count/counter_private.h"
#include "count/definitions.h"
#include "count/kernel.h"
#include "count/target_list.h"
#include "machine/culprit_names.h"
#include "machine/machine_root.h"

#define DEFINITIONS_BYTES (1 << 20)

static int read_definitions(struct culprit_counters *counters, const char *path,
			    const struct event_namer *names, struct error *err)
{
	CLEANUP(buffer_release) struct buffer text = { 0 };
	int status = small_file_read(path, DEFINITIONS_BYTES, &text);
	if (status)
		return error_set(err, status, "cannot read definitions '%s': %s", path,
				 strerror(-status));
	return definitions_parse((const char *)text.data, text.size, path, &counters->pmus, names,
				 &counters->definitions, err);
}

static int read_events(struct culprit_counters *counters, const char *events,
		       const struct culprit_options *options, const char *path, struct error *err)
{
	struct machine_root root;
	int status = machine_root_open(path, &root, err);
	if (status)
		return status;
	status = pmu_list_read_if_any(&root, &counters->pmus, err);
	machine_root_close(&root);
	if (status)
		return status;
	const struct event_namer *namer = NULL;
	if (options->names && !(namer = culprit_names_namer(options->names)))
		return error_set(
			err, -EINVAL,
			"the further names of events come from another version of culprit");
	if (options->definitions) {
		status = read_definitions(counters, options->definitions, namer, err);
		if (status)
			return status;
		namer = definitions_namer(counters->definitions);
	}
	return event_list_parse(&counters->events, &counters->pmus, namer, events, err);
}

static int open_set(struct culprit_counters *counters, const struct count_kernel *kernel,
		    const struct target_list *targets, const struct culprit_options *options,
		    struct error *err)
{
	struct count_options how = {
		.targets = targets->all,
		.target_count = targets->count,
		.inherit = target_inherit(options),
		.user_only = options->flags & CULPRIT_USER_ONLY,
		.pinned = options->flags & CULPRIT_PINNED,
		.never_multiplex = options->flags & CULPRIT_NEVER_MULTIPLEX,
		.slices = !(options->flags & CULPRIT_NEVER_MULTIPLEX),
		.live = options->subject == CULPRIT_THIS_THREAD &&
			!(options->flags & CULPRIT_ALWAYS_READ),
	};
	return count_set_open(&counters->events, &counters->pmus, &how, kernel, &counters->set,
			      err);
}

static int make_room(struct culprit_counters *counters, struct error *err)
{
	size_t events = counters->events.count, all;
	if (__builtin_mul_overflow(events, counters->targets, &all))
		return error_set(err, -ENOMEM, "out of memory while opening counters");
	counters->begin = calloc(all + 1, sizeof(*counters->begin));
	counters->end = calloc(all + 1, sizeof(*counters->end));
	counters->readings = calloc(events + 1, sizeof(*counters->readings));
	counters->enabled_ns = calloc(events + 1, sizeof(*counters->enabled_ns));
	counters->costs = calloc(events + 1, sizeof(*counters->costs));
	if (!counters->begin || !counters->end || !counters->readings || !counters->costs ||
	    !counters->enabled_ns)
		return error_set(err, -ENOMEM, "out of memory while opening counters");
	return 0;
}

struct trial {
	struct culprit_counters *counters;
	const struct count_moment *begin, *end; /* of the one before; NULL: there was none */
};

/*
 * Between the last reading of a begin and the first one of an end stands nothing that is not there
 * in a measurement, too: so what a trial tells of how counters are read, the next one's begin
 * notes, in front of its own readings.
 */
static void begin_nothing(void *context, struct count_moment *moments)
{
	struct trial *trial = context;
	struct culprit_counters *counters = trial->counters;
	if (trial->end)
		counters->costs_asked = counters_asked(counters, trial->begin) +
					counters_asked(counters, trial->end);
	trial->begin = moments;
	counters_take_begin(counters, moments);
}

static void end_nothing(void *context, struct count_moment *moments)
{
	struct trial *trial = context;
	trial->end = moments;
	counters_take_end(trial->counters, moments);
}

static int set_up(struct culprit_counters *counters, const char *events,
		  const struct culprit_options *options, const struct count_world *world,
		  struct error *err)
{
	CLEANUP(target_list_release) struct target_list targets = { 0 };
	if (!events)
		return error_set(err, -EINVAL, "there are no events to count");
	int status = target_list_fill(&targets, options, err);
	if (status == 0)
		status = read_events(counters, events, options, world->root, err);
	if (status)
		return status;
	counters->own_thread = options->subject == CULPRIT_THIS_THREAD;
	counters->thread = pthread_self();
	counters->counted = calloc(counters->events.count + 1, sizeof(*counters->counted));
	if (!counters->counted)
		return error_set(err, -ENOMEM, "out of memory while opening counters");
	status = counters_settle(counters, world->kernel, &targets, options, err);
	counters->targets = targets.count;
	if (status == 0)
		status = open_set(counters, world->kernel, &targets, options, err);
	if (status == 0)
		status = counters_settle_opened(counters, options, err);
	if (status == 0)
		status = make_room(counters, err);
	if (status || !counters->own_thread || options->flags & CULPRIT_NOT_CALIBRATED)
		return status;
	counters->calibrated = true;
	struct trial trial = { .counters = counters };
	struct cost_subject subject = {
		.begin = begin_nothing,
		.end = end_nothing,
		.context = &trial,
		.events = counters->events.count,
	};
	status = count_cost_measure(&subject, counters->costs);
	return status ? error_set(err, status, "out of memory while opening counters") : 0;
}

int counters_open(const char *events, const struct culprit_options *options,
		  const struct count_world *world, struct culprit_counters **out,
		  struct culprit_error *error)
{
	static const struct culprit_options usual = { .subject = CULPRIT_THIS_THREAD };
	struct error err = { 0 };
	struct culprit_counters *counters = calloc(1, sizeof(*counters));
	int status = counters ? set_up(counters, events, options ? options : &usual, world, &err)
			      : error_set(&err, -ENOMEM, "out of memory while opening counters");
	if (status) {
		culprit_counters_close(counters);
		if (error) {
			error->code = status;
			snprintf(error->text, sizeof(error->text), "%s", err.text);
		}
		return status;
	}
	*out = counters;
	return 0;
}

int culprit_counters_open(const char *events, const struct culprit_options *options,
			  struct culprit_counters **counters, struct culprit_error *error)
{
	return counters_open(events, options, &count_world_real, counters, error);
}

void culprit_counters_close(struct culprit_counters *counters)
{
	if (!counters)
		return;
	count_set_close(counters->set);
	free(counters->begin);
	free(counters->end);
	free(counters->readings);
	free(counters->enabled_ns);
	free(counters->costs);
	free(counters->counted);
	event_list_release(&counters->events);
	definitions_free(counters->definitions);
	pmu_list_release(&counters->pmus);
	arena_release(&counters->arena);
	free(counters);
}
