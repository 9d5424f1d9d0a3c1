/*
 * perf_data_waiting - samples of a perf.data file that wait, packed by zstd, for the
 * end of the file: the table of build-ids, which says which binaries may unwind their
 * user stacks, comes last.
 *
 * Their processes are kept as they were: mappings are shared until they change.
 * One thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/span.h"

struct error;
struct perf_waiting;
struct process;

struct perf_waiting_sample {
	uint32_t event, context; /* the owner's numbers */
	struct process *process; /* as it was: the owner's when added, a copy when taken */
	struct span record;
};

/* Takes a sample, which is borrowed. 0, or a negative errno with *err filled, which ends the walk
 * and is returned. */
typedef int (*perf_waiting_take)(void *context, const struct perf_waiting_sample *sample,
				 struct error *err);

struct perf_waiting *perf_waiting_new(void);	      /* NULL: out of memory */
void perf_waiting_free(struct perf_waiting *waiting); /* NULL does nothing */

/* Keeps a sample: a copy of its record, and a share of its process's mappings. 0 or -ENOMEM. */
int perf_waiting_add(struct perf_waiting *waiting, const struct perf_waiting_sample *sample);
/* Whether they take more memory than they may beside a file of which so many bytes came. */
bool perf_waiting_is_full(const struct perf_waiting *waiting, uint64_t file_bytes);
/* Hands on each sample, in the order in which they were added, and forgets them. 0, -ENOMEM or what
 * `take` returned, with *err filled; after an error `waiting` is only fit to be freed. */
int perf_waiting_drain(struct perf_waiting *waiting, perf_waiting_take take, void *context,
		       struct error *err);
