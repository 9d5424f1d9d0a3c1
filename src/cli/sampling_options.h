/*
 * sampling_options - what verbs that sample are asked for, but for whom they watch and how long.
 * The same options stand in the table of each of them.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cli/options.h"
#include "collect/options.h"

struct event_list; /* machine/event.h */

struct sampling_options {
	const char *cpus, *cgroup;
	bool user_only, kernel_only;
	struct option_list events;
	bool has_period, has_frequency, has_overhead, has_apart;
	uint64_t period, frequency_hz, apart_hz;
	double overhead_percent;
	const char *engine, *turns, *call_graph, *gather_limits;
	bool no_random, stacks, edges, no_edges, no_edge_memory;
	bool per_process, per_thread, per_cpu, no_stash, redact;
	struct option_list labels, kept;
	uint64_t ring_pages;
	bool stacks_apart; /* as in struct collect_options; set by the verb */
	/* private, of sampling_options_check() */
	enum collect_stacks stacks_by;
	uint64_t stack_bytes, turn_ns, gather_ns;
	bool gather_unlimited;
};

/* clang-format off */
/* Rows of an option table; `o` is a struct sampling_options that outlives the table. */
#define SAMPLING_PLACE_ROWS(o) \
	{ "cgroup", 0, OPTION_TEXT, "PATH", "only tasks in this control group", &(o).cgroup, \
	  NULL }, \
	{ "user", 'u', OPTION_FLAG, NULL, "user code only", &(o).user_only, NULL }, \
	{ "kernel", 'k', OPTION_FLAG, NULL, "kernel code only", &(o).kernel_only, NULL }
#define SAMPLING_RATE_ROWS(o) \
	{ "event", 'e', OPTION_LIST, "EVENT", "event or {group}, as 'culprit events' lists them", \
	  &(o).events, NULL }, \
	{ "frequency", 'F', OPTION_U64, "HZ", "samples a second and CPU, about", \
	  &(o).frequency_hz, &(o).has_frequency }, \
	{ "count", 'c', OPTION_U64, "N", "a sample every N events, exactly", &(o).period, \
	  &(o).has_period }, \
	{ "overhead", 0, OPTION_DOUBLE, "PERCENT", \
	  "the rate that this much of a CPU buys (default 1)", &(o).overhead_percent, \
	  &(o).has_overhead }, \
	{ "engine", 0, OPTION_TEXT, "ring|bpf", \
	  "how samples come: one by one, or counted in the kernel (usual for clocks of --all-cpus)", \
	  &(o).engine, NULL }
#define SAMPLING_TURN_ROWS(o) \
	{ "turns", 0, OPTION_TEXT, "TIME|kernel", \
	  "of events that outnumber counters: how long one counts (100ms), or as the kernel does " \
	  "it", \
	  &(o).turns, NULL }, \
	{ "no-random", 0, OPTION_FLAG, NULL, "one period throughout", &(o).no_random, NULL }
#define SAMPLING_EVENT_ROWS(o) \
	SAMPLING_RATE_ROWS(o), \
	{ "stacks-frequency", 0, OPTION_U64, "HZ", \
	  "of --engine bpf: samples with stacks or to interpret (a quarter of the others)", \
	  &(o).apart_hz, &(o).has_apart }, \
	SAMPLING_TURN_ROWS(o), \
	{ "stacks", 'g', OPTION_FLAG, NULL, "stacks: who called what was sampled", &(o).stacks, \
	  NULL }, \
	{ "call-graph", 0, OPTION_TEXT, "eh[,BYTES]|fp|lbr", \
	  "stacks by unwind rules and a copy of the stack (8192; usual), by frame pointers, or as " \
	  "the CPU keeps calls", \
	  &(o).call_graph, NULL }, \
	{ "edges", 0, OPTION_FLAG, NULL, \
	  "interpret samples: where branches went (usual for tasks without a PMU)", &(o).edges, \
	  NULL }, \
	{ "no-edges", 0, OPTION_FLAG, NULL, "do not interpret samples", &(o).no_edges, NULL }, \
	{ "no-edge-memory", 0, OPTION_FLAG, NULL, \
	  "do not read what registers point to, to interpret samples", &(o).no_edge_memory, \
	  NULL }
#define SAMPLING_IDENTITY_ROWS(o) \
	{ "per-process", 0, OPTION_FLAG, NULL, "keep process ids apart", &(o).per_process, NULL }, \
	{ "per-thread", 0, OPTION_FLAG, NULL, "keep threads apart", &(o).per_thread, NULL }, \
	{ "per-cpu", 0, OPTION_FLAG, NULL, "keep CPUs apart", &(o).per_cpu, NULL }
#define SAMPLING_KEEP_ROWS(o) \
	{ "label", 0, OPTION_LIST, "TEXT", \
	  "call the recording so: reports of a database choose by it (may be repeated)", \
	  &(o).labels, NULL }, \
	SAMPLING_IDENTITY_ROWS(o), \
	{ "per-process-of", 0, OPTION_LIST, "COMMAND|image:PATH|cgroup:PATH", \
	  "keep process ids apart of these alone (may be repeated)", &(o).kept, NULL }, \
	{ "no-stash", 0, OPTION_FLAG, NULL, "leave out names and code of what was sampled", \
	  &(o).no_stash, NULL }, \
	{ "redact", 0, OPTION_FLAG, NULL, "hash the names of functions and files", &(o).redact, \
	  NULL }, \
	{ "gather-limits", 0, OPTION_TEXT, "TIME", \
	  "for names and lines from each other user's files (300ms); none: no limits", \
	  &(o).gather_limits, NULL }
#define SAMPLING_RING_ROW(o) \
	{ "mmap-pages", 'm', OPTION_U64, "PAGES", "ring memory per CPU, a power of two", \
	  &(o).ring_pages, NULL }
/* clang-format on */

/* Refuses options that exclude each other or have impossible values. 0 or the exit status. */
int sampling_options_check(const struct verb *verb, struct sampling_options *options);
/* Reads the events of -e, as asked_events_read(). A period that was meant for others is dropped. */
int sampling_options_events(struct sampling_options *options, struct event_list *events);
/* Fills what a collector is asked for by these options, which must have been checked, and by
 * whoever is the caller's user; `events` is borrowed. Remarks go to stderr. The rest, zeroed, is
 * the caller's. */
struct collect_options sampling_options_collect(const struct sampling_options *options,
						const struct event_list *events);
