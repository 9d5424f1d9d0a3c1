/*
 * ring_keeper - empties rings into memory, on a thread of its own, while the thread that owns them
 * is at work for longer than they may wait: it adds up an epoch, asks for names, or waits for a
 * disk. The kernel writes on meanwhile, and loses what finds no room; so it does again when twice a
 * ring's size waits, or RING_KEEPER_BYTES where that is more: memory has an end, whatever the owner
 * is at.
 *
 * From ring_keeper_begin() to ring_keeper_end() the rings are the keeper's, all but the two counts
 * that ring.h names; at all other times it touches nothing. What it has copied is handled by the
 * owner afterwards. All functions are called by the owner.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#define RING_KEEPER_BYTES ((size_t)4 << 20) /* 3 s of 10,000 samples a second with short stacks */

struct perf_layout;
struct ring;

struct ring_keeper {
	/* private */
	struct ring *rings;
	size_t count;
	const struct perf_layout *layout;
	pthread_t thread;
	bool running; /* there is a thread; the owner's */
	bool keeping; /* changed by the owner, under the lock */
	bool ending;  /* under the lock, as the result is */
	int result;
	pthread_mutex_t lock; /* held by the thread while it copies */
	pthread_cond_t change;
};

/* Starts the thread beforehand: a new one is the last to get a CPU on a busy machine. The rings and
 * the layout are borrowed. Without room for a thread there is none, and the owner goes on serving
 * rings as often as it can. */
void ring_keeper_start(struct ring_keeper *keeper, struct ring *rings, size_t count,
		       const struct perf_layout *layout);
void ring_keeper_stop(struct ring_keeper *keeper); /* also right for a zeroed one */

void ring_keeper_begin(struct ring_keeper *keeper);
/* Whether the rings are the keeper's. */
bool ring_keeper_owns_rings(const struct ring_keeper *keeper);
/* 0, also when it had none, or what ring_copy() returned: then the rest is still in the rings. */
int ring_keeper_end(struct ring_keeper *keeper);
