#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/count_of.h"
#include "base/error.h"
#include "cli/daemon_client.h"
#include "cli/daemon_places.h"
#include "cli/daemon_status.h"
#include "cli/message.h"
#include "cli/page.h"
#include "cli/verbs.h"
#include "profile/source_labels.h"
#include "store/replace_file.h"

#define SNAPSHOT_MODE 0600

static const char *socket_path, *output, *label;
static bool json;

static const struct option *ctl_options(void)
{
	static const struct option options[] = {
		{ "socket", 0, OPTION_TEXT, "PATH",
		  "the daemon's socket; default that of $XDG_RUNTIME_DIR, or "
		  "/run/culprit-daemon/control",
		  &socket_path, NULL },
		{ "json", 0, OPTION_FLAG, NULL, "status: as one JSON document", &json, NULL },
		{ "output", 'o', OPTION_TEXT, "FILE",
		  "snapshot: the profile (default culprit.prof)", &output, NULL },
		{ "label", 0, OPTION_TEXT, "TEXT",
		  "epoch: call the one that begins so, beside what all are called", &label, NULL },
		{ NULL, 0, OPTION_FLAG, NULL, NULL, NULL, NULL },
	};
	return options;
}

static int print_status(const struct buffer *answer)
{
	CLEANUP(buffer_release) struct buffer page = { 0 };
	if (json)
		return page_write(answer, PAGE_JSON);
	if (!daemon_status_text(answer, &page)) {
		message_error(
			"the daemon's status cannot be read: it is of another version; --json "
			"prints it as it is");
		return 1;
	}
	return page_write(&page, PAGE_TEXT);
}

/* Line by line: nothing but the ends of lines is the page's own. */
static int print_metrics(const struct buffer *answer)
{
	const char *text = (const char *)answer->data;
	for (size_t at = 0; at < answer->size;) {
		const char *end = memchr(text + at, '\n', answer->size - at);
		size_t length = end ? (size_t)(end - text) - at : answer->size - at;
		page_line("%.*s", (int)length, text + at);
		at += length + 1;
	}
	return 0;
}

static int write_snapshot(const struct buffer *answer)
{
	struct error err = { 0 };
	const char *path = output ? output : "culprit.prof";
	if (replace_file(path, answer->data, answer->size, SNAPSHOT_MODE, REPLACE_KEEP, &err) < 0)
		return message_failure(&err);
	message_note("'%s' has what the daemon has counted in this epoch; next: culprit report%s%s",
		     path, output ? " " : "", output ? output : "");
	return 0;
}

static int print_nothing(const struct buffer *answer)
{
	(void)answer;
	return 0;
}

static const struct {
	const char *name;
	int (*print)(const struct buffer *answer); /* 0 or the exit status */
} requests[] = {
	{ "status", print_status },  { "metrics", print_metrics }, { "snapshot", write_snapshot },
	{ "flush", print_nothing },  { "epoch", print_nothing },   { "pause", print_nothing },
	{ "resume", print_nothing }, { "stop", print_nothing },
};

/* 0 or the exit status. */
static int ask(size_t request)
{
	CLEANUP(buffer_release) struct buffer answer = { 0 };
	static char usual[512];
	char line[64 + SOURCE_LABEL_MOST_BYTES];
	struct error err = { 0 };
	if (!socket_path) {
		daemon_places_find_socket(usual, sizeof(usual));
		socket_path = usual;
	}
	snprintf(line, sizeof(line), "%s%s%s", requests[request].name, label ? " " : "",
		 label ? label : "");
	if (daemon_client_ask(socket_path, line, -1, &answer, &err) < 0)
		return message_failure(&err);
	return requests[request].print(&answer);
}

static int run_ctl(int argc, char **argv)
{
	int count;
	int status = options_parse(&verb_ctl, argc, argv, OPTIONS_ANYWHERE, &count);
	if (status)
		return status;
	const char *what = count > 0 ? argv[1] : "";
	size_t request = 0;
	while (request < COUNT_OF(requests) && strcmp(requests[request].name, what) != 0)
		request++;
	if (request == COUNT_OF(requests))
		return options_misuse(
			&verb_ctl,
			"say status, metrics, snapshot, flush, epoch, pause, resume or "
			"stop%s%s%s",
			count ? ", not '" : "", what, count ? "'" : "");
	if (count > 1)
		return options_misuse(&verb_ctl, "'%s' is one too many", argv[2]);
	if (json && strcmp(what, "status") != 0)
		return options_misuse(&verb_ctl, "--json is for status");
	if (output && strcmp(what, "snapshot") != 0)
		return options_misuse(&verb_ctl, "--output is for snapshot");
	if (label && strcmp(what, "epoch") != 0)
		return options_misuse(&verb_ctl, "--label is for epoch");
	if (label && !source_label_is_usable(label))
		return options_misuse(&verb_ctl,
				      "--label needs a text of at most %d bytes without control "
				      "characters, not '%s'",
				      SOURCE_LABEL_MOST_BYTES, label);
	return ask(request);
}

const struct verb verb_ctl = {
	.name = "ctl",
	.run = run_ctl,
	.summary = "ask a running daemon: how it does, to write, to pause, to stop",
	.usage = "[OPTIONS] status | metrics | snapshot | flush | epoch | pause | resume | stop",
	.options = ctl_options,
};
