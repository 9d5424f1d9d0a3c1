/*
 * turn_thread - switches the events that take turns (collect/turns.h), on a thread of its own: the
 * collector's is busy now and then, and a turn that lasted until it is done would hold more of its
 * own work than the others. It reads the events whose turn ends, and what it has read waits for
 * the owner. It knows nothing but descriptors.
 *
 * Functions are called by the owner. Between turn_thread_hold() and turn_thread_release() nothing
 * is switched, and the owner may open, read and close events; it alone touches the members below.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/random.h"

/* An event that leads a group, or is alone. */
struct turn_leader {
	int fd;
	uint32_t number; /* the owner's, of the event */
	size_t set, sets;
};

/* A turn that has ended, and what the leaders that had it came to, one after the other. */
struct turn_end {
	uint64_t at_ns;
	size_t readings;
};
struct turn_reading {
	uint32_t number;
	size_t words; /* that follow, as read(2) gave them; 0: it could not be read */
};

struct turn_thread {
	struct turn_leader *leaders;
	size_t leader_count, leader_capacity;
	/* What waits: turns, each with its readings, each with its words. */
	uint64_t *queue;
	size_t used, queue_capacity;
	size_t ends; /* turns in it */
	/* private */
	uint64_t seed, mean_ns, began_ns, next_ns;
	size_t step;
	struct random_state random;
	pthread_t thread;
	bool running, ending;
	pthread_mutex_t lock;
	pthread_cond_t change;
};

/* Whether a set has the turn in that step: in each round of `sets` steps once, in an order of the
 * round's own. */
bool turn_thread_has(uint64_t seed, size_t set, size_t sets, size_t step);

/* Turns last `mean_ns` on average, and less in the beginning. The leaders are set between here and
 * the first release, which begins the first turn. 0 or a negative errno; stop it either way. */
int turn_thread_start(struct turn_thread *thread, uint64_t mean_ns, uint64_t seed);
/* The present turn lasts on; what waits may still be taken. Also right for a zeroed one. */
void turn_thread_stop(struct turn_thread *thread);
void turn_thread_free(struct turn_thread *thread); /* and stops it */
void turn_thread_hold(struct turn_thread *thread);
void turn_thread_release(struct turn_thread *thread);
