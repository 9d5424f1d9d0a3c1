/*
 * counters_private - what the parts of the counters share: how events are opened (counters_open.c),
 * what they count once they run (counters_read.c) and how long they and their CPUs are there
 * (counters.c).
 */
#pragma once

#include "collect/counters.h"

/* Completes sampler->attr and its layout from the options: `index` is the sampler's own. */
void counters_prepare_sampler(struct counters *counters, struct sampler *sampler, size_t index);
/* Opens the events of one CPU and its side-band, as counters_open() does of all. */
int counters_open_slot(struct counters *counters, size_t slot, pid_t task, unsigned long flags,
		       struct error *err);
/* Reads a leader, and its group with it, and adds what advanced to their lanes; marks it as gone
 * when nothing can be read any more. 0, or -EIO: what was read makes no sense. */
int counters_read_one(struct counters *counters, struct counter *counter);
/* The same with `size` words that were read before; none: nothing could be read. */
#define COUNTER_WORDS_MOST (3 + 3 * 64) /* of a group of 64 members */
int counters_add_reading(struct counters *counters, struct counter *counter, const uint64_t *words,
			 size_t size);
