#include "cli/top_model.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "cli/daemon_places.h"
#include "cli/message.h"
#include "cli/top_options.h"
#include "cli/top_source.h"

#define FIRST_NS UINT64_C(700000000) /* a first table soon */

static struct top_source_times times_of(const struct top_options *options)
{
	/* of batches each table is about an interval like the others */
	uint64_t first_ns =
		options->batch || options->delay_ns < FIRST_NS ? options->delay_ns : FIRST_NS;
	return (struct top_source_times){ first_ns, options->delay_ns };
}

/* 0 or the exit status. */
static int ask_daemon(struct top_model *model)
{
	struct error err = { 0 };
	const struct top_options *options = model->options;
	const char *socket = options->socket;
	model->asks_daemon = true;
	model->unnamed = !socket;
	if (!socket) {
		daemon_places_find_socket(model->socket, sizeof(model->socket));
		socket = model->socket;
	}
	model->source_name = "the daemon's samples";
	if (top_source_ask(socket, times_of(options), &model->source, &err) < 0)
		return message_failure(&err);
	return 0;
}

/* Called by the source's thread. Each table may bring the same remark: it is made once in a row. */
static void note(void *context, enum collect_note_kind kind, const char *sentence)
{
	static char before[1024];
	(void)context;
	if (kind != COLLECT_WARNING || strncmp(before, sentence, sizeof(before) - 1) == 0)
		return;
	snprintf(before, sizeof(before), "%s", sentence);
	message_warning("%s", sentence);
}

int top_model_sample(struct top_model *model)
{
	struct error err = { 0 };
	struct top_options *options = model->options;
	const struct top_tasks *tasks = &options->tasks;
	top_source_close(model->source);
	model->source = NULL;
	model->asks_daemon = model->unnamed = false;
	int status = sampling_options_events(&options->sampling, &model->events);
	if (status)
		return status;
	struct collect_options collect =
		sampling_options_collect(&options->sampling, &model->events);
	collect.pids = tasks->pids;
	collect.pid_count = tasks->pid_count;
	collect.tids = tasks->tids;
	collect.tid_count = tasks->tid_count;
	collect.children = options->children;
	collect.names_only = true;
	collect.note = options->batch ? note : NULL; /* a screen has no room for it */
	collect.target = options->sampling.cgroup		? COLLECT_CGROUP
			 : tasks->pid_count || tasks->tid_count ? COLLECT_TASKS
								: COLLECT_SYSTEM;
	model->source_name = "own samples";
	if (top_source_sample(&collect, times_of(options), &model->source, &err) < 0)
		return message_failure(&err);
	return 0;
}

int top_model_open(struct top_model *model, struct top_options *options)
{
	size_t parts = (size_t)((options->window_ns + options->delay_ns - 1) / options->delay_ns);
	model->options = options;
	model->window = profile_window_new(parts);
	if (!model->window)
		return message_failure(&(struct error){ -ENOMEM, "out of memory" });
	return top_options_own(options) ? top_model_sample(model) : ask_daemon(model);
}

int top_model_take(struct top_model *model, bool *came, struct error *err)
{
	struct profile *part = NULL;
	uint64_t ns;
	int ret = top_source_take(model->source, &part, &ns, err);
	*came = part != NULL;
	if (ret < 0 || !part)
		return ret;
	model->parts++;
	return profile_window_add(model->window, part, ns, err);
}

bool top_model_may_sample(const struct top_model *model)
{
	return model->unnamed && !top_source_answers(model->source);
}

void top_model_release(struct top_model *model)
{
	top_source_close(model->source);
	profile_window_free(model->window);
	event_list_release(&model->events);
	*model = (struct top_model){ 0 };
}
