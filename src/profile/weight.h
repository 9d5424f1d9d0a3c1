/*
 * weight - how many events each sample of a counted (not clock) event stands
 * for. Within a window of one CPU's event, every sample weighs what the event's
 * own count advanced, scaled by enabled/running, divided by the samples seen.
 * Lost samples count as seen: their share is given back for the bill, so the
 * others do not carry it. A window ends with the first drain that brings it to
 * WEIGHT_WINDOW_SAMPLES: with about one sample a drain, weighing each drain by
 * itself is biased by 5 to 7 points (a busy drain's samples would weigh less).
 *
 * One struct weight serves one event on one CPU (or one inherited task event).
 * It belongs to one thread at a time.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "profile/profile.h"

#define WEIGHT_WINDOW_SAMPLES 30

struct weight {
	uint32_t *targets; /* one entry a pending sample */
	size_t count;
	size_t capacity;
	uint64_t lost;	 /* pending */
	double advanced; /* events since the window began, scaled */
};

/*
 * Receives one target's share of a closed window. Returns 0 or a negative
 * errno, which ends the closing and is passed on.
 */
typedef int (*weight_emit)(void *context, uint32_t target, const struct cell *cell);

void weight_release(struct weight *weight); /* also right for a zeroed one */

/* One stored sample; `target` is the caller's number for the cell it goes to. 0 or -ENOMEM. */
int weight_sample(struct weight *weight, uint32_t target);

/*
 * The drain is over: the count advanced by `events` (already scaled by
 * enabled/running) and `lost` samples did not reach us. When the window is
 * full, emits it: estimates are whole numbers that add up to the rounded total
 * (largest remainder). *lost_events grows by the share of the lost samples.
 */
int weight_advance(struct weight *weight, double events, uint64_t lost, weight_emit emit,
		   void *context, uint64_t *lost_events);

/*
 * Emits what is pending, however little: when collecting ends, or the event's
 * period changes. What the count advanced without any sample since the last
 * window has no cell to go to; it is dropped and stays visible as the
 * difference between the event's count and its estimates.
 */
int weight_flush(struct weight *weight, weight_emit emit, void *context, uint64_t *lost_events);
