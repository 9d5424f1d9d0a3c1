/*
 * sample_cost - how much CPU time one sample costs on this machine, measured now: a
 * loop reads the time stamp counter without pause while the thread is sampled, and
 * the gap between two reads that a sample's time lies in is what its interrupt took.
 * Gaps of ticks and of other programs have no sample in them and do not count.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct error;
struct event;
struct sample_extra;

struct sample_cost {
	double ns, low_ns, high_ns; /* of a sample: median, 10th and 90th percentile */
	uint64_t samples;	    /* how many were measured */
	double busy_ratio;	    /* the part of the time without sampling that other work took */
};

/*
 * Samples this thread for 0.08 s, or up to 0.4 s where samples come slowly, by `event` (as
 * event_list_default() gives it; what its attr.sample_type asks for beside ip, task and time is
 * taken along, if it stands behind these in a sample; and what `extra` adds, if that is not NULL,
 * on the CPU where it runs) and fills *cost. Returns 0; -EAGAIN when too few samples came to tell
 * (the machine is overloaded, or throttles); -ENOMEM; or the negative errno value of opening.
 */
int sample_cost_measure(const struct event *event, int64_t max_sample_rate,
			const struct sample_extra *extra, struct sample_cost *cost, struct error *err);

/* Samples a second and CPU that cost `ratio` (0.01: one percent) of its time; at least 1. */
uint64_t sample_cost_rate(const struct sample_cost *cost, double ratio);
