/* What repeated runs came to, laid out. */
#include <math.h>
#include <stdlib.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "cli/message.h"
#include "cli/stat_limit.h"
#include "cli/stat_repeat_private.h"
#include "render/repeated_json.h"
#include "render/repeated_text.h"

int stat_repeat_out_of_memory(void)
{
	message_error("out of memory for repeated runs");
	return 1;
}

const struct stat_targets *stat_repeat_targets(const struct repeating *repeating, size_t c)
{
	return repeating->commands[c].argv ? &repeating->commands[c].targets
					   : repeating->task->targets;
}

/* The mean of a command's runs; NAN without one. */
static double mean_of(const struct repeated_measure *measure, size_t c)
{
	const struct estimate *mean = &measure->summaries[c].mean;
	return mean->kind == ESTIMATE_ABSENT ? NAN : mean->value;
}

static void set_mean(struct counts_value *value, const struct repeated_measure *measure, size_t c)
{
	const struct estimate *mean = &measure->summaries[c].mean;
	if (mean->kind == ESTIMATE_ABSENT)
		return;
	value->state = COUNTS_KNOWN;
	value->value = mean->value;
	value->low = mean->kind == ESTIMATE_INTERVAL ? mean->low : NAN;
	value->high = mean->kind == ESTIMATE_INTERVAL ? mean->high : NAN;
}

/* Means of one command as one run, for perf's figures beside events and for what limits it. */
struct means {
	struct counts_value *values, *metrics;
	struct counts_row row;
	struct counts counts;
	struct limiting_factor factor;
};

static void release_means(struct means *means)
{
	free(means->values);
	free(means->metrics);
}

/* 0 or the exit status. */
static int fill_values(const struct repeating *repeating, size_t c, struct means *means)
{
	const struct stat_task *task = repeating->task;
	const struct repeated *repeated = &repeating->repeated;
	const struct repeated_measure *measures = repeated->measures + REPEATED_TIMES;
	size_t events = task->events->shown_count;
	means->values = calloc(events + 1, sizeof(*means->values));
	means->metrics = calloc(task->metrics->count + 1, sizeof(*means->metrics));
	if (!means->values || !means->metrics)
		return stat_repeat_out_of_memory();
	for (size_t i = 0; i < events; i++) {
		uint64_t enabled_ns = repeating->enabled_ns[c * events + i];
		struct counts_value *value = &means->values[i];
		*value =
			counts_value_absent(enabled_ns ? COUNTS_NOT_COUNTED : COUNTS_NOT_SUPPORTED);
		value->enabled_ns = enabled_ns / repeated->rounds;
		value->running_ns = repeating->running_ns[c * events + i] / repeated->rounds;
		set_mean(value, &measures[i], c);
	}
	/* whether it can be counted */
	stat_metrics_compute(task->metrics, means->values, means->metrics);
	for (size_t i = 0; i < task->metrics->count; i++) {
		struct counts_value *value = &means->metrics[i];
		*value = counts_value_absent(value->state == COUNTS_NOT_SUPPORTED
						     ? COUNTS_NOT_SUPPORTED
						     : COUNTS_NOT_COUNTED);
		set_mean(value, &measures[events + i], c);
	}
	return 0;
}

static int make_means(const struct repeating *repeating, size_t c, struct means *means)
{
	const struct stat_task *task = repeating->task;
	const struct repeated *repeated = &repeating->repeated;
	const struct repeated_command *command = &repeating->commands[c];
	int status = fill_values(repeating, c, means);
	if (status)
		return status;
	means->row = (struct counts_row){ .values = means->values, .metrics = means->metrics };
	means->counts =
		(struct counts){ .subject = repeating->subjects[c],
				 .events = task->events->shown,
				 .event_count = task->events->shown_count,
				 .metrics = task->metrics->list,
				 .metric_count = task->metrics->count,
				 .rows = &means->row,
				 .row_count = 1,
				 .elapsed_s = mean_of(&repeated->measures[REPEATED_ELAPSED], c),
				 .user_s = mean_of(&repeated->measures[REPEATED_USER], c),
				 .system_s = mean_of(&repeated->measures[REPEATED_SYSTEM], c) };
	double rounds = (double)repeated->rounds;
	const struct stat_times times = { means->counts.elapsed_s,
					  means->counts.user_s,
					  means->counts.system_s,
					  command->voluntary_switches / rounds,
					  command->involuntary_switches / rounds,
					  repeating->idle_share };
	means->factor =
		stat_limit_of(&means->counts, &times, stat_repeat_targets(repeating, c)->cpus);
	return 0;
}

static int print_single(struct repeating *repeating, struct buffer *page)
{
	const struct stat_task *task = repeating->task;
	const struct repeated *repeated = &repeating->repeated;
	CLEANUP(release_means) struct means means = { 0 };
	int status = make_means(repeating, 0, &means);
	if (status)
		return status;
	if (task->options->format == STAT_SEPARATED)
		repeated_separated_print(repeated, &means.counts, task->options->separator, page);
	else
		repeated_text_print(repeated, &means.counts,
				    task->targets->system_wide ? NULL : &means.factor, page);
	return 0;
}

static int print_commands(struct repeating *repeating, struct buffer *page)
{
	const struct repeated *repeated = &repeating->repeated;
	CLEANUP(free_pointer)
	struct limiting_factor *factors = calloc(repeated->commands, sizeof(*factors));
	if (!factors)
		return stat_repeat_out_of_memory();
	for (size_t c = 0; c < repeated->commands; c++) {
		CLEANUP(release_means) struct means means = { 0 };
		int status = make_means(repeating, c, &means);
		if (status)
			return status;
		factors[c] = means.factor;
	}
	repeated_text_print_commands(repeated, factors, page);
	return 0;
}

int stat_repeat_print(struct repeating *repeating, struct stat_output *output)
{
	CLEANUP(buffer_release) struct buffer page = { 0 };
	const struct repeated *repeated = &repeating->repeated;
	int status = 0;
	if (output->options->format == STAT_JSON)
		repeated_json_print(repeated, &page);
	else if (!output->options->commands.count)
		status = print_single(repeating, &page);
	else if (output->options->format == STAT_SEPARATED)
		repeated_separated_print_commands(repeated, output->options->separator, &page);
	else
		status = print_commands(repeating, &page);
	return status ? status : stat_output_write(output, &page);
}
