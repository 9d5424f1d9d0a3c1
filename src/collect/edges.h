/*
 * edges - evidence of where branches went, from samples that carry the registers and the
 * top of the stack: each is interpreted forward (isa/interpret.h) over the files that its
 * process has mapped, until an outcome is unknown. Samples wait here for the next
 * service, go to a process without rights as a batch (collect/edge_helper.h), and are
 * forgotten; what became of their branches is added up.
 *
 * That costs CPU time beside sampling, and must not: it is measured, and samples are
 * left out evenly when it exceeds its allowance (collect/pace.h).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "collect/edge_helper.h"
#include "collect/edge_tally.h"
#include "collect/pace.h"
#include "isa/interpret.h"
#include "machine/sample_memory.h"
#include "symbol/helper_process.h"

struct address_space;
struct file_table;
struct perf_layout;
struct perf_record;
struct perf_sample;
struct profile;

/* Of one event, since the last bill; in samples of user code. */
struct edge_sums {
	uint64_t interpreted; /* = silent + those with an outcome */
	uint64_t thinned;     /* left out for the budget */
	uint64_t unfit;	      /* without registers, of a 32-bit process, or in code of no file */
	uint64_t lost;	      /* the process that interprets failed */
	uint64_t silent, outcomes;
	uint64_t ends[INTERPRET_ENDS];
};

struct edge_waiting { /* whose sample it is */
	uint32_t sampler, event, context;
	struct share *share; /* whose program it is; NULL: nobody's that is limited */
};

struct edge_batch {
	struct edge_sample *samples;
	struct edge_waiting *waiting; /* as many */
	size_t count, capacity, waiting_capacity;
	struct buffer blocks;	       /* of all samples, in their order */
	struct address_space **spaces; /* shared: they stay as they are */
	size_t space_count, space_capacity;
	double set_aside_ns; /* by the pace */
};

enum edge_told { EDGE_UNTOLD, EDGE_TOLD, EDGE_REFUSED };

struct edges {
	bool on;
	uint64_t registers; /* perf's mask */
	struct helper helper;
	struct file_table *files; /* borrowed */
	struct shares *shares;	  /* likewise; set by the owner; NULL: nobody is limited */
	struct edge_batch gathering, under_way;
	bool asked; /* the helper is at `under_way` */
	uint64_t asked_ns;
	uint8_t *told; /* enum edge_told, by number of the file */
	size_t told_capacity, told_count;
	unsigned failures;
	char failure[256];	/* of the last one */
	struct edge_sums *sums; /* by sampler */
	size_t sampler_count;
	struct edge_tally tally;
	struct pace pace;
	uint64_t cpu_ns; /* that interpreting took so far */
};

/* Starts the helper: early, it is a fork. -ENOMEM; other failures leave `on` false. */
int edges_init(struct edges *edges, struct file_table *files, size_t sampler_count,
	       struct error *err);
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
 * Takes what the helper has found and gives it what was sampled since, when that is much or
 * a second's: call it a few times a second. EDGES_WAIT: until all is done. 0 or -ENOMEM.
 */
enum edges_patience { EDGES_GO_ON, EDGES_WAIT };
int edges_service(struct edges *edges, enum edges_patience patience);

/* The bill of one event since the last, into `profile`. 0 or -ENOMEM. */
int edges_write_bill(struct edges *edges, size_t sampler, uint32_t event, struct profile *profile);
