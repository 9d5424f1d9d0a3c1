#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/count_of.h"
#include "base/error.h"
#include "cli/message.h"
#include "cli/page.h"
#include "cli/top_live.h"
#include "cli/top_model.h"
#include "cli/top_options.h"
#include "cli/top_page.h"
#include "cli/top_source.h"
#include "cli/top_terminal.h"
#include "cli/verbs.h"
#include "daemon/recording_process.h"

#define BATCH_LIMIT 20

/* ---- tables one after the other */

static int print_table(struct top_model *model, const struct top_options *options)
{
	CLEANUP(top_page_release) struct top_page page = { 0 };
	struct error err = { 0 };
	struct top_view view = { .part_count = options->rows.part_count,
				 .sort = top_options_sort(options),
				 .search = options->search ? options->search : "",
				 .source = model->source_name,
				 .state = "",
				 .ns = profile_window_ns(model->window, WINDOW_LAST),
				 .most = !options->has_limit ? BATCH_LIMIT
					 : options->limit    ? (size_t)options->limit
							     : SIZE_MAX,
				 .full_names = options->full_names };
	memcpy(view.parts, options->rows.parts, sizeof(view.parts));
	const struct profile *last = profile_window_profile(model->window, WINDOW_LAST, &err);
	if (!last || top_page_make(last, &view, &page, &err) < 0)
		return message_failure(&err);
	if (model->parts > 1)
		page_line("%s", "");
	int status = page_write(&page.above, PAGE_TEXT);
	page_line("%s", "");
	if (status == 0 && !page.count)
		page_line("no samples");
	if (status == 0)
		status = page_write(&page.table, PAGE_TEXT);
	fflush(stdout);
	return status;
}

/* Takes what came, or begins with own samples where the usual daemon does not answer. 0 or the exit
 * status after a message. *ended: what was watched has ended, and its tables are there. */
static int take(struct top_model *model, bool *came, bool *ended)
{
	struct error err = { 0 };
	int ret = top_model_take(model, came, &err);
	*ended = ret == -ENODATA && model->parts;
	if (ret == 0 || *ended)
		return 0;
	return top_model_may_sample(model) ? top_model_sample(model) : message_failure(&err);
}

/* Waits for samples. 0 or the exit status after a message. *ended: a signal asks to end, or no more
 * come. */
static int await_part(struct top_model *model, int signals, bool *ended)
{
	bool came = false;
	*ended = false;
	while (!came && !*ended) {
		struct signalfd_siginfo info;
		struct pollfd fds[] = { { signals, POLLIN, 0 },
					{ top_source_poll_fd(model->source), POLLIN, 0 } };
		if (poll(fds, COUNT_OF(fds), -1) < 0 && errno != EINTR) {
			message_error("cannot wait: %s", strerror(errno));
			return 1;
		}
		while (read(signals, &info, sizeof(info)) == sizeof(info))
			*ended |= info.ssi_signo != SIGCHLD;
		int status = *ended ? 0 : take(model, &came, ended);
		if (status)
			return status;
	}
	return 0;
}

static int run_batch(struct top_model *model, const struct top_options *options, int signals)
{
	for (uint64_t i = 0; !options->has_times || i < options->times; i++) {
		bool ended;
		int status = await_part(model, signals, &ended);
		if (status == 0 && !ended)
			status = print_table(model, options);
		if (status || ended || ferror(stdout))
			return status;
	}
	return 0;
}

/* 0 or the exit status. */
static int check_terminal(void)
{
	struct error err = { 0 };
	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)) {
		message_error("standard %s is no terminal; --batch prints tables without one",
			      isatty(STDOUT_FILENO) ? "input" : "output");
		return 2;
	}
	return top_terminal_check(&err) < 0 ? message_failure(&err) : 0;
}

static int run_top(int argc, char **argv)
{
	CLEANUP(top_model_release) struct top_model model = { 0 };
	struct top_options *options = top_options();
	recording_process_begin();
	int status = top_options_read(argc, argv);
	if (status)
		return status;
	status = options->batch ? 0 : check_terminal();
	if (status)
		return status;
	CLEANUP(close_fd) int signals = recording_process_signals(NULL);
	if (signals < 0) {
		message_error("cannot wait for signals: %s", strerror(errno));
		return 1;
	}
	status = top_model_open(&model, options);
	if (status == 0)
		status = options->batch ? run_batch(&model, options, signals)
					: top_live_run(&model, options, signals);
	return status;
}

const struct verb verb_top = {
	.name = "top",
	.run = run_top,
	.summary = "where the cycles go now: procedures, images, processes",
	.usage = "[OPTIONS]",
	.options = top_options_table,
};
