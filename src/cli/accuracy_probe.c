/*
 * accuracy_probe - `culprit accuracy --probe`: a run of a command with up to four of its
 * instructions counted exactly (collect/breakpoints.h).
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json_stream.h"
#include "cli/accuracy_options.h"
#include "cli/accuracy_probe.h"
#include "daemon/command.h"
#include "cli/message.h"
#include "cli/page.h"
#include "cli/probe_estimates.h"
#include "collect/breakpoints.h"

#define LOOK_NS 20000000 /* between two looks at the limit: some 2000 executions */

static const char *short_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

static void spell_place(const struct breakpoint *breakpoint, char *text, size_t size)
{
	const struct code_place *place = &breakpoint->place;
	size_t length = (size_t)snprintf(text, size, "%s+0x%" PRIx64, short_name(place->path),
					 place->vaddr);
	if (!place->procedure || length >= size)
		return;
	length += (size_t)snprintf(text + length, size - length, " %s", place->procedure);
	if (place->offset && length < size)
		snprintf(text + length, size - length, "+0x%" PRIx64, place->offset);
}

static void put_estimate(const struct probe_estimate *row, const struct breakpoint *counted,
			 char text[64])
{
	char error[24] = "-";
	double exact = (double)counted->count;
	if (!row->known) {
		snprintf(text, 64, "%12s  %10s  %6s  ", "-", "-", "-");
		return;
	}
	if (exact > 0 && !counted->limited)
		snprintf(error, sizeof(error), "%+.1f %%", (row->value / exact - 1) * 100);
	snprintf(text, 64, "%12.0f  %10s  %6s  ", row->value, error, row->confidence);
}

/* Prints why estimates are not known, each sentence once. */
static void print_notes(const struct probe_estimate *rows, const struct breakpoint *list,
			size_t count)
{
	bool scaled = false;
	for (size_t i = 0; i < count; i++) {
		if (rows[i].why[0])
			page_line("no estimate for %s: %s", list[i].place.text, rows[i].why);
		scaled = scaled || (rows[i].known && rows[i].factor != 1);
	}
	if (scaled)
		page_line("estimates are relative: multiplied so that those of a procedure (of one "
			  "clock) add up to the counts");
}

/* `rows` is NULL without a profile. */
static void print_text(const struct breakpoint *list, const struct probe_estimate *rows,
		       size_t count)
{
	page_line("%s", rows ? "  executions      estimate       error    sure  instruction"
			     : "  executions  instruction");
	for (size_t i = 0; i < count; i++) {
		char place[1500];
		char executions[32], estimate[64] = "";
		spell_place(&list[i], place, sizeof(place));
		snprintf(executions, sizeof(executions), "%s%" PRIu64, list[i].limited ? ">" : "",
			 list[i].count);
		if (rows)
			put_estimate(&rows[i], &list[i], estimate);
		page_line("%12s  %s%s", executions, estimate, place);
	}
	if (rows)
		print_notes(rows, list, count);
}

static void add_estimate(struct json_stream *json, const struct probe_estimate *estimate)
{
	bool known = estimate->known;
	json_stream_double(json, "estimate", known ? estimate->value : NAN);
	json_stream_double(json, "estimate_low", known ? estimate->low : NAN);
	json_stream_double(json, "estimate_high", known ? estimate->high : NAN);
	json_stream_double(json, "factor", known ? estimate->factor : NAN);
	json_stream_text(json, "confidence", known ? estimate->confidence : NULL);
	json_stream_text(json, "no_estimate", known ? NULL : estimate->why);
}

static void print_json(const struct breakpoint *list, const struct probe_estimate *rows,
		       size_t count)
{
	CLEANUP(buffer_release) struct buffer out = { 0 };
	struct json_stream json = { .out = &out };
	json_stream_open(&json, NULL, '{', JSON_LINES);
	json_stream_u64(&json, "schema", 1);
	json_stream_open(&json, "probes", '[', JSON_LINES);
	for (size_t i = 0; i < count; i++) {
		const struct code_place *place = &list[i].place;
		json_stream_open(&json, NULL, '{', JSON_LINES);
		json_stream_text(&json, "probe", place->text);
		json_stream_text(&json, "image", place->path);
		json_stream_u64(&json, "vaddr", place->vaddr);
		json_stream_text(&json, "procedure", place->procedure);
		json_stream_u64(&json, "executions", list[i].count);
		json_stream_bool(&json, "limited", list[i].limited);
		if (rows)
			add_estimate(&json, &rows[i]);
		json_stream_close(&json, '}');
	}
	json_stream_close(&json, ']');
	json_stream_end(&json, '}');
	page_write(&out, PAGE_JSON);
}

static void print(const struct accuracy_options *options, const struct breakpoint *list,
		  size_t count, struct probe_estimates *estimates)
{
	struct probe_estimate rows[BREAKPOINTS_MAX];
	if (estimates)
		probe_estimates_fill(estimates, list, count, rows);
	if (options->json)
		print_json(list, estimates ? rows : NULL, count);
	else
		print_text(list, estimates ? rows : NULL, count);
}

static void tell_limits(const struct breakpoint *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (list[i].limited)
			message_warning("'%s' was executed more often than --limit allows and was "
					"let go after %" PRIu64 " executions",
					list[i].place.text, list[i].count);
}

/* Counts until the command has ended. 0, or our exit status. */
static int follow(struct breakpoints *breakpoints, struct command *command)
{
	sigset_t child;
	struct timespec look = { .tv_nsec = LOOK_NS };
	struct error err;
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	for (;;) {
		int ret = breakpoints_service(breakpoints, &command->wait_status, &err);
		command->ended = ret != 0;
		if (ret < 0)
			return message_failure(&err);
		if (ret > 0)
			return 0;
		sigtimedwait(&child, NULL, &look);
	}
}

/* Its exec is the first thing that is traced, so releasing must not wait for it. */
static int run(struct breakpoints *breakpoints, struct command *command, char *const argv[])
{
	struct error err;
	if (breakpoints_watch(breakpoints, command->pid, &err) < 0)
		return message_failure(&err);
	int ret = command_release(command);
	if (ret < 0) {
		message_error("cannot run '%s': %s", argv[0], strerror(-ret));
		return command_exec_failure_status(ret);
	}
	return follow(breakpoints, command);
}

int accuracy_probe(const struct accuracy_options *options, char *const argv[])
{
	CLEANUP(breakpoints_freep) struct breakpoints *breakpoints = NULL;
	CLEANUP(probe_estimates_freep) struct probe_estimates *estimates = NULL;
	struct command command = { 0 };
	struct error err;
	if (options->input.files.count) {
		int ended = probe_estimates_open(options, &estimates);
		if (ended)
			return ended;
	}
	if (breakpoints_new(options->probes.items, options->probes.count, options->limit,
			    &breakpoints, &err) < 0)
		return message_failure(&err);
	sigset_t ours;
	sigset_t before;
	sigemptyset(&ours);
	sigaddset(&ours, SIGCHLD);
	sigprocmask(SIG_BLOCK, &ours, &before);
	int ret = command_start(argv, &before, NULL, &command);
	if (ret < 0) {
		message_error("cannot start a process: %s", strerror(-ret));
		return 1;
	}
	/* The terminal sends these to the command too: when that ends, so do we. */
	signal(SIGINT, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
	int status = run(breakpoints, &command, argv);
	if (status == 0) {
		size_t count;
		const struct breakpoint *list = breakpoints_list(breakpoints, &count);
		tell_limits(list, count);
		print(options, list, count, estimates);
		status = command_exit_status(&command);
	}
	command_dispose(&command);
	return status;
}
