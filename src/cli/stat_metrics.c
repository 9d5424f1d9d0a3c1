#include "cli/stat_metrics.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/counted/metric_names.h"
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "cli/message.h"
#include "count/expression.h"
#include "events/pfm_names.h"
#include "machine/event.h"
#include "machine/event_names.h"

static const char *expression_of(const char *metric)
{
	const struct metric_name *name = metric_name_find(metric);
	return name ? name->expression : metric;
}

/* --- names in expressions --- */

/* A longer name that begins there takes the place of a shorter one. */
static void offer(const char *text, const char *name, size_t number, size_t *longest, size_t *found)
{
	size_t size = name ? strlen(name) : 0;
	if (size > *longest && strncmp(text, name, size) == 0) {
		*longest = size;
		*found = number;
	}
}

static size_t find_in_list(const void *context, const char *text, size_t *name)
{
	const struct event_list *list = context;
	size_t longest = 0;
	for (size_t i = 0; i < list->count; i++)
		offer(text, list->events[i].name, i, &longest, name);
	return longest;
}

/* Names that an expression may have without -e: those that every kernel knows. */
static size_t find_known(const char *text)
{
	char cache[CACHE_NAME_SIZE], description[256];
	size_t longest = 0, unused;
	uint64_t config;
	for (size_t i = 0; i < hardware_name_count; i++) {
		offer(text, hardware_names[i].name, 0, &longest, &unused);
		offer(text, hardware_names[i].alias, 0, &longest, &unused);
	}
	for (size_t i = 0; i < software_name_count; i++) {
		offer(text, software_names[i].name, 0, &longest, &unused);
		offer(text, software_names[i].alias, 0, &longest, &unused);
	}
	for (size_t i = 0; cache_name_at(i, cache, &config, description, sizeof(description)); i++)
		offer(text, cache, 0, &longest, &unused);
	return longest;
}

struct adding {
	struct event_list *list;
	const struct pmu_list *pmus;
	int *code; /* of the first event that could not be added */
	struct error *err;
};

static size_t find_or_add(const void *context, const char *text, size_t *name)
{
	const struct adding *adding = context;
	size_t listed = find_in_list(adding->list, text, name), known = find_known(text);
	if (listed >= known || *adding->code < 0)
		return listed;
	CLEANUP(free_pointer) char *added = strndup(text, known);
	*name = adding->list->count;
	*adding->code =
		added ? event_list_parse(adding->list, adding->pmus, &pfm_names, added, adding->err)
		      : error_set(adding->err, -ENOMEM, "out of memory for metrics");
	return *adding->code < 0 ? 0 : known;
}

int stat_metrics_add_events(const struct stat_options *options, const struct pmu_list *pmus,
			    struct event_list *list, struct error *err)
{
	int code = 0;
	const struct adding adding = { list, pmus, &code, err };
	CLEANUP(free_pointer) struct expression *expression = malloc(sizeof(*expression));
	if (!expression)
		return error_set(err, -ENOMEM, "out of memory for metrics");
	for (size_t i = 0; i < options->metrics.count; i++) {
		struct error mistake = { 0 };
		int ret = expression_parse(expression_of(options->metrics.items[i]), find_or_add,
					   &adding, expression, &mistake);
		if (code < 0)
			return code;
		if (ret < 0)
			return error_set(err, ret, "--metric: %s", mistake.text);
	}
	return 0;
}

int stat_metrics_make(struct stat_metrics *metrics, const struct stat_options *options,
		      const struct event_list *events)
{
	size_t count = options->metrics.count;
	struct error err = { 0 };
	metrics->list = calloc(count + 1, sizeof(*metrics->list));
	metrics->expressions = calloc(count + 1, sizeof(*metrics->expressions));
	metrics->event_count = events->count;
	if (!metrics->list || !metrics->expressions) {
		message_error("out of memory for metrics");
		return 1;
	}
	for (size_t i = 0; i < count; i++) {
		const char *text = expression_of(options->metrics.items[i]);
		metrics->list[i] = (struct counts_metric){ options->metrics.items[i], text };
		if (expression_parse(text, find_in_list, events, &metrics->expressions[i], &err) <
		    0)
			return message_refusal(&err);
		metrics->count++;
	}
	return 0;
}

void stat_metrics_release(struct stat_metrics *metrics)
{
	free(metrics->list);
	free(metrics->expressions);
	*metrics = (struct stat_metrics){ 0 };
}

/* How far the metric moves when one event moves to either end of its interval, squared: the larger
 * of both. NAN where the interval is not known. */
static double square_of_move(const struct expression *expression, double *numbers, size_t event,
			     const struct counts_value *value, double result)
{
	double kept = numbers[event], larger = 0;
	const double ends[] = { value->low, value->high };
	for (int i = 0; i < 2; i++) {
		numbers[event] = ends[i];
		double move = expression_value(expression, numbers) - result;
		larger = isnan(move) || move * move > larger ? move * move : larger;
		if (isnan(larger))
			break;
	}
	numbers[event] = kept;
	return larger;
}

static bool is_used(const struct expression *expression, size_t event)
{
	for (size_t i = 0; i < expression->count; i++)
		if (expression->steps[i].kind == EXPRESSION_NAME &&
		    expression->steps[i].name == event)
			return true;
	return false;
}

void stat_metrics_compute(const struct stat_metrics *metrics, const struct counts_value *values,
			  struct counts_value *results)
{
	CLEANUP(free_pointer) double *numbers = calloc(metrics->event_count + 1, sizeof(*numbers));
	for (size_t i = 0; numbers && i < metrics->event_count; i++)
		numbers[i] = values[i].value;
	for (size_t m = 0; m < metrics->count; m++) {
		const struct expression *expression = &metrics->expressions[m];
		results[m] = counts_value_absent(COUNTS_NOT_COUNTED);
		if (!numbers)
			continue;
		double value = expression_value(expression, numbers), squares = 0;
		bool supported = true;
		for (size_t i = 0; i < metrics->event_count; i++) {
			if (!is_used(expression, i))
				continue;
			supported &= values[i].state != COUNTS_NOT_SUPPORTED;
			squares += square_of_move(expression, numbers, i, &values[i], value);
		}
		if (!isfinite(value)) {
			results[m].state = supported ? COUNTS_NOT_COUNTED : COUNTS_NOT_SUPPORTED;
			continue;
		}
		results[m] = (struct counts_value){ .state = COUNTS_KNOWN,
						    .value = value,
						    .low = value - sqrt(squares),
						    .high = value + sqrt(squares) };
	}
}
