/*
 * read_window - what the members of a group counted between two samples of the
 * event that reads them. Each value is compared with the one before it of the same
 * counter: of one CPU, or of one thread when the group is inherited. What was
 * counted across samples that got lost belongs to none of those that arrived:
 * it goes to the bill. Memory grows with the keys that were not forgotten.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/number_map.h"

struct read_window {
	struct number_map last; /* struct read_last of all members, by key */
};

struct read_value {
	uint64_t id;  /* of the member */
	uint64_t key; /* CPU, or thread */
	uint64_t value, enabled, running;
	uint64_t epoch;	      /* grows whenever samples that read it were lost */
	uint64_t first_epoch; /* the epoch in which the counter began, at 0 */
};

enum read_result {
	READ_SPAN, /* *events were counted since the last sample */
	READ_LOST, /* *events were counted, and samples between were lost */
	READ_IDLE, /* the counter was not running: unknown, not 0 */
};

void read_window_release(struct read_window *window); /* also right for a zeroed one */
/* Drops the values of a thread that has ended: its number may be used again. */
void read_window_forget(struct read_window *window, uint64_t key);
/* Stores in *events what was counted since the last value of the same counter, scaled by enabled /
 * running time. An enum read_result, or -ENOMEM. */
int read_window_add(struct read_window *window, const struct read_value *value, double *events);
