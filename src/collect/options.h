/*
 * options - what a recording is asked for: whom it watches, which events, at what rate, and what is
 * kept. The collector borrows all that the pointers lead to until collector_free().
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct event_list; /* machine/event.h */
struct stepper;	   /* collect/stepper.h */

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

/* Which samples are interpreted as evidence of where branches went (collect/edges.h). */
enum collect_edges {
	COLLECT_EDGES_USUAL, /* of clock events, when tasks or a command are watched */
	COLLECT_EDGES_ALL,   /* of all events that sample user code */
	COLLECT_EDGES_NONE,
};

/* How samples come: one by one through rings, or counted in the kernel (collect/kernel_counts.h).
 */
enum collect_engine {
	/* In the kernel where that may be, and clocks sample the whole machine, of which nothing
	 * but the place is wanted, and nobody asked for rings of a size; else through rings. */
	COLLECT_ENGINE_USUAL,
	COLLECT_ENGINE_RING,
	COLLECT_ENGINE_BPF,
};

/* How the callers of a sample are found. */
enum collect_stacks {
	COLLECT_STACKS_NONE,
	COLLECT_STACKS_FRAME_POINTERS, /* by the kernel */
	/* Callers of user code by the unwind rules of files, from a copy of the stack
	 * (collect/stacks.h); those of the kernel's code by the kernel. */
	COLLECT_STACKS_RULES,
	/* Callers of user code as the CPU kept them beside each call (Intel's LBR in its call-stack
	 * mode; Intel SDM volume 3B, chapter 18, "LBR Stack Enhancement"); those of the kernel's
	 * code by the kernel. */
	COLLECT_STACKS_BRANCHES,
};

/* What the owner wishes while the collector is busy. */
enum collect_wish {
	COLLECT_GO_ON,
	COLLECT_HURRY, /* to end soon: gather names, and what can be had quickly */
	COLLECT_STOP,  /* to end at once */
};

enum collect_note_kind { COLLECT_NOTE, COLLECT_WARNING };

#define TURNS_BY_KERNEL UINT64_MAX

struct collect_options {
	enum collect_target target;
	const pid_t *pids;
	size_t pid_count;
	const pid_t *tids;
	size_t tid_count;
	bool children; /* with the processes that are below `pids` already */
	pid_t command_pid;
	const char *cgroup; /* path below the cgroup mount, or absolute */
	const char *cpus;   /* "0-3,8"; NULL: all that are online */
	const struct event_list *events;
	bool default_events;   /* nobody asked for these: groups of them may be sampled in part */
	uint64_t period;       /* 0: by frequency */
	uint64_t frequency_hz; /* 0: chosen by the budget */
	/* Of samples with stacks or to be interpreted, where others are counted in the kernel; 0: a
	 * quarter of those. */
	uint64_t apart_hz;
	double overhead_percent; /* the budget, of one CPU; 0: 1 % */
	const char
		*cost_folder; /* where the cost of a sample is remembered (advice/cost_memory.h) */
	const char *frame_folder; /* where unwind rules are kept (collect/frame_store.h), or NULL */
	bool fixed_period;	  /* periods are not drawn at random */
	bool delayed;		  /* the command runs for a while before collector_start() */
	enum collect_engine engine;
	enum collect_stacks stacks;
	/* Stacks at a rate of their own are as welcome: what is usually counted in the kernel without
	 * stacks is counted there with them, too. */
	bool stacks_apart;
	uint32_t stack_bytes; /* that COLLECT_STACKS_RULES copies; 0: STACKS_COPIED_BYTES */
	/* How long events that do not all fit the PMU take turns on it, on average; 0: the usual
	 * time; TURNS_BY_KERNEL: the kernel has them take turns. */
	uint64_t turn_ns;
	bool user_only, kernel_only;
	enum collect_edges edges;
	bool edge_memory; /* interpreted with the memory that registers point to, if allowed */
	struct stepper *stepper; /* for bursts of tasks or a command (collect/bursts.h); or NULL */
	double burst_percent;	 /* of the time, that bursts take */
	unsigned identity;	 /* set of enum collect_identity */
	/* Whose processes are kept apart though `identity` adds them up (collect/kept_processes.h)
	 */
	const char *const *kept;
	size_t kept_count;
	bool stash;		 /* gather names and code of sampled functions */
	bool names_only;	 /* of these, names alone: for who looks while it is sampled */
	bool redact;		 /* names of functions and files become hashes, code is left out */
	size_t ring_pages;	 /* per CPU, power of two; 0: default */
	bool gather_unlimited;	 /* strangers' files have no limits (collect/shares.h) */
	uint64_t gather_time_ns; /* for the files of one stranger in an epoch; 0: default */
	/* Called now and then while the collector waits for something, and at once when wish_fd is
	 * readable, which the call must end. NULL: it goes on. */
	enum collect_wish (*wish)(void *context);
	void *wish_context;
	int wish_fd; /* -1: none */
	/* Receives one sentence per thing the user should know; may be NULL. */
	void (*note)(void *context, enum collect_note_kind kind, const char *sentence);
	void *note_context;
};

/* Tells the user a sentence, if the owner listens. */
static inline void collect_note(const struct collect_options *options, enum collect_note_kind kind,
				const char *sentence)
{
	if (options->note)
		options->note(options->note_context, kind, sentence);
}
