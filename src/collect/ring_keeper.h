/*
 * ring_keeper - empties rings into memory, on a thread of its own, while the thread that owns them
 * works for longer than they may wait: it adds up an epoch, gathers names, or waits for a disk.
 * Otherwise the kernel would lose records for want of room. What ring_copy() does not copy, since
 * much waits, stays there.
 *
 * From ring_keeper_begin() to ring_keeper_end() the keeper owns the rings, but for the two counts
 * of ring_counted(); at all other times it touches nothing. The owner processes what was copied
 * afterwards. All functions are called by the owner.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

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

/* Starts the thread, beforehand: on a busy machine a new thread may wait long for a CPU. Borrows
 * the rings and the layout. When no thread can be started, the functions below do nothing, and
 * rings wait until the owner empties them. */
void ring_keeper_start(struct ring_keeper *keeper, struct ring *rings, size_t count,
		       const struct perf_layout *layout);
void ring_keeper_stop(struct ring_keeper *keeper); /* also right for a zeroed one */

/* Hands the rings to the keeper. */
void ring_keeper_begin(struct ring_keeper *keeper);
/* Whether the keeper owns the rings. */
bool ring_keeper_owns_rings(const struct ring_keeper *keeper);
/* Takes the rings back. 0, also when the keeper had none; or what ring_copy() returned: then it
 * copied no more, and the rest is still in the rings. */
int ring_keeper_end(struct ring_keeper *keeper);
