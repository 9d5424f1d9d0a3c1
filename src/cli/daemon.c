#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/count_of.h"
#include "base/error.h"
#include "base/number.h"
#include "cli/daemon_places.h"
#include "cli/message.h"
#include "cli/options.h"
#include "cli/page.h"
#include "cli/sampling_options.h"
#include "cli/service_manager.h"
#include "cli/verbs.h"
#include "daemon/recording_process.h"
#include "daemon/service.h"
#include "machine/event.h"

#define EPOCH_NS	  UINT64_C(3600000000000)
#define MERGE_NS	  UINT64_C(60000000000)
#define SHORTEST_EPOCH_NS UINT64_C(1000000000) /* epochs are named by the second */
#define SHORTEST_MERGE_NS UINT64_C(100000000)
#define OLDER_THAN_NS	  (UINT64_C(90) * 86400 * 1000000000)
#define MOST_BYTES	  "1G"
#define BUDGET_PERCENT	  1
#define MEMORY_LIMIT	  "128M"
#define LEAST_DATABASE	  (UINT64_C(1) << 20)
#define LEAST_MEMORY	  (UINT64_C(16) << 20)

/* Values of options; filled once, by the settings file and the command line. */
static struct {
	const char *settings, *database, *socket, *metrics, *memory, *most;
	bool check_config, no_stacks, no_socket;
	uint64_t epoch_ns, merge_ns, older_than_ns;
	struct sampling_options sampling;
} asked = { .memory = MEMORY_LIMIT,
	    .most = MOST_BYTES,
	    .older_than_ns = OLDER_THAN_NS,
	    .epoch_ns = EPOCH_NS,
	    .merge_ns = MERGE_NS,
	    .sampling.stacks_apart = true };

static const struct option options[] = {
	{ "settings", 0, OPTION_GROUP, NULL, NULL, NULL, NULL },
	{ "config", 0, OPTION_TEXT, "FILE",
	  "read these settings, lines \"OPTION = VALUE\" (default /etc/culprit/daemon.conf, if it "
	  "is there)",
	  &asked.settings, NULL },
	{ "check-config", 0, OPTION_FLAG, NULL, "only say whether the settings are right",
	  &asked.check_config, NULL },
	{ "what to watch", 0, OPTION_GROUP, NULL, NULL, NULL, NULL },
	{ "cpu", 'C', OPTION_TEXT, "CPUS", "only these CPUs, as 0-3,8", &asked.sampling.cpus,
	  NULL },
	SAMPLING_PLACE_ROWS(asked.sampling),
	{ "what to count", 0, OPTION_GROUP, NULL, NULL, NULL, NULL },
	SAMPLING_EVENT_ROWS(asked.sampling),
	{ "no-stacks", 0, OPTION_FLAG, NULL, "no stacks, which are otherwise sampled",
	  &asked.no_stacks, NULL },
	{ "what to keep", 0, OPTION_GROUP, NULL, NULL, NULL, NULL },
	{ "output", 'o', OPTION_TEXT, "DB",
	  "the database (default /var/lib/culprit, or ~/.local/state/culprit)", &asked.database,
	  NULL },
	{ "epoch", 0, OPTION_NS, "TIME", "a file each TIME (default 1h)", &asked.epoch_ns, NULL },
	{ "merge-interval", 0, OPTION_NS, "TIME", "how much a crash may lose (default 1m)",
	  &asked.merge_ns, NULL },
	{ "older-than", 0, OPTION_NS, "TIME",
	  "remove epochs that ended longer ago (default 90d); 0: keep them", &asked.older_than_ns,
	  NULL },
	{ "max-size", 0, OPTION_TEXT, "SIZE|none",
	  "remove the oldest epochs of a larger database (default " MOST_BYTES ")", &asked.most,
	  NULL },
	SAMPLING_KEEP_ROWS(asked.sampling),
	{ "what to take and to tell", 0, OPTION_GROUP, NULL, NULL, NULL, NULL },
	{ "memory", 0, OPTION_TEXT, "SIZE|none",
	  "resident memory beyond which an epoch ends early (default " MEMORY_LIMIT ")",
	  &asked.memory, NULL },
	SAMPLING_RING_ROW(asked.sampling),
	{ "socket", 0, OPTION_TEXT, "PATH",
	  "where 'culprit ctl' asks (default /run/culprit-daemon/control, or below "
	  "$XDG_RUNTIME_DIR)",
	  &asked.socket, NULL },
	{ "no-socket", 0, OPTION_FLAG, NULL, "nobody can ask", &asked.no_socket, NULL },
	{ "metrics", 0, OPTION_TEXT, "FILE",
	  "keep its figures there, for Prometheus's collector of text files", &asked.metrics,
	  NULL },
	{ NULL, 0, OPTION_FLAG, NULL, NULL, NULL, NULL },
};

/* Options that exclude each other. */
static const char *const exclusive[] = {
	"overhead frequency count",
	"no-stacks stacks call-graph",
	"no-socket socket",
	"user kernel",
	"edges no-edges",
	"per-process-of per-process",
	"per-process-of per-thread",
};

static const struct option *daemon_options(void)
{
	return options;
}

static void say(void *context, enum recorder_news kind, const char *sentence)
{
	(void)context;
	if (kind == RECORDER_ERROR)
		message_error("%s", sentence);
	else
		message_warning("%s", sentence);
}

static void tell(void *context, const char *state)
{
	(void)context;
	service_manager_tell(state);
}

/* Reads the file of --config, or the usual one if it is there. 0 or the exit status. */
static int read_settings(int argc, char **argv, const struct daemon_places *places)
{
	const char *named = options_peek(argc, argv, "config");
	if (named)
		return options_read_file(&verb_daemon, named);
	if (!places->settings[0] || access(places->settings, F_OK) < 0)
		return 0;
	return options_read_file(&verb_daemon, places->settings);
}

struct limits {
	uint64_t memory_bytes, most_bytes; /* 0: none */
};

/* "none" is 0. */
static bool read_size(const char *text, uint64_t least, uint64_t *size)
{
	*size = 0;
	if (strcmp(text, "none") == 0)
		return true;
	return number_parse_size(text, size) && *size >= least;
}

/* 0 or the exit status. */
static int check(struct limits *limits)
{
	if (asked.epoch_ns < SHORTEST_EPOCH_NS)
		return options_misuse(&verb_daemon, "--epoch needs at least 1s");
	if (asked.merge_ns < SHORTEST_MERGE_NS)
		return options_misuse(&verb_daemon, "--merge-interval needs at least 100ms");
	if (asked.no_stacks && (asked.sampling.stacks || asked.sampling.call_graph))
		return options_misuse(&verb_daemon, "--no-stacks and --%s exclude each other",
				      asked.sampling.stacks ? "stacks" : "call-graph");
	if (asked.no_socket && asked.socket)
		return options_misuse(&verb_daemon, "--no-socket and --socket exclude each other");
	asked.sampling.stacks = !asked.no_stacks;
	int status = sampling_options_check(&verb_daemon, &asked.sampling);
	const struct sampling_options *sampling = &asked.sampling;
	if (!sampling->has_overhead && !sampling->has_period && !sampling->has_frequency)
		asked.sampling.overhead_percent = BUDGET_PERCENT;
	if (status)
		return status;
	if (!read_size(asked.memory, LEAST_MEMORY, &limits->memory_bytes))
		return options_misuse(&verb_daemon,
				      "--memory needs a size of at least 16M, or 'none', not '%s'",
				      asked.memory);
	if (!read_size(asked.most, LEAST_DATABASE, &limits->most_bytes))
		return options_misuse(&verb_daemon,
				      "--max-size needs a size of at least 1M, or 'none', not '%s'",
				      asked.most);
	return 0;
}

/* Fills in where things are that nobody has named, and makes the folders. 0 or the exit status. */
static int find_places(const struct daemon_places *places)
{
	int ret = 0;
	if (!asked.database && !places->database[0])
		return options_misuse(&verb_daemon,
				      "there is no home for a database: give --output");
	if (!asked.database) {
		asked.database = places->database;
		ret = daemon_places_make_folder(asked.database);
	}
	if (ret < 0) {
		message_error("cannot make the folder of '%s': %s", asked.database, strerror(-ret));
		return 1;
	}
	if (asked.no_socket || asked.socket)
		return 0;
	asked.socket = places->socket[0] ? places->socket : NULL;
	ret = asked.socket ? daemon_places_make_folder(asked.socket) : 0;
	if (ret < 0) {
		message_error("cannot make the folder of '%s': %s; --socket names another place",
			      asked.socket, strerror(-ret));
		return 1;
	}
	if (!asked.socket)
		message_note("no $XDG_RUNTIME_DIR for a socket: 'culprit ctl' cannot ask; "
			     "--socket names a place");
	return 0;
}

static void say_rate(const struct sampling_options *sampling)
{
	if (sampling->has_period)
		page_line("rate      a sample for every %" PRIu64 " of them", sampling->period);
	else if (sampling->has_frequency)
		page_line("rate      %" PRIu64 " samples a second and CPU", sampling->frequency_hz);
	else
		page_line("rate      as many samples as %g %% of the CPUs' time buys",
			  sampling->overhead_percent);
}

/* For --check-config. Makes nothing. */
static int say_settings(const struct daemon_places *places)
{
	CLEANUP(event_list_release) struct event_list events = { 0 };
	CLEANUP(buffer_release) struct buffer names = { 0 };
	const char *database = asked.database ? asked.database : places->database;
	const char *socket = asked.socket ? asked.socket : places->socket;
	int status = sampling_options_events(&asked.sampling, &events);
	if (status)
		return status;
	if (!*database)
		return options_misuse(&verb_daemon,
				      "there is no home for a database: give --output");
	for (size_t i = 0; i < events.count; i++)
		buffer_printf(&names, " %s", events.events[i].name);
	if (buffer_failed(&names)) {
		message_error("out of memory");
		return 1;
	}
	page_line("database  %s: an epoch lasts %g s, and is merged every %g s", database,
		  (double)asked.epoch_ns / 1e9, (double)asked.merge_ns / 1e9);
	page_line("events   %s%s", buffer_text(&names), asked.no_stacks ? "" : ", with stacks");
	say_rate(&asked.sampling);
	for (size_t i = 0; i < asked.sampling.kept.count; i++)
		page_line("%s %s", i ? "         " : "processes", asked.sampling.kept.items[i]);
	page_line("memory    %s", asked.memory);
	page_line("socket    %s", asked.no_socket || !*socket ? "none" : socket);
	page_line("metrics   %s", asked.metrics ? asked.metrics : "none");
	return 0;
}

/* Says why it could not begin. */
static int refuse(struct error *err)
{
	size_t size = strlen(err->text);
	bool of_database = err->code == -EROFS || err->code == -EACCES || err->code == -EPERM ||
			   err->code == -ENOTDIR;
	if (of_database && strstr(err->text, asked.database))
		snprintf(err->text + size, sizeof(err->text) - size,
			 "; --output names another database");
	return message_failure(err);
}

static int run(const struct daemon_places *places, const struct limits *limits)
{
	CLEANUP(event_list_release) struct event_list events = { 0 };
	int status = sampling_options_events(&asked.sampling, &events);
	if (status)
		return status;
	sigset_t before;
	struct collect_options collect = sampling_options_collect(&asked.sampling, &events);
	collect.target = asked.sampling.cgroup ? COLLECT_CGROUP : COLLECT_SYSTEM;
	collect.cost_folder = places->costs[0] ? places->costs : NULL;
	collect.frame_folder = places->frames[0] ? places->frames : NULL;
	const struct service_options service = {
		.database = asked.database,
		.socket = asked.no_socket ? NULL : asked.socket,
		.metrics = asked.metrics,
		.collect = &collect,
		.epoch_ns = asked.epoch_ns,
		.merge_ns = asked.merge_ns,
		.labels = asked.sampling.labels.items,
		.label_count = asked.sampling.labels.count,
		.older_than_ns = asked.older_than_ns,
		.most_bytes = limits->most_bytes,
		.memory_bytes = limits->memory_bytes,
		.listener = { .say = say },
		.tell = tell,
		.signals = recording_process_signals(&before),
	};
	if (service.signals < 0) {
		message_error("cannot wait for signals: %s", strerror(errno));
		return 1;
	}
	struct error err = { 0 };
	int ret = service_run(&service, &err);
	close(service.signals);
	return ret < 0 ? refuse(&err) : 0;
}

static int run_daemon(int argc, char **argv)
{
	static struct daemon_places places;
	int count;
	struct limits limits;
	recording_process_begin();
	daemon_places_find(&places);
	int status = read_settings(argc, argv, &places);
	if (status == 0)
		status = options_parse(&verb_daemon, argc, argv, OPTIONS_ANYWHERE, &count);
	if (status == 0 && count > 0)
		status = options_misuse(&verb_daemon,
					"'%s' is no option: a daemon samples all that "
					"runs",
					argv[1]);
	for (size_t i = 0; status == 0 && i < COUNT_OF(exclusive); i++)
		options_prefer_arguments(&verb_daemon, exclusive[i]);
	if (status == 0)
		status = check(&limits);
	if (status == 0 && !asked.check_config)
		status = find_places(&places);
	if (status)
		return status;
	if (asked.check_config)
		return say_settings(&places);
	return run(&places, &limits);
}

const struct verb verb_daemon = {
	.name = "daemon",
	.run = run_daemon,
	.summary = "sample the whole machine all the time, into a database",
	.usage = "[OPTIONS]",
	.options = daemon_options,
};
