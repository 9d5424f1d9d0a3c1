/* Expressions of counted events (culprit/counter.h). */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "count/counter_private.h"
#include "count/expression.h"

struct culprit_metric {
	struct expression expression;
	size_t events; /* `units` has the number behind theirs */
	size_t *used;  /* numbers of the events that it consists of, each once */
	size_t used_count;
	double values[]; /* while it is computed: one for each event, and `units` */
};

static size_t find_name(const void *context, const char *text, size_t *name)
{
	const struct culprit_counters *counters = context;
	static const char units[] = "units";
	size_t longest = 0;
	for (size_t i = 0; i < counters->events.count; i++) {
		size_t size = strlen(counters->counted[i].name);
		if (size <= longest || strncmp(text, counters->counted[i].name, size) != 0)
			continue;
		longest = size;
		*name = i;
	}
	if (longest < sizeof(units) - 1 && strncmp(text, units, sizeof(units) - 1) == 0) {
		longest = sizeof(units) - 1;
		*name = counters->events.count;
	}
	return longest;
}

static void note_used(struct culprit_metric *metric)
{
	for (size_t i = 0; i < metric->expression.count; i++) {
		const struct expression_step *step = &metric->expression.steps[i];
		bool known = step->kind != EXPRESSION_NAME || step->name == metric->events;
		for (size_t j = 0; j < metric->used_count && !known; j++)
			known = metric->used[j] == step->name;
		if (!known)
			metric->used[metric->used_count++] = step->name;
	}
}

int culprit_metric_open(const struct culprit_counters *counters, const char *expression,
			struct culprit_metric **out, struct culprit_error *error)
{
	struct error err = { 0 };
	size_t events = counters->events.count;
	struct culprit_metric *metric = calloc(1, sizeof(*metric) + (events + 1) * sizeof(double));
	size_t *used = calloc(events + 1, sizeof(*used));
	int status = metric && used ? expression_parse(expression, find_name, counters,
						       &metric->expression, &err)
				    : error_set(&err, -ENOMEM, "out of memory");
	if (status) {
		free(metric);
		free(used);
		if (error) {
			error->code = status;
			snprintf(error->text, sizeof(error->text), "%s", err.text);
		}
		return status;
	}
	metric->events = events;
	metric->used = used;
	note_used(metric);
	*out = metric;
	return 0;
}

void culprit_metric_close(struct culprit_metric *metric)
{
	if (!metric)
		return;
	free(metric->used);
	free(metric);
}

/* How far the metric moves when one event moves from its value to `moved`, squared. */
static double square_of_move(struct culprit_metric *metric, size_t event, double moved,
			     double value)
{
	double kept = metric->values[event];
	metric->values[event] = moved;
	double change = expression_value(&metric->expression, metric->values) - value;
	metric->values[event] = kept;
	return change * change;
}

void culprit_metric_value(struct culprit_metric *metric, const struct culprit_value *values,
			  double units, struct culprit_value *result)
{
	*result = (struct culprit_value){ .flags = 0 };
	for (size_t i = 0; i < metric->events; i++)
		metric->values[i] = values[i].value;
	metric->values[metric->events] = units;
	double value = expression_value(&metric->expression, metric->values);
	double squares = 0;
	for (size_t i = 0; i < metric->used_count; i++) {
		size_t event = metric->used[i];
		const struct culprit_value *of = &values[event];
		result->flags |= of->flags;
		double low = square_of_move(metric, event, of->low, value);
		double high = square_of_move(metric, event, of->high, value);
		/* more of the event may make the metric smaller: the larger move counts both ways
		 */
		double larger = low > high ? low : high;
		squares += isnan(low) || isnan(high) ? (double)NAN : larger;
	}
	result->value = value;
	result->low = value - sqrt(squares);
	result->high = value + sqrt(squares);
	if (isnan(value))
		result->flags |= CULPRIT_ABSENT;
	else if (isnan(squares))
		result->flags |= CULPRIT_NO_INTERVAL;
}
