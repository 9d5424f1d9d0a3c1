/*
 * turns - events that do not fit the PMU all at once take turns on it: sets of groups, each of
 * which fits, are enabled one after the other on all CPUs, in rounds in which each set has one
 * turn. The kernel does the like by itself at each of its ticks (every 4 ms), always for as long;
 * here turns last a random time and each round has an order of its own, so that no periodic program
 * keeps its good side for one of the events, and each turn is counted, so that it is known how far
 * what was scaled may be wrong (collect/turn_time.h).
 *
 * It is for events of whole CPUs. Of several PMUs (cores of several types) each has its own number
 * of sets.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/turn_thread.h"

struct counters;
struct sampler;

#define TURNS_USUAL_NS 100000000u

struct turns {
	uint64_t mean_ns; /* 0: no event takes turns */
	uint64_t seed;
	size_t step; /* of turns whose end has been processed */
	struct turn_thread thread;
};

/*
 * Chooses the sets of samplers that are complete but for their rates: fills turn_set and turn_sets,
 * by letting groups count in this thread for 0.2 ms each. Pinned groups count all the time, beside
 * each of the sets. Whether any takes turns. What cannot be found out, as an event does not open,
 * takes none.
 */
bool turns_choose(struct sampler *samplers, size_t count);

/* To be called just before the counters are enabled: from now on some rest, and the first turn
 * begins with turns_release(). 0 or a negative errno. */
int turns_start(struct turns *turns, struct counters *counters, uint64_t now_ns);
/* Processes the turns that have ended, and has no other end before turns_release(): for who reads
 * counters, or opens them anew. How many there were; or -EIO: what was read makes no sense. */
int turns_hold(struct turns *turns, struct counters *counters);
void turns_release(struct turns *turns, const struct counters *counters);
/* Nothing is switched any more; to be called before the counters are disabled for good. 0 or -EIO.
 */
int turns_stop(struct turns *turns, struct counters *counters);
/* When the counters were read for the last time: settles what is left, up to that moment. */
void turns_finish(const struct turns *turns, struct counters *counters, uint64_t now_ns);
void turns_free(struct turns *turns); /* also right for a zeroed one */
