/*
 * edges - evidence of where branches went, from samples that carry the registers and the
 * top of the stack: each is interpreted forward (isa/interpret.h) over the files that its
 * process has mapped, until an outcome is unknown. Samples wait here for the next
 * service, go to a process without rights as a batch (collect/edge_helper.h), and are
 * forgotten; what became of their branches is added up.
 *
 * That costs CPU time beside sampling, and must not: it is measured, and samples are
 * left out evenly when it exceeds its allowance (collect/pace.h).
 *
 * Programs of strangers (collect/shares.h) have a process of their own, with less memory, and a
 * batch has the samples of one of them: he pays for what is waited for because of it, and for
 * what fails. So he neither takes interpreted samples from who is trusted nor time from others.
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

/* Of one event, since the last bill; in samples of user code. */
struct edge_sums {
	uint64_t interpreted; /* = silent + those with an outcome */
	uint64_t thinned;     /* left out for the budget, or their user's share is used up */
	uint64_t unfit;	      /* without registers, of a 32-bit process, or in code of no file */
	uint64_t lost;	      /* the process that interprets failed, or we were asked to end */
	uint64_t silent, outcomes;
	uint64_t ends[INTERPRET_ENDS];
};

enum edge_told { EDGE_UNTOLD, EDGE_TOLD, EDGE_REFUSED };

/* A process that interprets, and what waits for it. */
struct edge_lane {
	bool on;
	bool strange;
	struct helper helper;
	struct edge_batch gathering, under_way, spare;
	bool asked; /* the helper is at `under_way` */
	uint64_t asked_ns;
	uint64_t answered_ns; /* last */
	uint8_t *told;	      /* enum edge_told, by number of the file */
	bool outdated;	      /* the helper knows files that were forgotten: it is replaced */
	size_t told_capacity, told_count;
	unsigned failures;
	struct pace pace;
	/* Of strangers. */
	struct share *payer;	   /* of `under_way` */
	uint64_t paid_ns;	   /* for it */
	const struct share *first; /* whose samples this helper was given; NULL: nobody's yet */
	bool mixed;		   /* and those of others */
	struct share *again; /* whose turn it is in a new one; NULL: whoever has waited longest */
};

struct edges {
	uint64_t registers; /* perf's mask */
	struct edge_lane own, strange;
	struct file_table *files;	  /* borrowed */
	struct shares *shares;		  /* likewise; NULL: nobody is limited */
	const struct helper_watch *watch; /* likewise; NULL: nobody ends a wait */
	unsigned failures;
	char failure[256];	/* of the last one */
	struct edge_sums *sums; /* by sampler */
	size_t sampler_count;
	struct edge_tally tally;
	uint64_t cpu_ns; /* that interpreting took so far */
};

struct edges_options {
	struct file_table *files;
	struct shares *shares;
	const struct helper_watch *watch;
	size_t sampler_count;
};

/* Starts the helpers: early, they are forks. -ENOMEM; after other failures nothing is interpreted.
 */
int edges_init(struct edges *edges, const struct edges_options *options, struct error *err);
void edges_release(struct edges *edges); /* also right for a zeroed one */

/*
 * A sample of user code in `space` (NULL: unknown), which earns `allowance_ns`; `blocks`: struct
 * sample_memory_block, of what its registers point to. 0 or -ENOMEM.
 */
int edges_take(struct edges *edges, const struct edge_waiting *waiting,
	       const struct perf_sample *sample, struct span blocks, struct address_space *space,
	       double allowance_ns);

/*
 * The blocks in a record of the output event (machine/sample_memory.h), if it is of the same
 * moment as *record, a sample; else empty. They lie in `attached`.
 */
struct span edges_blocks(struct span attached, const struct perf_layout *layout,
			 const struct perf_record *record);

/*
 * Takes what the helpers have found and gives them what was sampled since, when that is much or
 * a second's: call it a few times a second. EDGES_WAIT: until all is done, or the watch ends it,
 * and then the rest is lost. 0 or -ENOMEM.
 */
enum edges_patience { EDGES_GO_ON, EDGES_WAIT };
int edges_service(struct edges *edges, enum edges_patience patience);
/* The batches that wait or are under way, by position from 0 on; NULL: there are no more. */
struct edge_batch *edges_batch(struct edges *edges, size_t position);
/* Files are to be forgotten, and their numbers given to others: in_use[number] is false. No batch
 * refers to them. */
void edges_forget_files(struct edges *edges, const bool *in_use);

/* The bill of one event since the last, into `profile`. 0 or -ENOMEM. */
int edges_write_bill(struct edges *edges, size_t sampler, uint32_t event, struct profile *profile);
