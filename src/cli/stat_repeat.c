#include "cli/stat_repeat.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/counted/repeated.h"
#include "analyze/runs/run_order.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/random.h"
#include "cli/message.h"
#include "cli/stat_limit.h"
#include "render/repeated_json.h"
#include "render/repeated_text.h"

/* Measures that every run has, before those of its events. */
enum { ELAPSED, USER, SYSTEM, TIMES };
/* What a shell would not take as it is: such a command is given to one. */
#define SHELL_CHARACTERS "|&;<>()$`\\\"'*?[]{}#~=%!\n"

struct repeated_command {
	char *words; /* what argv points into */
	char **argv; /* NULL-terminated */
	struct stat_targets targets;
	uint64_t failures; /* runs that ended with a status other than 0 */
	int status;	   /* of the first of these */
	bool others;	   /* ended with another one */
};

struct repeating {
	struct stat_task *task;
	struct repeated_command *commands;
	const char **subjects;
	struct repeated repeated;
	size_t planned;			   /* rounds */
	double *values;			   /* [measure][round][command] */
	uint64_t *enabled_ns, *running_ns; /* of all runs of the first command, by event */
	bool interrupted;
};

static int out_of_memory(void)
{
	message_error("out of memory for repeated runs");
	return 1;
}

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
		return out_of_memory();
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
		return out_of_memory();
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

static int make_measures(struct repeating *repeating)
{
	static const char *const names[TIMES] = { "elapsed", "user", "sys" };
	const struct stat_task *task = repeating->task;
	struct repeated *repeated = &repeating->repeated;
	size_t events = task->events->shown_count, measures = TIMES + events, values;
	repeated->measures = calloc(measures, sizeof(*repeated->measures));
	if (__builtin_mul_overflow(measures * repeated->commands, repeating->planned, &values) ||
	    !repeated->measures)
		return out_of_memory();
	repeated->measure_count = measures;
	repeating->values = calloc(values, sizeof(*repeating->values));
	repeating->enabled_ns = calloc(events + 1, sizeof(*repeating->enabled_ns));
	repeating->running_ns = calloc(events + 1, sizeof(*repeating->running_ns));
	if (!repeating->values || !repeating->enabled_ns || !repeating->running_ns)
		return out_of_memory();
	for (size_t m = 0; m < measures; m++) {
		const struct counts_event *event =
			m < TIMES ? NULL : &task->events->shown[m - TIMES];
		bool time = !event || event->meaning == COUNTS_CLOCK;
		repeated->measures[m] = (struct repeated_measure){
			.name = event ? event->name : names[m],
			.unit = event ? event->unit : "s",
			.kind = time ? RUN_TIME : RUN_COUNT,
			.values = repeating->values + m * repeating->planned * repeated->commands,
			.summaries = calloc(repeated->commands, sizeof(struct run_summary)),
			.comparisons = calloc(repeated->commands, sizeof(struct run_comparison)),
		};
		if (!repeated->measures[m].summaries || !repeated->measures[m].comparisons)
			return out_of_memory();
	}
	repeated->main = task->options->events.count ? TIMES : ELAPSED;
	return 0;
}

static void keep(struct repeating *repeating, const struct stat_counting *counting,
		 const struct stat_times *times, size_t round, size_t command)
{
	const struct repeated *repeated = &repeating->repeated;
	size_t step = repeating->planned * repeated->commands;
	double *value = repeating->values + round * repeated->commands + command;
	value[ELAPSED * step] = times->elapsed_s;
	value[USER * step] = times->user_s;
	value[SYSTEM * step] = times->system_s;
	for (size_t event = 0; event + TIMES < repeated->measure_count; event++) {
		const struct counts_value *counted = &counting->rows[0].values[event];
		value[(TIMES + event) * step] = counted->value;
		if (command == 0) {
			repeating->enabled_ns[event] += counted->enabled_ns;
			repeating->running_ns[event] += counted->running_ns;
		}
	}
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

static int run_all(struct repeating *repeating)
{
	struct repeated *repeated = &repeating->repeated;
	struct random_state random = random_seed(repeated->seed);
	CLEANUP(free_pointer) size_t *order = calloc(repeated->commands, sizeof(*order));
	if (!order)
		return out_of_memory();
	int status = 0;
	for (ssize_t round = -(ssize_t)repeated->warmup;
	     status == 0 && round < (ssize_t)repeating->planned; round++) {
		run_order_draw(&random, repeated->commands, order);
		for (size_t i = 0; status == 0 && !repeating->interrupted && i < repeated->commands;
		     i++)
			status = run_one(repeating, round, order[i]);
		if (repeating->interrupted)
			break; /* a round that is not whole compares nothing */
		if (round >= 0)
			repeated->rounds++;
	}
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

/* --- printing --- */

/* Means as one run, for perf's figures beside events and for what limits it. */
static int print_single(struct repeating *repeating, struct buffer *page)
{
	const struct stat_task *task = repeating->task;
	const struct repeated *repeated = &repeating->repeated;
	const struct repeated_measure *measures = repeated->measures;
	size_t events = repeated->measure_count - TIMES;
	CLEANUP(free_pointer) struct counts_value *values = calloc(events + 1, sizeof(*values));
	CLEANUP(free_pointer)
	struct counts_value *metrics = calloc(task->metrics->count + 1, sizeof(*metrics));
	if (!values || !metrics)
		return out_of_memory();
	for (size_t i = 0; i < events; i++) {
		const struct estimate *mean = &measures[TIMES + i].summaries[0].mean;
		values[i] = counts_value_absent(repeating->enabled_ns[i] ? COUNTS_NOT_COUNTED
									 : COUNTS_NOT_SUPPORTED);
		values[i].enabled_ns = repeating->enabled_ns[i] / repeated->rounds;
		values[i].running_ns = repeating->running_ns[i] / repeated->rounds;
		if (mean->kind == ESTIMATE_ABSENT)
			continue;
		values[i].state = COUNTS_KNOWN;
		values[i].value = mean->value;
		values[i].low = mean->kind == ESTIMATE_INTERVAL ? mean->low : NAN;
		values[i].high = mean->kind == ESTIMATE_INTERVAL ? mean->high : NAN;
	}
	stat_metrics_compute(task->metrics, values, metrics);
	const struct counts_row row = { .values = values, .metrics = metrics };
	struct counts counts = { .subject = repeating->subjects[0],
				 .events = task->events->shown,
				 .event_count = events,
				 .metrics = task->metrics->list,
				 .metric_count = task->metrics->count,
				 .rows = &row,
				 .row_count = 1,
				 .elapsed_s = measures[ELAPSED].summaries[0].mean.value,
				 .user_s = measures[USER].summaries[0].mean.value,
				 .system_s = measures[SYSTEM].summaries[0].mean.value };
	const struct stat_times times = { counts.elapsed_s, counts.user_s, counts.system_s, NAN,
					  NAN };
	struct limiting_factor factor = stat_limit_of(&counts, &times, task->targets->cpus);
	if (task->options->format == STAT_SEPARATED)
		repeated_separated_print(repeated, &counts, task->options->separator, page);
	else
		repeated_text_print(repeated, &counts, task->targets->system_wide ? NULL : &factor,
				    page);
	return 0;
}

static int print(struct repeating *repeating, struct stat_output *output)
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
		repeated_text_print_commands(repeated, &page);
	return status ? status : stat_output_write(output, &page);
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
	int status = print(repeating, output);
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
