#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "cli/message.h"
#include "cli/stat_control.h"
#include "cli/stat_limit.h"
#include "cli/stat_options.h"
#include "cli/stat_output.h"
#include "cli/stat_repeat.h"
#include "cli/stat_run.h"
#include "cli/verbs.h"
#include "render/stat_json.h"
#include "render/stat_separated.h"
#include "render/stat_text.h"

#define HEAD_EVERY 25 /* intervals between two heads of their columns */

struct interval_output {
	struct stat_output *output;
	uint64_t count; /* intervals so far */
};

#define TOPDOWN_EVERY_NS UINT64_C(1000000000)

/* The uses of slots in each second of a run that is printed at its end. */
static int print_second(void *context, const struct counts *counts)
{
	struct interval_output *intervals = context;
	CLEANUP(buffer_release) struct buffer page = { 0 };
	struct counts second = *counts;
	bool short_run = intervals->count == 0 && counts->elapsed_s < 0.99;
	if (short_run || intervals->output->options->format != STAT_TEXT)
		return 0;
	second.event_count = second.metric_count = 0;
	stat_text_print_interval(&second, intervals->count++ % HEAD_EVERY == 0, &page);
	return stat_output_write(intervals->output, &page);
}

static int print_interval(void *context, const struct counts *counts)
{
	struct interval_output *intervals = context;
	const struct stat_options *options = intervals->output->options;
	CLEANUP(buffer_release) struct buffer page = { 0 };
	if (options->format == STAT_JSON)
		stat_json_print_interval(counts, &page);
	else if (options->format == STAT_SEPARATED)
		stat_separated_print(counts, options->separator, true, NULL, &page);
	else
		stat_text_print_interval(counts, intervals->count % HEAD_EVERY == 0, &page);
	intervals->count++;
	return stat_output_write(intervals->output, &page);
}

/* All of a run that was printed at its end. */
static int print_run(const struct stat_task *task, const struct stat_counting *counting,
		     const struct stat_result *result, struct stat_output *output)
{
	const struct stat_options *options = task->options;
	struct counts counts = stat_counting_counts(counting);
	CLEANUP(buffer_release) struct buffer page = { 0 };
	counts.elapsed_s = result->times.elapsed_s;
	counts.user_s = result->times.user_s;
	counts.system_s = result->times.system_s;
	struct limiting_factor factor;
	/* whole CPUs are idle, too; and who controls chooses what of the time is counted */
	bool one =
		!task->targets->system_wide && options->rows == STAT_TOGETHER && !options->control;
	if (one)
		factor = stat_limit_of(&counts, &result->times, task->targets->cpus);
	if (options->format == STAT_JSON)
		stat_json_print(&counts, one ? &factor : NULL, &page);
	else if (options->format == STAT_SEPARATED)
		stat_separated_print(&counts, options->separator, false, NULL, &page);
	else
		stat_text_print(&counts, one ? &factor : NULL, &page);
	return stat_output_write(output, &page);
}

/* Counts once. Returns the exit status. */
static int run_once(struct stat_task *task, struct stat_output *output)
{
	struct interval_output intervals = { .output = output };
	struct stat_control control;
	struct stat_counting counting = { 0 };
	struct stat_result result = { 0 };
	int status = stat_control_open(&control, task->options->control);
	if (status)
		return status;
	task->control = &control;
	task->slices = true;
	if (task->options->interval_ns) {
		task->interval = print_interval;
		task->interval_ns = task->options->interval_ns;
		task->context = &intervals;
	} else if (task->options->has_topdown) {
		task->interval = print_second;
		task->interval_ns = TOPDOWN_EVERY_NS;
		task->context = &intervals;
	}
	status = stat_run(task, &counting, &result);
	stat_control_close(&control);
	if (status == 0) {
		stat_counting_explain(&counting);
		stat_counting_total(&counting);
		if (!task->options->interval_ns)
			status = print_run(task, &counting, &result, output);
	}
	if (status == 0)
		status = stat_output_finish(output);
	stat_counting_close(&counting);
	return status ? status : result.status;
}

static int count_it(const struct stat_options *options, char *const *command)
{
	CLEANUP(stat_events_release) struct stat_events events = { 0 };
	CLEANUP(stat_metrics_release) struct stat_metrics metrics = { 0 };
	CLEANUP(stat_targets_release) struct stat_targets targets = { 0 };
	CLEANUP(stat_output_release) struct stat_output output = { 0 };
	struct stat_signals signals;
	struct stat_task task = { .options = options,
				  .events = &events,
				  .targets = &targets,
				  .metrics = &metrics,
				  .command = command,
				  .signals = &signals };
	int status = stat_events_make(&events, options);
	if (status == 0)
		status = stat_metrics_make(&metrics, options, &events.list);
	if (status == 0 && !options->commands.count)
		status = stat_targets_make(&targets, options, command);
	if (status == 0)
		status = stat_output_open(&output, options,
					  options->commands.count ? options->show_output
								  : command != NULL);
	if (status == 0)
		status = stat_signals_take(&signals);
	if (status)
		return status;
	return options->has_repeat || options->commands.count ? stat_repeat(&task, &output)
							      : run_once(&task, &output);
}

static int run_stat(int argc, char **argv)
{
	int count;
	int status = stat_options_read(&verb_stat, argc, argv, &count);
	if (status)
		return status;
	argv[count + 1] = NULL; /* options_parse() moved the command to the front */
	return count_it(&stat_asked, count ? argv + 1 : NULL);
}

const struct verb verb_stat = {
	.name = "stat",
	.run = run_stat,
	.summary = "count events of a command, processes or the whole machine",
	.usage = "[OPTIONS] [--] [COMMAND [ARGUMENTS...]]",
	.options = stat_option_table,
};
