#include "cli/stat_repeat.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/runs/run_order.h"
#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/random.h"
#include "cli/message.h"
#include "cli/progress.h"
#include "cli/stat_idle.h"
#include "cli/stat_repeat_private.h"

/* What a shell would not take as it is: such a command is given to one. */
#define SHELL_CHARACTERS "|&;<>()$`\\\"'*?[]{}#~=%!\n"

static void release(struct repeating *repeating)
{
	for (size_t c = 0; repeating->commands && c < repeating->repeated.commands; c++) {
		free(repeating->commands[c].words);
		free(repeating->commands[c].argv);
		stat_targets_release(&repeating->commands[c].targets);
	}
	for (size_t m = 0; repeating->repeated.measures && m < repeating->repeated.measure_count;
	     m++) {
		free(repeating->repeated.measures[m].summaries);
		free(repeating->repeated.measures[m].comparisons);
	}
	free(repeating->repeated.measures);
	free(repeating->commands);
	free(repeating->subjects);
	free(repeating->values);
	free(repeating->enabled_ns);
	free(repeating->running_ns);
}

/* --- commands --- */

/* The words of a text of --cmd, or a shell that reads it. 0 or the exit status. */
static int split(const char *text, struct repeated_command *command)
{
	bool shell = strpbrk(text, SHELL_CHARACTERS) != NULL;
	size_t most = strlen(text) / 2 + 4, count = 0;
	command->words = strdup(text);
	command->argv = calloc(most, sizeof(*command->argv));
	if (!command->words || !command->argv)
		return stat_repeat_out_of_memory();
	if (shell) {
		static char sh[] = "/bin/sh", option[] = "-c";
		command->argv[0] = sh;
		command->argv[1] = option;
		command->argv[2] = command->words;
		return 0;
	}
	char *rest = command->words;
	for (char *word; (word = strsep(&rest, " \t"));)
		if (*word)
			command->argv[count++] = word;
	if (count)
		return 0;
	message_error("--cmd needs a command, not '%s'", text);
	return 2;
}

static int make_commands(struct repeating *repeating)
{
	const struct stat_options *options = repeating->task->options;
	size_t count = options->commands.count ? options->commands.count : 1;
	repeating->commands = calloc(count, sizeof(*repeating->commands));
	repeating->subjects = calloc(count, sizeof(*repeating->subjects));
	if (!repeating->commands || !repeating->subjects)
		return stat_repeat_out_of_memory();
	repeating->repeated.commands = count;
	repeating->repeated.subjects = repeating->subjects;
	int status = 0;
	for (size_t c = 0; status == 0 && c < options->commands.count; c++) {
		struct repeated_command *command = &repeating->commands[c];
		status = split(options->commands.items[c], command);
		if (status == 0)
			status = stat_targets_make(&command->targets, options, command->argv);
		repeating->subjects[c] = options->commands.items[c];
	}
	if (!options->commands.count)
		repeating->subjects[0] = repeating->task->targets->subject;
	return status;
}

/* --- measures --- */

/* What a measure is called (NULL: out of memory), and its unit; the rest of it is empty. */
static struct repeated_measure measure_of(const struct stat_task *task, size_t number)
{
	static const char *const times[REPEATED_TIMES] = { "elapsed", "user", "sys" };
	if (number < REPEATED_TIMES)
		return (struct repeated_measure){ times[number], "s", RUN_TIME, NULL, NULL, NULL };
	number -= REPEATED_TIMES;
	if (number >= task->events->shown_count)
		return (struct repeated_measure){
			.name = task->metrics->list[number - task->events->shown_count].name,
			.unit = "",
			.kind = RUN_RATE,
		};
	const struct counts_event *event = &task->events->shown[number];
	CLEANUP(buffer_release) struct buffer name = { 0 };
	counts_event_append_name(event, &name);
	return (struct repeated_measure){
		.name = buffer_failed(&name) ? NULL
					     : arena_copy_text(&task->events->list.arena,
							       buffer_text(&name), name.size),
		.unit = event->unit,
		.kind = event->meaning == COUNTS_CLOCK ? RUN_TIME : RUN_COUNT,
	};
}

static int make_measures(struct repeating *repeating)
{
	const struct stat_task *task = repeating->task;
	struct repeated *repeated = &repeating->repeated;
	size_t events = task->events->shown_count, values;
	size_t measures = REPEATED_TIMES + events + task->metrics->count;
	repeated->measures = calloc(measures, sizeof(*repeated->measures));
	if (__builtin_mul_overflow(measures * repeated->commands, repeating->planned, &values) ||
	    !repeated->measures)
		return stat_repeat_out_of_memory();
	repeated->measure_count = measures;
	repeating->values = calloc(values, sizeof(*repeating->values));
	size_t times = events * repeated->commands + 1;
	repeating->enabled_ns = calloc(times, sizeof(*repeating->enabled_ns));
	repeating->running_ns = calloc(times, sizeof(*repeating->running_ns));
	if (!repeating->values || !repeating->enabled_ns || !repeating->running_ns)
		return stat_repeat_out_of_memory();
	for (size_t m = 0; m < measures; m++) {
		struct repeated_measure *measure = &repeated->measures[m];
		*measure = measure_of(task, m);
		measure->values = repeating->values + m * repeating->planned * repeated->commands;
		measure->summaries = calloc(repeated->commands, sizeof(struct run_summary));
		measure->comparisons = calloc(repeated->commands, sizeof(struct run_comparison));
		if (!measure->name || !measure->summaries || !measure->comparisons)
			return stat_repeat_out_of_memory();
	}
	repeated->main = task->options->events.count	? REPEATED_TIMES
			 : task->options->metrics.count ? REPEATED_TIMES + events
							: REPEATED_ELAPSED;
	return 0;
}

static void keep(struct repeating *repeating, const struct stat_counting *counting,
		 const struct stat_times *times, size_t round, size_t command)
{
	const struct repeated *repeated = &repeating->repeated;
	const struct counts_row *row = &counting->rows[0];
	size_t events = repeating->task->events->shown_count;
	size_t step = repeating->planned * repeated->commands;
	double *value = repeating->values + round * repeated->commands + command;
	value[REPEATED_ELAPSED * step] = times->elapsed_s;
	value[REPEATED_USER * step] = times->user_s;
	value[REPEATED_SYSTEM * step] = times->system_s;
	for (size_t m = 0; m < repeating->task->metrics->count; m++)
		value[(REPEATED_TIMES + events + m) * step] = row->metrics[m].value;
	for (size_t event = 0; event < events; event++) {
		const struct counts_value *counted = &row->values[event];
		value[(REPEATED_TIMES + event) * step] = counted->value;
		repeating->enabled_ns[command * events + event] += counted->enabled_ns;
		repeating->running_ns[command * events + event] += counted->running_ns;
	}
	repeating->commands[command].voluntary_switches += times->voluntary_switches;
	repeating->commands[command].involuntary_switches += times->involuntary_switches;
}

/* --- running --- */

static void count_failure(struct repeated_command *command, int status)
{
	if (status == 0)
		return;
	if (command->failures++ == 0)
		command->status = status;
	command->others |= command->status != status;
}

/* One run of one command; a negative round is not counted. 0 or the exit status. */
static int run_one(struct repeating *repeating, ssize_t round, size_t c)
{
	struct stat_task task = *repeating->task;
	struct repeated_command *command = &repeating->commands[c];
	struct stat_counting counting;
	struct stat_result result;
	if (command->argv) {
		task.command = command->argv;
		task.targets = &command->targets;
		task.hide_output = !task.options->show_output;
	}
	int status = stat_run(&task, &counting, &result);
	repeating->interrupted |= result.interrupted;
	if (status == 0 && round == 0 && c == 0)
		stat_counting_explain(&counting);
	if (status == 0 && round >= 0 && !result.interrupted) {
		keep(repeating, &counting, &result.times, (size_t)round, c);
		count_failure(command, result.status);
	}
	stat_counting_close(&counting);
	return status;
}

/* Rounds take about as long as those before. Commands whose output is shown write there
 * themselves. */
static void show_progress(const struct repeating *repeating, ssize_t round, uint64_t began_ns)
{
	const struct repeated *repeated = &repeating->repeated;
	const struct stat_options *options = repeating->task->options;
	ssize_t done = round + (ssize_t)repeated->warmup;
	double passed_s = (double)(clock_monotonic_ns() - began_ns) / 1e9;
	if (options->commands.count && !options->show_output)
		progress_show_rounds(round < 0 ? 0 : (size_t)round + 1, repeating->planned,
				     done ? passed_s / (double)done *
						     ((double)repeating->planned - (double)round)
					  : NAN);
}

static int run_all(struct repeating *repeating)
{
	struct repeated *repeated = &repeating->repeated;
	struct random_state random = random_seed(repeated->seed);
	CLEANUP(free_pointer) size_t *order = calloc(repeated->commands, sizeof(*order));
	if (!order)
		return stat_repeat_out_of_memory();
	CLEANUP(stat_idle_release) struct stat_idle idle = { 0 };
	stat_idle_begin(&idle, &stat_repeat_targets(repeating, 0)->allowed);
	uint64_t began_ns = clock_monotonic_ns();
	int status = 0;
	for (ssize_t round = -(ssize_t)repeated->warmup;
	     status == 0 && round < (ssize_t)repeating->planned; round++) {
		show_progress(repeating, round, began_ns);
		run_order_draw(&random, repeated->commands, order);
		for (size_t i = 0; status == 0 && !repeating->interrupted && i < repeated->commands;
		     i++)
			status = run_one(repeating, round, order[i]);
		if (repeating->interrupted)
			break; /* a round that is not whole compares nothing */
		if (round >= 0)
			repeated->rounds++;
	}
	repeating->idle_share = stat_idle_share(&idle);
	progress_clear();
	return status;
}

static void tell_failures(const struct repeating *repeating)
{
	for (size_t c = 0; c < repeating->repeated.commands; c++) {
		const struct repeated_command *command = &repeating->commands[c];
		if (command->failures)
			message_warning("%" PRIu64 " of %zu runs of %s%s%s ended with status %d%s",
					command->failures, repeating->repeated.rounds,
					command->argv ? "'" : "", repeating->subjects[c],
					command->argv ? "'" : "", command->status,
					command->others ? ", or another one" : "");
	}
}

static int finish(struct repeating *repeating, struct stat_output *output)
{
	struct error err = { 0 };
	if (repeating->repeated.rounds == 0) {
		message_error("interrupted before a round was over: nothing to say");
		return 1;
	}
	if (repeating->interrupted)
		message_warning("interrupted: %zu of %zu rounds were counted",
				repeating->repeated.rounds, repeating->planned);
	tell_failures(repeating);
	if (repeated_summarise(&repeating->repeated, &err) < 0)
		return message_failure(&err);
	int status = stat_repeat_print(repeating, output);
	return status ? status : stat_output_finish(output);
}

int stat_repeat(struct stat_task *task, struct stat_output *output)
{
	CLEANUP(release)
	struct repeating repeating = { .task = task, .planned = task->options->repeat };
	struct repeated *repeated = &repeating.repeated;
	repeated->warmup = task->options->warmup;
	repeated->seed = task->options->has_seed ? task->options->seed
						 : clock_monotonic_ns() ^ (uint64_t)getpid();
	int status = make_commands(&repeating);
	if (status == 0)
		status = make_measures(&repeating);
	if (status == 0)
		status = run_all(&repeating);
	if (status == 0)
		status = finish(&repeating, output);
	for (size_t c = 0; status == 0 && c < repeated->commands; c++)
		status = repeating.commands[c].status;
	return status;
}
