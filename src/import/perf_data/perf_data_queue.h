/*
 * perf_data_queue - records of all CPUs in the order of their time. A file has
 * each CPU's records in order, but takes the CPUs in turns: at the end of a
 * round (FINISHED_ROUND) nothing older than the newest record of the round
 * before can come any more.
 *
 * Records are copied in; whoever takes them out borrows them until the next
 * call. One thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct perf_queue_entry {
	uint64_t time;
	uint64_t at; /* in `bytes` */
};

struct perf_queue {
	uint8_t *bytes;
	size_t size, capacity;
	struct perf_queue_entry *entries;
	size_t count, entry_capacity;
	/* private */
	struct perf_queue_entry *spare; /* as many as `entries`, for merging */
	size_t spare_capacity;
	uint8_t *kept; /* for what stays behind */
	size_t kept_capacity;
	uint64_t newest;	/* of this round */
	uint64_t newest_before; /* of the round before: all that is older is complete */
	uint64_t done;		/* nothing older than this is expected */
	bool unordered;
};

/* Takes the next record in the order of time. 0, or a negative errno that ends the walk and is
 * returned. */
typedef int (*perf_queue_take)(void *context, const uint8_t *record, uint64_t time);

void perf_queue_release(struct perf_queue *queue); /* also right for a zeroed one */

/* Adds a copy of a record. Stores in *late whether a later one was handed on before. 0 or -ENOMEM.
 */
int perf_queue_add(struct perf_queue *queue, uint64_t time, const void *record, size_t size,
		   bool *late);
/* What the queue holds in memory. */
size_t perf_queue_bytes(const struct perf_queue *queue);

/* The end of a round: hands on what is complete. 0, -ENOMEM, or what `take` returned. */
int perf_queue_round(struct perf_queue *queue, perf_queue_take take, void *context);
/* Hands on everything; returns as perf_queue_round(). */
int perf_queue_flush(struct perf_queue *queue, perf_queue_take take, void *context);
