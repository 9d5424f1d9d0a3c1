/*
 * pprof_labels - a pprof sample's labels as a context. Those that say who ran
 * ("comm", "pid", "tid", "thread", "thread_comm", "cpu", "core_type", "cgroup",
 * "container", as perf's converters and our own export write them) are its parts; others stay
 * "key=value" lines, numbers with their unit behind them.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/span.h"

struct pprof_places;
struct profile;

struct pprof_labels {
	struct profile *profile; /* borrowed */
	struct buffer lines;	 /* of one sample, one after the other */
	struct buffer joined;
	struct pprof_label_line *list; /* its lines */
	size_t count, capacity;
};

void pprof_labels_init(struct pprof_labels *labels, struct profile *profile);
void pprof_labels_release(struct pprof_labels *labels);

/* The context of a sample that has `count` labels; 0 without any. Returns 0; -EBADMSG for a
 * label that is damaged or has a text that is not there; -ENOMEM. */
int pprof_labels_context(struct pprof_labels *labels, struct pprof_places *places,
			 struct span sample, size_t count, uint32_t *context);
