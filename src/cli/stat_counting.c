#include "cli/stat_counting.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "advice/perf_explain.h"
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "cli/message.h"
#include "count/kernel.h"
#include "machine/core_time.h"

static size_t event_count(const struct stat_counting *counting)
{
	return counting->events->list.count;
}

static int out_of_memory(void)
{
	message_error("out of memory for what is counted");
	return 1;
}

static int allocate(struct stat_counting *counting)
{
	size_t rows = counting->targets->row_count, events = event_count(counting);
	size_t targets = counting->targets->count, metrics = counting->metrics->count;
	counting->last = calloc(targets * events + 1, sizeof(*counting->last));
	counting->now = calloc(targets * events + 1, sizeof(*counting->now));
	counting->sliced = calloc(2 * targets * events + 1, sizeof(*counting->sliced));
	counting->slices = calloc(rows * events + 1, sizeof(*counting->slices));
	counting->values = calloc(rows * events + 1, sizeof(*counting->values));
	counting->metric_values = calloc(rows * metrics + 1, sizeof(*counting->metric_values));
	size_t types = counting->events->topdown.count;
	counting->topdown = calloc(rows * types + 1, sizeof(*counting->topdown));
	counting->rows = calloc(rows + 1, sizeof(*counting->rows));
	if (!counting->sliced || !counting->slices || !counting->last || !counting->now ||
	    !counting->values || !counting->metric_values || !counting->topdown || !counting->rows)
		return out_of_memory();
	for (size_t i = 0; i < rows; i++)
		counting->rows[i] = (struct counts_row){
			.label = counting->targets->labels[i],
			.cpus = counting->targets->cpus_of[i],
			.values = counting->values + i * events,
			.metrics = counting->metric_values + i * metrics,
			.topdown = counting->topdown + i * types,
		};
	return 0;
}

int stat_counting_open(struct stat_counting *counting, struct stat_events *events,
		       const struct stat_targets *targets, const struct stat_metrics *metrics,
		       enum stat_begin begin, bool inherit)
{
	struct error err = { 0 };
	struct count_options options = {
		.targets = targets->list,
		.target_count = targets->count,
		.inherit = inherit && !targets->system_wide ? COUNT_CHILDREN : COUNT_ALONE,
		.disabled = begin == STAT_LATER,
		.enable_on_exec = begin == STAT_WITH_EXEC,
	};
	*counting =
		(struct stat_counting){ .targets = targets, .events = events, .metrics = metrics };
	int status = allocate(counting);
	if (status || events->list.count == 0)
		return status;
	int ret = count_set_open(&events->list, &events->pmus, &options, &count_kernel_real,
				 &counting->set, &err);
	return ret < 0 ? message_failure(&err) : stat_events_settle(events, counting->set);
}

void stat_counting_close(struct stat_counting *counting)
{
	count_set_close(counting->set);
	free(counting->last);
	free(counting->now);
	free(counting->sliced);
	free(counting->slices);
	free(counting->values);
	free(counting->metric_values);
	free(counting->topdown);
	free(counting->rows);
	*counting = (struct stat_counting){ 0 };
}

static int check(int ret, const char *what)
{
	if (ret == 0)
		return 0;
	message_error("cannot %s the counters: %s", what, strerror(-ret));
	return 1;
}

int stat_counting_enable(struct stat_counting *counting)
{
	return counting->set ? check(count_set_enable(counting->set), "start") : 0;
}

int stat_counting_disable(struct stat_counting *counting)
{
	return counting->set ? check(count_set_disable(counting->set), "stop") : 0;
}

bool stat_counting_is_hopeless(struct stat_counting *counting)
{
	for (size_t t = 0; counting->set && t < counting->targets->count; t++) {
		struct count_reading *now = counting->now + t * event_count(counting);
		if (count_set_read(counting->set, t, now) < 0)
			return false; /* whoever reads later says why */
		for (size_t i = 0; i < event_count(counting); i++)
			if (now[i].state != COUNT_NOT_SUPPORTED)
				return false;
	}
	return counting->set != NULL;
}

/* Adds a target's value; each is scaled by its own times. */
static void add_value(struct counts_value *sum, const struct counts_value *part)
{
	sum->count += part->count;
	sum->enabled_ns += part->enabled_ns;
	sum->running_ns += part->running_ns;
	if (part->state != COUNTS_KNOWN)
		return;
	if (sum->state != COUNTS_KNOWN) {
		sum->value = sum->low = sum->high = 0;
		sum->state = COUNTS_KNOWN;
	}
	sum->value += part->value;
	sum->low += part->low;
	sum->high += part->high;
}

/* Of one target. */
struct two_readings {
	const struct count_reading *last, *now;
};

static uint64_t ran_ns(const void *context, size_t event)
{
	const struct two_readings *readings = context;
	return readings->now[event].running_ns - readings->last[event].running_ns;
}

/* How long the event was to count on the target since the last reading. */
static uint64_t enabled_ns(const struct stat_counting *counting, size_t target, size_t event)
{
	size_t events = event_count(counting);
	const struct two_readings readings = { counting->last + target * events,
					       counting->now + target * events };
	uint64_t enabled = readings.now[event].enabled_ns - readings.last[event].enabled_ns;
	uint64_t running = ran_ns(&readings, event);
	uint64_t idle = enabled > running ? enabled - running : 0;
	uint64_t elsewhere = core_time_elsewhere_ns(counting->events->list.events, events, event,
						    ran_ns, &readings);
	return enabled - (elsewhere < idle ? elsewhere : idle);
}

static struct counts_value value_of(const struct stat_counting *counting, size_t row, size_t event)
{
	const struct stat_targets *targets = counting->targets;
	struct counts_value sum = counts_value_absent(COUNTS_NOT_SUPPORTED);
	uint64_t unseen_ns = 0;
	for (size_t t = 0; t < targets->count; t++) {
		const struct count_reading *now = &counting->now[t * event_count(counting) + event];
		const struct count_reading *last =
			&counting->last[t * event_count(counting) + event];
		if (targets->row_of[t] != row)
			continue;
		if (sum.state == COUNTS_NOT_SUPPORTED && now->state != COUNT_NOT_SUPPORTED)
			sum.state = COUNTS_NOT_COUNTED;
		if (now->state != COUNT_OPEN)
			continue;
		struct counts_value part = counts_value_of(
			counting->events->shown[event].scale, now->count - last->count,
			enabled_ns(counting, t, event), now->running_ns - last->running_ns);
		if (part.state != COUNTS_KNOWN)
			unseen_ns += part.enabled_ns;
		add_value(&sum, &part);
	}
	if (sum.state == COUNTS_KNOWN && unseen_ns) {
		/* targets where others had the PMU all the time: as much as where it was counted */
		sum.value *= (double)sum.enabled_ns / (double)(sum.enabled_ns - unseen_ns);
		sum.low = sum.high = NAN;
	}
	return sum;
}

/* The interval of a scaled value of all the time. */
static void find_interval(const struct stat_counting *counting, size_t row, size_t event,
			  struct counts_value *value)
{
	double half_width, scale = counting->events->shown[event].scale;
	if (value->state != COUNTS_KNOWN || isfinite(value->low) ||
	    !slices_half_width(&counting->slices[row * event_count(counting) + event],
			       (double)value->count, (double)value->enabled_ns,
			       (double)value->running_ns, &half_width))
		return;
	/* as many as were counted there were */
	value->low = fmax((double)value->count * scale, value->value - half_width * scale);
	value->high = value->value + half_width * scale;
}

enum span_of_rows { SINCE_LAST, TOTAL };

static void make_rows(struct stat_counting *counting, enum span_of_rows span)
{
	size_t events = event_count(counting);
	for (size_t row = 0; row < counting->targets->row_count; row++) {
		struct counts_value *values = counting->values + row * events;
		for (size_t event = 0; event < events; event++) {
			values[event] = value_of(counting, row, event);
			if (span == TOTAL)
				find_interval(counting, row, event, &values[event]);
		}
		stat_metrics_compute(counting->metrics, values,
				     counting->metric_values + row * counting->metrics->count);
		stat_topdown_compute(&counting->events->topdown, values,
				     counting->topdown + row * counting->events->topdown.count);
	}
}

/* 0 or the exit status after a message. */
static int read_targets(struct stat_counting *counting)
{
	struct count_reading *last = counting->now;
	counting->now = counting->last;
	counting->last = last;
	for (size_t t = 0; t < counting->targets->count; t++) {
		int status = check(
			count_set_read(counting->set, t, counting->now + t * event_count(counting)),
			"read");
		if (status)
			return status;
	}
	return 0;
}

int stat_counting_read(struct stat_counting *counting)
{
	int status = counting->set ? read_targets(counting) : 0;
	if (status)
		return status;
	make_rows(counting, SINCE_LAST);
	return 0;
}

static void add_slice(struct stat_counting *counting, const struct count_reading *now, size_t row,
		      size_t event, bool *taking_turns)
{
	const struct stat_targets *targets = counting->targets;
	uint64_t count = 0, enabled_ns = 0, running_ns = 0;
	for (size_t t = 0; t < targets->count; t++) {
		size_t at = t * event_count(counting) + event;
		const struct count_reading *last = &counting->sliced[at];
		if (targets->row_of[t] != row || now[at].state != COUNT_OPEN)
			continue;
		count += now[at].count - last->count;
		enabled_ns += now[at].enabled_ns - last->enabled_ns;
		running_ns += now[at].running_ns - last->running_ns;
	}
	*taking_turns |= running_ns < enabled_ns;
	slices_add(&counting->slices[row * event_count(counting) + event], (double)count,
		   (double)running_ns);
}

int stat_counting_slice(struct stat_counting *counting, bool *taking_turns)
{
	size_t events = event_count(counting), readings = counting->targets->count * events;
	struct count_reading *now = counting->sliced + readings;
	*taking_turns = false;
	if (!counting->set)
		return 0;
	for (size_t t = 0; t < counting->targets->count; t++) {
		int status = check(count_set_read(counting->set, t, now + t * events), "read");
		if (status)
			return status;
	}
	for (size_t row = 0; row < counting->targets->row_count; row++)
		for (size_t event = 0; event < events; event++)
			add_slice(counting, now, row, event, taking_turns);
	memcpy(counting->sliced, now, readings * sizeof(*now));
	return 0;
}

void stat_counting_total(struct stat_counting *counting)
{
	size_t readings = counting->targets->count * event_count(counting);
	if (!counting->set)
		return;
	memset(counting->last, 0, readings * sizeof(*counting->last));
	make_rows(counting, TOTAL);
}

struct counts stat_counting_counts(const struct stat_counting *counting)
{
	return (struct counts){
		.subject = counting->targets->subject,
		.events = counting->events->shown,
		.event_count = counting->events->shown_count,
		.metrics = counting->metrics->list,
		.metric_count = counting->metrics->count,
		.core_types = counting->events->topdown.types,
		.topdown_count = counting->events->topdown.count,
		.rows = counting->rows,
		.row_count = counting->targets->row_count,
		.elapsed_s = NAN,
		.user_s = NAN,
		.system_s = NAN,
	};
}

/* Why the event is not counted on any target; "" when it is, somewhere. */
static void find_cause(const struct stat_counting *counting, size_t event, char *text, size_t size)
{
	const struct stat_targets *targets = counting->targets;
	const struct event *asked = &counting->events->list.events[event];
	const struct count_reading *refused = NULL;
	size_t at = 0;
	text[0] = 0;
	for (size_t t = 0; t < targets->count; t++) {
		const struct count_reading *now = &counting->now[t * event_count(counting) + event];
		if (now->state == COUNT_OPEN)
			return;
		if (!refused && now->state == COUNT_NOT_SUPPORTED) {
			refused = now;
			at = t;
		}
	}
	if (refused)
		perf_open_explain(asked, refused->code, targets->list[at].pid,
				  targets->list[at].cpu, text, size);
}

static bool was_before(const struct stat_counting *counting, size_t event, const char *cause)
{
	char before[512];
	for (size_t i = 0; i < event; i++) {
		find_cause(counting, i, before, sizeof(before));
		if (strcmp(before, cause) == 0)
			return true;
	}
	return false;
}

void stat_counting_explain(const struct stat_counting *counting)
{
	for (size_t i = 0; counting->set && i < event_count(counting); i++) {
		CLEANUP(buffer_release) struct buffer names = { 0 };
		char cause[512], other[512];
		find_cause(counting, i, cause, sizeof(cause));
		if (!cause[0] || was_before(counting, i, cause))
			continue;
		for (size_t k = i; k < event_count(counting); k++) {
			find_cause(counting, k, other, sizeof(other));
			if (strcmp(cause, other) == 0)
				buffer_printf(&names, "%s%s", k == i ? "" : ", ",
					      counting->events->shown[k].name);
		}
		if (counting->events->usual)
			message_note("not counted: %s: %s; 'culprit doctor' says more",
				     buffer_text(&names), cause);
		else
			message_warning("not counted: %s: %s; 'culprit doctor' says more",
					buffer_text(&names), cause);
	}
}
