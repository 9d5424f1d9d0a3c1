#include "cli/sampling_options.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/number.h"
#include "cli/asked_events.h"
#include "cli/message.h"
#include "collect/kept_processes.h"
#include "collect/shares.h"
#include "collect/stacks.h"
#include "profile/source_labels.h"
#include "unwind/stack_walk.h"

#define SHORTEST_TURN_NS 2000000u
#define LONGEST_TURN_NS	 10000000000u

/* Reads how stacks are followed. False: it says nothing that can be done. */
static bool read_call_graph(struct sampling_options *options)
{
	const char *how = options->call_graph;
	if (!how) {
		options->stacks_by = !options->stacks ? COLLECT_STACKS_NONE
				     : WALK_MACHINE   ? COLLECT_STACKS_RULES
						      : COLLECT_STACKS_FRAME_POINTERS;
		return true;
	}
	options->stacks_by = COLLECT_STACKS_FRAME_POINTERS;
	if (strcmp(how, "fp") == 0)
		return true;
	options->stacks_by = COLLECT_STACKS_BRANCHES;
	if (strcmp(how, "lbr") == 0)
		return true;
	options->stacks_by = COLLECT_STACKS_RULES;
	if (strncmp(how, "eh,", 3) != 0)
		return strcmp(how, "eh") == 0;
	return number_parse_u64(how + 3, &options->stack_bytes) && options->stack_bytes &&
	       options->stack_bytes % 8 == 0 && options->stack_bytes <= STACKS_COPIED_MOST;
}

static bool counted_in_kernel(const struct sampling_options *options)
{
	return options->engine && strcmp(options->engine, "bpf") == 0;
}

/* 0 or the exit status. */
static int check_rate(const struct verb *verb, const struct sampling_options *options)
{
	if (options->has_period && options->has_frequency)
		return options_misuse(verb, "--count and --frequency exclude each other");
	if (options->has_overhead && (options->has_period || options->has_frequency))
		return options_misuse(verb, "--overhead chooses the rate, --%s sets it",
				      options->has_period ? "count" : "frequency");
	if (options->has_period && options->period == 0)
		return options_misuse(verb, "--count needs at least 1");
	if (options->has_frequency && options->frequency_hz == 0)
		return options_misuse(verb, "--frequency needs at least 1");
	if (options->has_overhead &&
	    !(options->overhead_percent > 0 && options->overhead_percent <= 50))
		return options_misuse(verb, "--overhead needs a percentage above 0, at most 50");
	return 0;
}

/* Reads how long events have their turn. 0 or the exit status. */
static int read_turns(const struct verb *verb, struct sampling_options *options)
{
	if (!options->turns)
		return 0;
	if (strcmp(options->turns, "kernel") == 0) {
		options->turn_ns = TURNS_BY_KERNEL;
		return 0;
	}
	if (number_parse_duration_ns(options->turns, &options->turn_ns) &&
	    options->turn_ns >= SHORTEST_TURN_NS && options->turn_ns <= LONGEST_TURN_NS)
		return 0;
	return options_misuse(verb, "--turns needs a time from 2ms to 10s, or 'kernel'");
}

/* Reads what strangers' files may take. 0 or the exit status. */
static int read_gather_limits(const struct verb *verb, struct sampling_options *options)
{
	options->gather_unlimited =
		options->gather_limits && strcmp(options->gather_limits, "none") == 0;
	if (!options->gather_limits || options->gather_unlimited)
		return 0;
	if (number_parse_duration_ns(options->gather_limits, &options->gather_ns) &&
	    options->gather_ns >= SHARE_LEAST_NS)
		return 0;
	return options_misuse(verb, "--gather-limits needs a time of at least 20ms, or 'none'");
}

/* 0 or the exit status. */
static int check_kept(const struct verb *verb, const struct sampling_options *options)
{
	struct kept_processes kept;
	struct error err = { 0 };
	if (options->kept.count && (options->per_process || options->per_thread))
		return options_misuse(verb,
				      "--per-process-of is of some processes; --%s keeps all apart",
				      options->per_process ? "per-process" : "per-thread");
	int ret = kept_processes_init(&kept, options->kept.items, options->kept.count, &err);
	kept_processes_release(&kept);
	return ret == -EINVAL ? options_misuse(verb, "--per-process-of: %s", err.text)
	       : ret < 0      ? message_failure(&err)
			      : 0;
}

/* 0 or the exit status. */
static int check_apart(const struct verb *verb, const struct sampling_options *options)
{
	bool comes_apart = (counted_in_kernel(options) || (options->stacks_apart && !options->engine)) &&
			   (options->stacks || options->call_graph || options->edges);
	if (options->has_apart && options->apart_hz == 0)
		return options_misuse(verb, "--stacks-frequency needs at least 1");
	if (options->has_apart && !comes_apart)
		return options_misuse(verb,
				      "--stacks-frequency is of --engine bpf with --stacks or "
				      "--edges; elsewhere all samples have what was asked for");
	return 0;
}

int sampling_options_check(const struct verb *verb, struct sampling_options *options)
{
	int status = 0;
	if (options->user_only && options->kernel_only)
		return options_misuse(verb, "--user and --kernel exclude each other");
	status = check_rate(verb, options);
	if (status)
		return status;
	if (options->edges && options->no_edges)
		return options_misuse(verb, "--edges and --no-edges exclude each other");
	if (options->edges && options->kernel_only)
		return options_misuse(verb, "--edges is of user code, which --kernel leaves out");
	status = read_gather_limits(verb, options);
	if (status)
		return status;
	if (options->engine && strcmp(options->engine, "ring") != 0 && !counted_in_kernel(options))
		return options_misuse(verb, "--engine is 'ring' or 'bpf', not '%s'",
				      options->engine);
	status = read_turns(verb, options);
	if (status == 0)
		status = check_apart(verb, options);
	if (status == 0)
		status = check_kept(verb, options);
	if (status)
		return status;
	for (size_t i = 0; i < options->labels.count; i++)
		if (!source_label_is_usable(options->labels.items[i]))
			return options_misuse(verb,
					      "--label needs a text of at most %d bytes without "
					      "control characters, not '%s'",
					      SOURCE_LABEL_MOST_BYTES, options->labels.items[i]);
	if (!read_call_graph(options))
		return options_misuse(verb,
				      "--call-graph is 'eh', 'eh,' and bytes to copy, a multiple "
				      "of 8 up to %u, 'fp' or 'lbr', not '%s'",
				      STACKS_COPIED_MOST, options->call_graph);
	return 0;
}

int sampling_options_events(struct sampling_options *options, struct event_list *events)
{
	bool substituted;
	int status = asked_events_read(&options->events, events, &substituted);
	if (substituted && options->has_period) {
		message_warning("--count %" PRIu64 " was meant for another event and is left out",
				options->period);
		options->has_period = false;
		options->period = 0;
	}
	return status;
}
static unsigned identity_asked(const struct sampling_options *options)
{
	return (options->per_process ? COLLECT_PER_PROCESS : 0u) |
	       (options->per_thread ? COLLECT_PER_THREAD : 0u) |
	       (options->per_cpu ? COLLECT_PER_CPU : 0u);
}

/* A folder of this user's whose files end with the boot, or with the session; NULL: there is none.
 */
static const char *cost_folder(char *folder, size_t size)
{
	const char *runtime = geteuid() == 0 ? "/run" : secure_getenv("XDG_RUNTIME_DIR");
	int length =
		runtime && runtime[0] == '/' ? snprintf(folder, size, "%s/culprit", runtime) : 0;
	return length > 0 && (size_t)length < size ? folder : NULL;
}

/* A folder of this user's for what can be made again; NULL: there is none. */
static const char *frame_folder(char *folder, size_t size)
{
	const char *cache = secure_getenv("XDG_CACHE_HOME"), *home = secure_getenv("HOME");
	int length = 0;
	if (cache && cache[0] == '/')
		length = snprintf(folder, size, "%s/culprit/frames", cache);
	else if (geteuid() == 0)
		length = snprintf(folder, size, "/var/cache/culprit/frames");
	else if (home && home[0] == '/')
		length = snprintf(folder, size, "%s/.cache/culprit/frames", home);
	return length > 0 && (size_t)length < size ? folder : NULL;
}

/* The collector's remarks. */
static void note(void *context, enum collect_note_kind kind, const char *sentence)
{
	(void)context;
	if (kind == COLLECT_WARNING)
		message_warning("%s", sentence);
	else
		message_note("%s", sentence);
}

struct collect_options sampling_options_collect(const struct sampling_options *options,
						const struct event_list *events)
{
	static char costs[512], frames[512];
	return (struct collect_options){
		.cgroup = options->cgroup,
		.cpus = options->cpus,
		.events = events,
		.default_events = options->events.count == 0,
		.period = options->period,
		.frequency_hz = options->frequency_hz,
		.apart_hz = options->apart_hz,
		.overhead_percent = options->overhead_percent,
		.cost_folder = cost_folder(costs, sizeof(costs)),
		.frame_folder = frame_folder(frames, sizeof(frames)),
		.fixed_period = options->has_period || options->no_random,
		.engine = !options->engine	       ? COLLECT_ENGINE_USUAL
			  : counted_in_kernel(options) ? COLLECT_ENGINE_BPF
						       : COLLECT_ENGINE_RING,
		.turn_ns = options->turn_ns,
		.stacks = options->stacks_by,
		.stacks_apart = options->stacks_apart,
		.stack_bytes = (uint32_t)options->stack_bytes,
		.user_only = options->user_only,
		.kernel_only = options->kernel_only,
		.edges = options->edges	     ? COLLECT_EDGES_ALL
			 : options->no_edges ? COLLECT_EDGES_NONE
					     : COLLECT_EDGES_USUAL,
		.edge_memory = !options->no_edge_memory,
		.identity = identity_asked(options),
		.kept = options->kept.items,
		.kept_count = options->kept.count,
		.stash = !options->no_stash,
		.redact = options->redact,
		.ring_pages = options->ring_pages,
		.gather_unlimited = options->gather_unlimited,
		.gather_time_ns = options->gather_ns,
		.wish_fd = -1,
		.note = note,
	};
}
