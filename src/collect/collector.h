/*
 * collector - samples events and hands out profiles. It knows no files to
 * write, no terminal and no signals: the caller drives it from its own loop.
 *
 * Engines (perf rings now, in-kernel aggregation later) sit behind this
 * interface and give the same profile. A collector belongs to one thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct error;
struct event_list; /* machine/event.h */
struct profile;
struct stepper; /* collect/stepper.h */

enum collect_target {
	COLLECT_SYSTEM,	 /* everything on `cpus` (all online ones when none are given) */
	COLLECT_TASKS,	 /* `pids` with all their threads, `tids` alone; new children follow */
	COLLECT_COMMAND, /* the tree below `command_pid`, which waits to be released */
	COLLECT_CGROUP,
};

enum collect_identity { /* what a context keeps beyond comm and cgroup: a set */
			COLLECT_PER_PROCESS = 1,
			COLLECT_PER_THREAD = 2,
			COLLECT_PER_CPU = 4,
};

/* Evidence of where branches went, by interpreting samples (collect/edges.h). */
enum collect_edges {
	COLLECT_EDGES_USUAL, /* of clock events, when tasks or a command are watched */
	COLLECT_EDGES_ALL,   /* of all events that sample user code */
	COLLECT_EDGES_NONE,
};

/* What the owner wishes of somebody who is busy. */
enum collect_wish {
	COLLECT_GO_ON,
	COLLECT_HURRY, /* to end soon: names, and what is at hand */
	COLLECT_STOP,  /* at once */
};

enum collect_note_kind { COLLECT_NOTE, COLLECT_WARNING };

struct collect_options {
	enum collect_target target;
	const pid_t *pids;
	size_t pid_count;
	const pid_t *tids;
	size_t tid_count;
	bool children; /* of `pids`: the processes that are below them already, too */
	pid_t command_pid;
	const char *cgroup; /* path below the cgroup mount, or absolute */
	const char *cpus;   /* "0-3,8", or NULL */
	const struct event_list *events;
	uint64_t period;	 /* 0: by frequency */
	uint64_t frequency_hz;	 /* 0: chosen by the budget */
	double overhead_percent; /* the budget, of one CPU; 0: 1 % */
	bool fixed_period;	 /* no randomisation */
	bool delayed;		 /* the command runs for a while before collector_start() */
	bool stacks;		 /* call chains by frame pointers */
	bool user_only, kernel_only;
	enum collect_edges edges;
	bool edge_memory;	 /* with what their registers point to, where that is allowed */
	struct stepper *stepper; /* for bursts of single steps, of tasks or a command; or NULL */
	double burst_percent;	 /* of the time, for them */
	unsigned identity;	 /* set of enum collect_identity */
	bool stash;		 /* gather names and code of sampled functions */
	bool redact;		 /* names of functions and files become hashes, code is left out */
	size_t ring_pages;	 /* per CPU, power of two; 0: default */
	bool gather_unlimited;	 /* strangers' files may take what one's own may */
	uint64_t gather_time_ns; /* for the files of one stranger, an epoch; 0: default */
	/* Asked while something is waited for, at once when wish_fd is readable, which asking has
	 * to change; NULL: nobody is asked. */
	enum collect_wish (*wish)(void *context);
	void *wish_context;
	int wish_fd; /* -1: none */
	/* Receives one sentence per thing the user should know; may be NULL. */
	void (*note)(void *context, enum collect_note_kind kind, const char *sentence);
	void *note_context;
};

struct collector;

/* Opens everything; nothing is counted yet. One sentence in *err names what was refused and the
 * cure. The process, and what it forks from here on, goes before others by its nice value
 * (machine/haste.h). */
int collector_new(const struct collect_options *options, struct collector **out, struct error *err);
int collector_start(struct collector *collector, struct error *err);

/*
 * A descriptor that polls readable ten times a second, and earlier when a ring
 * fills up: then call collector_service(), which empties the rings into memory.
 */
int collector_poll_fd(const struct collector *collector);
int collector_service(struct collector *collector, struct error *err);

/*
 * Takes what came since the last drain and stores in *delta a profile of it,
 * which the caller frees. Samples whose weight is not settled stay inside.
 *
 * The caller may take its time with the profile, and with what else it has to do then: a thread of
 * the collector's empties the rings until it is called again (collect/ring_keeper.h).
 */
int collector_drain(struct collector *collector, struct profile **delta, struct error *err);

/*
 * As collector_drain(), and ends an epoch: names and code of what was first sampled in it
 * are gathered, its clocks compared. What comes from here on belongs to the next one, with a
 * source row of its own.
 */
int collector_end_epoch(struct collector *collector, struct profile **delta, struct error *err);

/* Stops, drains to the end, settles every weight, gathers names and code, closes the bill. To
 * write it is urgent as well (collect/urgency.h), until collector_free(). */
int collector_finish(struct collector *collector, struct profile **delta, struct error *err);

/* Whether anything that could be sampled is left (every asked process has exited: false). */
bool collector_alive(struct collector *collector);
/* By which its processes are asked; lives as long as the collector. */
const struct proc_ask *collector_proc_ask(const struct collector *collector);

/*
 * After collector_finish(): what was to be watched and has no samples, and why, in one sentence;
 * "" when nothing is known to be missing. `samples`: of the whole recording.
 */
void collector_tell_missing(const struct collector *collector, uint64_t samples, char *text,
			    size_t size);

void collector_free(struct collector *collector); /* NULL does nothing */
