/*
 * session - the state of one recording, shared by the files of the collector:
 * what runs, what it has mapped, what was counted. Private to src/collect.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "collect/bursts.h"
#include "collect/collector.h"
#include "collect/counters.h"
#include "collect/edges.h"
#include "collect/file_table.h"
#include "collect/groups.h"
#include "collect/guarded.h"
#include "collect/jit.h"
#include "collect/kernel_code.h"
#include "collect/kernel_map.h"
#include "collect/left_out.h"
#include "collect/proc_ask.h"
#include "collect/ring_keeper.h"
#include "collect/shares.h"
#include "collect/tally.h"
#include "collect/urgency.h"
#include "image/process_table.h"
#include "intake/calls.h"
#include "intake/read_window.h"
#include "machine/sample_memory.h"
#include "symbol/helper_process.h"

#define SESSION_CONTEXT_CACHE	1024
#define SESSION_FILTERED_TARGET UINT32_MAX /* of a sample whose weight is nobody's */

struct session_context {
	uint32_t serial; /* of the process's name and group; 0: free */
	uint32_t tid;
	uint32_t slot;
	uint32_t id;
};

/* A place in code of which names and the like are wanted; of a file that is trusted, where none but
 * a stranger has samples there, by whom (as in struct tally_place). */
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
	struct chain chain; /* of the sample that is taken */
	struct edges edges;
	double edge_ratio; /* plan.h */
	struct bursts bursts;
	struct counters counters;
	struct ring_keeper keeper; /* of its rings */
	struct process_table processes;
	struct file_table files;
	struct kernel_map kernel;
	struct kernel_code kernel_code;
	struct sample_memory sample_memory; /* as kernel_code: before events, and after them */
	struct read_window reads;
	struct jit_table jits;
	struct shares shares;
	struct guarded guarded;
	struct proc_ask ask;
	struct proc_silent silent;
	struct left_out unread; /* processes that did not answer since the last epoch */
	struct reader *reader;
	struct helper_watch watch; /* of all helpers */
	uint64_t hurry_ns;	   /* since when we are asked to end soon; 0: we are not */
	bool gathering;
	struct urgency urgency;
	struct groups groups;
	uint32_t unknown_images[UNKNOWN_CAUSES];
	struct session_context contexts[SESSION_CONTEXT_CACHE];
	uint32_t context_serial;
	uint32_t *last_exit;		       /* pid, by CPU slot */
	const struct collect_options *options; /* the collector's */
	unsigned identity;		       /* set of enum collect_identity */
	bool follow;			       /* only what is below the followed process counts */
	bool inherit;			       /* counters belong to threads */
	bool stacks;
	uint64_t max_stack;
	char boot_id[40];
	int64_t boot_offset_ns; /* time since boot minus CLOCK_MONOTONIC */
	uint64_t sample_ns;	/* when what is located was so */
	uint64_t lost_sideband; /* by LOST records */
	struct code_spots
		named; /* what the last epoch had samples of, in order: is asked for no more */
	struct code_spots owed; /* left out for want of time when an epoch ended: the next one's */
	uint64_t damaged;	/* records without a lane */
};

/* Moves what the kernel has written out of the rings, for later, unless their keeper does. 0 or
 * -ENOMEM. */
int session_copy_rings(struct session *session);
/* What the owner wishes now. */
enum collect_wish session_wish(struct session *session);
/* A helper_watch's: whether what is waited for is still wanted. */
int session_look(void *session);
/* intake.c: one record from a ring, in the order of time. A ring_handle. */
/* Hands the weights that are settled to the tally; `flush`: all that is left. 0 or -ENOMEM. */
int session_settle(struct session *session, bool flush);
int session_take_record(void *session, struct ring *ring, const void *record, size_t size_bytes);

/* generation.c: an epoch has ended, and all of it was taken. What was added up in it goes whole,
 * but for places and contexts of samples that wait for their weight or to be interpreted; and so do
 * files, images, control groups and code made at run time that nothing means any more
 * (still_used.h). 0 or -ENOMEM: then nothing has changed. */
int session_begin_generation(struct session *session);

/* context.c: whose the process is, or was; of one that nobody can ask any more a stranger's. */
struct share *session_share(struct session *session, struct process *process);
/* Who pays for what is read because of it: of one that nobody could ask not who forked it. */
struct share *session_payer(struct session *session, struct process *process);
int session_context(struct session *session, struct process *process, uint32_t tid, uint32_t slot,
		    uint32_t *context);

/* Whether the process's share has room for one mapping more, and for a copy of those that it still
 * has in common with another process; else it is counted as refused. */
bool session_may_map(struct session *session, struct process *process);
/* Charges the process's share for what it has mapped by now; NULL does nothing. What processes have
 * in common counts once, for who mapped it. */
void session_count_mappings(struct session *session, struct process *process);
/* A process_table's: gives that back. */
void session_forget_space(void *session, struct address_space *space);

/* locate.c: where an address lies; unknown ones get the image of their cause. */
int session_locate(struct session *session, struct process *process, enum code_mode mode,
		   uint64_t address, enum frame_kind kind, struct located *out);
/* The place of what nobody knows, or of what is not kept apart any more. 0 or -ENOMEM. */
int session_unknown(struct session *session, enum unknown_cause cause, struct located *out);
/* What addresses mean while they are sampled, for src/intake. */
struct world session_world(struct session *session);
/* By which calls the sample came there, stored in `*place`; and whether the kernel cut them off. */
int session_calls(struct session *session, struct process *process,
		  const struct perf_sample *sample, struct tally_place *place, bool *cut);

/* proc_scan.c: processes from before the start, as /proc tells. 0 or -ENOMEM; what is gone is no
 * failure. */
int session_scan_process(struct session *session, uint32_t pid);
int session_scan_all(struct session *session);
/* Reads the mappings again; for a process whose address is in none that we know. */
int session_scan_maps(struct session *session, struct process *process);
int session_read_group(struct session *session, struct process *process);
