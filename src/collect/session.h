/*
 * session - the state of one recording, shared by the files of the collector:
 * what runs, what it has mapped, what was counted. Private to src/collect.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "bpf/sample_memory.h"
#include "collect/bursts.h"
#include "collect/counters.h"
#include "collect/edges.h"
#include "collect/file_table.h"
#include "collect/frame_store.h"
#include "collect/frame_tables.h"
#include "collect/groups.h"
#include "collect/guarded.h"
#include "collect/jit.h"
#include "collect/kernel_code.h"
#include "collect/kernel_counts.h"
#include "collect/kept_processes.h"
#include "collect/kernel_map.h"
#include "collect/left_out.h"
#include "collect/options.h"
#include "collect/overhead.h"
#include "collect/proc_ask.h"
#include "collect/ring_keeper.h"
#include "collect/shares.h"
#include "collect/tally.h"
#include "collect/urgency.h"
#include "image/process_table.h"
#include "intake/calls.h"
#include "intake/read_window.h"
#include "symbol/helper_process.h"

#define SESSION_CONTEXT_CACHE	1024
#define SESSION_FILTERED_TARGET UINT32_MAX /* target of a sample that counts for no place */

struct session_context { /* an entry of the cache: a thread on a CPU, and its context */
	uint32_t serial; /* process->context, of its name and group; 0: free */
	uint32_t tid;
	uint32_t slot;
	uint32_t id; /* in session->profile */
};

/* A place in code whose names and the like are gathered. `asker`: in a trusted file, the stranger
 * who alone has samples there, as in struct tally_place. */
struct code_spot {
	uint32_t image;
	uint32_t asker;
	uint64_t vaddr;
};

struct code_spots {
	struct code_spot *list;
	size_t count, capacity;
};

struct session {
	struct profile *profile; /* dictionaries only: events, images, contexts */
	struct tally tally;
	struct world world;
	struct chain chain; /* of the sample that is processed, filled anew for each */
	struct edges edges;
	double edge_ratio;	  /* as in struct plan */
	struct overhead overhead; /* begins with the recording */
	struct bursts bursts;
	struct counters counters;
	struct ring_keeper keeper; /* of its rings */
	struct process_table processes;
	struct file_table files;
	struct kernel_map kernel;
	struct kernel_code kernel_code;
	struct sample_memory sample_memory; /* opened before the counters, closed after them */
	struct kernel_counts counted;	    /* likewise */
	struct user_stack *walker;	    /* likewise; NULL: samples bring copies of stacks */
	struct read_window reads;
	struct jit_table jits;
	struct shares shares;
	struct guarded guarded;
	struct proc_ask ask;
	struct proc_silent silent;
	struct left_out unread; /* files of /proc that did not answer, in this epoch */
	struct reader *reader;
	struct helper_watch watch; /* of all helpers: session_look() */
	uint64_t hurry_ns;	   /* since when the owner wishes to end soon; 0: it does not */
	bool gathering;		   /* names and code, at the end of an epoch */
	struct urgency urgency;
	struct groups groups;
	uint32_t unknown_images[UNKNOWN_CAUSES]; /* that stand for each cause; 0: none yet */
	struct session_context contexts[SESSION_CONTEXT_CACHE];
	uint32_t context_serial;	       /* given last */
	uint32_t dictionaries;		       /* of `profile`: another number when they are dropped */
	uint32_t *last_exit;		       /* pid of the last process to exit, by CPU slot */
	const struct collect_options *options; /* the collector's */
	unsigned identity;		       /* set of enum collect_identity */
	struct kept_processes kept;	       /* beyond that */
	bool follow;			       /* only what is below the followed process counts */
	bool inherit;			       /* counters belong to threads */
	enum collect_stacks stacks;
	uint64_t max_stack;
	struct frame_tables frames; /* for COLLECT_STACKS_RULES */
	struct frame_store frame_store;
	uint64_t stack_registers;   /* perf's mask of those that samples have */
	unsigned call_depth;	    /* as counters_options have it */
	uint64_t frames_guessed;    /* of all walks so far */
	uint64_t stacks_copied;	    /* of which were in a copy */
	char boot_id[40];
	int64_t boot_offset_ns;	 /* time since boot minus CLOCK_MONOTONIC */
	uint64_t sample_ns;	 /* time of the sample whose addresses are looked up */
	uint64_t lost_sideband;	 /* records about processes, as LOST records count them */
	struct code_spots named; /* with samples in the last epoch, in order: not gathered again */
	struct code_spots owed;	 /* left out for want of time, and gathered with the next epoch */
	uint64_t damaged;	 /* records that could not be decoded, and samples of no event */
};

/* intake.c: */
/* Copies what the kernel has written out of the rings, unless their keeper does. As ring_copy(). */
int session_copy_rings(struct session *session);
/* Processes one record of a ring; records come in the order of time. A ring_handle. */
int session_process_record(void *session, struct ring *ring, const void *record, size_t size_bytes);
/* Stores the process of that pid, or NULL; one whose records were lost is read from /proc. 0 or
 * -ENOMEM. */
int session_find_process(struct session *session, uint32_t pid, struct process **found);
/*
 * Stores the number of the cell for so many samples of the lane at a place, of which event, context
 * and callers are known, and counts them as unknown where their code is. `share` is of the user
 * whose they are; NULL: not known. Where it has no room for another place it is the one for all
 * such, with the cause UNKNOWN_BEYOND_LIMIT whatever it was before. 0 or -ENOMEM.
 */
int session_place(struct session *session, struct share *share, struct lane *lane, uint64_t samples,
		  const struct located *leaf, struct tally_place *place, uint32_t *target);
/*
 * Hands the weights that are settled to the tally. Samples and the reading that gives them their
 * weight have to be of the same time: a reading since the kernel's counts were last added is of
 * samples that are still in the kernel. 0 or -ENOMEM.
 */
enum settle {
	SETTLE_RINGS, /* the counters were read, and what the kernel counted was not added */
	SETTLE_ALL,   /* it was */
	SETTLE_REST,  /* and nothing comes any more: all that is left */
};
int session_settle(struct session *session, enum settle settle);

/* count_intake.c, where session->counted has a table: */
/* To be called when the events are open and before they start. 0 or -ENOMEM. */
int session_start_counts(struct session *session);
/*
 * Takes what was counted so far, draws new periods (`random` not NULL), and stores the time up to
 * which side-band records must be processed before session_add_counts(). 0 or a negative errno.
 */
int session_collect_counts(struct session *session, struct random_state *random,
			   uint64_t *until_ns);
/* Adds what was collected. 0 or a negative errno. */
int session_add_counts(struct session *session);

/* gather.c: what the owner wishes now. */
enum collect_wish session_wish(struct session *session);
/* helper_watch.look: whether what is waited for is still wanted. 0 or -ECANCELED. */
int session_look(void *session);

/* generation.c: to be called when an epoch has been handed out. Drops its tally and dictionaries,
 * but for places and contexts of samples that still wait for their weight or to be interpreted;
 * and files, images, control groups and code made at run time that nothing refers to any more
 * (still_used.h). 0; or -ENOMEM, or -EINVAL where a number is not what it has to be: then nothing
 * has changed. */
int session_begin_generation(struct session *session);

/* context.c: the share of the process's user; an unknown stranger's when the process has ended
 * before it could be looked up and inherited none. */
struct share *session_share(struct session *session, struct process *process);
/* The share that pays for what is read because of the process. Not the one that it inherited from a
 * trusted parent, when it ended before it could be looked up: then shares.ended. */
struct share *session_payer(struct session *session, struct process *process);
/* Stores the context of a sample of that thread on the CPU of that slot. 0 or -ENOMEM. */
int session_context(struct session *session, struct process *process, uint32_t tid, uint32_t slot,
		    uint32_t *context);

/* Reads the process's control group, unless that is known. 0 or -ENOMEM. */
int session_ask_group(struct session *session, struct process *process);
/* Whether processes of the context's name and group have contexts of their own; `mapped`: as in
 * kept_processes_have(). */
bool session_keeps_process(const struct session *session, const struct profile_context *context,
			   bool mapped);
/* What a process of that name is called in a context. */
struct span session_comm(const char *comm, bool kernel);
/* Stores the number of a context, for which `share` pays. 0 or -ENOMEM. */
int session_add_context(struct session *session, struct share *share,
			const struct profile_context *context, uint32_t *id);

/* Whether the process's share has room for one more mapping, and for a copy of the mappings that it
 * still has in common with another process; else counts one as refused. */
bool session_may_map(struct session *session, struct process *process);
/* Charges the process's share for what it has mapped by now; NULL does nothing. Mappings that
 * processes have in common count once, for the process that made them. */
void session_count_mappings(struct session *session, struct process *process);
/* process_table.forget_space: gives back what the space's share was charged. */
void session_forget_space(void *session, struct address_space *space);

/* locate.c: stores where an address lies, or the image of why that is unknown. 0 or -ENOMEM. */
int session_locate(struct session *session, struct process *process, enum code_mode mode,
		   uint64_t address, enum frame_kind kind, struct located *out);
/* As above, of a place in a file; `file`: its number, 0: none is known. */
int session_locate_file(struct session *session, uint32_t file, uint64_t offset,
			struct located *out);
/* Stores the mapping that an address is in; NULL: none is known. 0 or -ENOMEM. */
int session_find_mapping(struct session *session, struct process *process, uint64_t address,
			 const struct mapping **mapping);
/* Stores the place of all addresses that are unknown for that cause. 0 or -ENOMEM. */
int session_unknown(struct session *session, enum unknown_cause cause, struct located *out);
/* The session as src/intake sees it. */
struct world session_world(struct session *session);
struct stacks_sample; /* collect/stacks.h */
/* Stores the sample's callers in place->calls, and in *cut whether the kernel cut the chain off. 0
 * or -ENOMEM. */
int session_calls(struct session *session, struct process *process,
		  const struct stacks_sample *sample, struct tally_place *place, bool *cut);

/* proc_scan.c: reads what /proc says about one process or all, which started before the recording
 * or whose records were lost. 0 or -ENOMEM; that a process is gone is no failure. */
int session_scan_process(struct session *session, uint32_t pid);
int session_scan_all(struct session *session);
/* Reads the mappings again, for a process with a sample in none that is known. */
int session_scan_maps(struct session *session, struct process *process);
/* Reads its control group. */
int session_read_group(struct session *session, struct process *process);
