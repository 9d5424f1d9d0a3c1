#include "made_up_counters.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "machine/pmu.h"

static struct sampler *new_samplers(const struct event_list *events)
{
	struct sampler *samplers = calloc(EVENTS, sizeof(*samplers));
	assert_non_null(samplers);
	for (size_t i = 0; i < EVENTS; i++) {
		const struct event *event = &events->events[i];
		samplers[i] =
			(struct sampler){ .event = event,
					  .attr = event->attr,
					  .leader = event->leader,
					  .sampled_by = event->leader,
					  .group_size = event_list_group_size(events, i),
					  .clock = event->clock,
					  .sampled = event->leader == i,
					  .policy = i == CLOCK ? PERIOD_RANDOM : PERIOD_FREQUENCY,
					  .mean_period = 1000000,
					  .frequency_hz = i == CLOCK ? 0 : 1000 };
		strcpy(samplers[i].name, event->name);
	}
	return samplers;
}

void scene_begin(struct scene *scene)
{
	struct pmu_list none = { 0 };
	made_up_begin();
	*scene = (struct scene){ .features = { .format_lost = FACT_YES, .ksymbol = FACT_YES } };
	assert_int_equal(event_list_parse(&scene->events, &none, NULL,
					  "cpu-clock,{cycles,instructions},page-faults",
					  &scene->err),
			 0);
	assert_int_equal(scene->events.count, EVENTS);
	cpu_set_add(&scene->cpus, 0);
	cpu_set_add(&scene->cpus, 3);
	scene->options = (struct counters_options){ .features = &scene->features,
						    .cpus = &scene->cpus,
						    .sample_pages = PAGES,
						    .sideband_pages = PAGES };
}

void scene_init(struct scene *scene)
{
	assert_int_equal(counters_init(&scene->counters, new_samplers(&scene->events), EVENTS,
				       &scene->options, &scene->err),
			 0);
}

void scene_open(struct scene *scene)
{
	scene_init(scene);
	assert_int_equal(counters_open(&scene->counters, -1, 0, &scene->err), 0);
	assert_int_equal(counters_enable(&scene->counters, &scene->err), 0);
}

void scene_end(struct scene *scene)
{
	counters_release(&scene->counters);
	assert_int_equal(made_up_open_count(), 0);
	event_list_release(&scene->events);
	made_up_begin();
}

struct made_up_event *scene_event(const struct scene *scene, size_t event, int cpu)
{
	const struct perf_event_attr *attr = &scene->events.events[event].attr;
	struct made_up_event *found = made_up_find(attr->type, attr->config, cpu);
	assert_non_null(found);
	return found;
}

struct made_up_event *scene_sideband(int cpu)
{
	return made_up_find(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY, cpu);
}
