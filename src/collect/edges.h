/*
 * edges - evidence of where branches went, from samples that carry the registers and the
 * top of the stack: each is interpreted forward (isa/interpret.h) over the files that its
 * process has mapped, until an outcome is unknown. Samples wait here until the next call of
 * edges_service(), are sent in batches to a helper process without rights
 * (collect/edge_helper.h), and are forgotten; the branches in its answers are added up.
 *
 * Interpreting takes CPU time beside sampling and has a budget: its cost is measured, and samples
 * are left out evenly when it exceeds the budget (collect/pace.h).
 *
 * There are two helpers, for programs of trusted users and for those of strangers
 * (collect/shares.h). The strangers' one has less memory, and a batch holds samples of one
 * stranger only, whose share pays for the time that is waited and for failures. So a stranger can
 * take neither interpreted samples from trusted users nor time from other strangers.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/edge_batch.h"
#include "collect/edge_tally.h"
#include "collect/pace.h"
#include "isa/interpret.h"
#include "symbol/helper_process.h"

struct address_space;
struct error;
struct file_table;
struct perf_layout;
struct perf_record;
struct perf_sample;
struct profile;

/* What became of the user-code samples of one event, since the last bill. */
struct edge_sums {
	uint64_t interpreted; /* = silent + those with an outcome */
	uint64_t thinned;     /* left out: over the budget, or their user's share is used up */
	/* Without registers, of a 32-bit process, in code of no file or of one that may not stay
	 * open and has no copy, or of a process with too many mappings. */
	uint64_t unfit;
	uint64_t lost;		       /* the helper failed, or recording was asked to end */
	uint64_t silent;	       /* without a branch whose outcome became known */
	uint64_t outcomes;	       /* branches of all paths whose outcome became known */
	uint64_t ends[INTERPRET_ENDS]; /* paths, by why they ended */
};

/* Whether a file was given to a helper. */
enum edge_file_state { EDGE_FILE_UNSENT, EDGE_FILE_SENT, EDGE_FILE_REFUSED };

/* A helper process that interprets, and the samples that wait for it. */
struct edge_worker {
	bool on; /* false: it failed too often, or could not be started; its samples are lost */
	bool strange;
	struct helper helper;
	struct edge_batch gathering; /* what is sampled now */
	struct edge_batch under_way; /* what the helper has; empty when `asked` is false */
	struct edge_batch spare;     /* empty; its memory is used again */
	bool asked;		     /* the answer to `under_way` is still to come */
	uint64_t asked_ns;
	uint64_t answered_ns; /* when the last answer came */
	uint8_t *file_states; /* enum edge_file_state, by number of the file */
	size_t file_state_capacity, files_sent;
	bool outdated; /* the helper knows files that were forgotten: it is replaced */
	unsigned failures;
	struct pace pace;
	/* The strangers' only: */
	struct share *payer;	   /* of `under_way` */
	uint64_t paid_ns;	   /* for it, so far */
	const struct share *first; /* whose samples this process had first; NULL: none yet */
	bool mixed;		   /* it had samples of others too */
	struct share *again;	   /* whose batch a new process gets; NULL: the first that waits */
};

struct edges {
	uint64_t registers; /* perf's mask */
	struct edge_worker own, strange;
	struct file_table *files;	  /* borrowed */
	struct shares *shares;		  /* likewise; NULL: nobody is limited */
	const struct helper_watch *watch; /* likewise; NULL: nobody ends a wait */
	unsigned failures;		  /* of both workers */
	char failure[256];		  /* what the last one was */
	struct edge_sums *sums;		  /* by sampler */
	size_t sampler_count;
	struct edge_tally tally;
	uint64_t cpu_ns; /* that the helpers have used so far */
};

struct edges_options { /* as in struct edges */
	struct file_table *files;
	struct shares *shares;
	const struct helper_watch *watch;
	size_t sampler_count;
};

/* Starts the helpers, which are forks: call it while this process is small. 0, or a negative errno
 * with *err: samples of a helper that did not start are counted as lost; after -ENOMEM `sums` is
 * NULL, and none may be added. edges_release() is due either way. */
int edges_init(struct edges *edges, const struct edges_options *options, struct error *err);
void edges_release(struct edges *edges); /* also right for a zeroed one */

/*
 * Adds a sample of user code to those that wait, or counts why not. `space` is its process's (NULL:
 * unknown); `allowance_ns` is the CPU time that one sample may cost on average; `blocks` holds
 * struct sample_memory_block of what its registers point to. 0 or -ENOMEM.
 */
int edges_add_sample(struct edges *edges, const struct edge_waiting *waiting,
		     const struct perf_sample *sample, struct span blocks,
		     struct address_space *space, double allowance_ns);

/*
 * The blocks in `attached`, a record of the output event (bpf/sample_memory.h), if it belongs
 * to the sample *record: same thread, same address. Else empty. They lie in `attached`.
 */
struct span edges_blocks(struct span attached, const struct perf_layout *layout,
			 const struct perf_record *record);

/*
 * Reads the helpers' answers, without waiting, and sends them what was sampled since, once that is
 * many samples or a second has passed: call it a few times a second. EDGES_WAIT: waits until all
 * is done, or the watch ends the wait and the rest is lost. 0 or -ENOMEM.
 */
enum edges_patience { EDGES_GO_ON, EDGES_WAIT };
int edges_service(struct edges *edges, enum edges_patience patience);
/* The batches that wait or are under way, by position from 0 on; NULL: there are no more. */
struct edge_batch *edges_batch(struct edges *edges, size_t position);
/* Files are to be forgotten, and their numbers given to others: in_use[number] is false. No batch
 * refers to them. */
void edges_forget_files(struct edges *edges, const bool *in_use);

/* Writes the sums of one sampler into `profile` as the bill of its `event` there, and begins them
 * anew. 0 or -ENOMEM. */
int edges_write_bill(struct edges *edges, size_t sampler, uint32_t event, struct profile *profile);
