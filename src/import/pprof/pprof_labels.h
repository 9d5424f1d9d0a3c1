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
#include "base/hash_index.h"
#include "base/number_map.h"
#include "base/span.h"
#include "profile/byte_pool.h"

struct pprof_places;
struct profile;

struct pprof_labels {
	struct profile *profile; /* borrowed */
	struct number_map plain; /* texts without ends of lines, by their numbers in the file */
	struct byte_pool lines;	 /* of all labels, each once */
	struct pprof_known_label *known; /* labels that were read, and the line that each is */
	size_t known_count, known_capacity;
	struct hash_index known_index;
	uint32_t *list; /* the lines of one sample */
	size_t count, capacity;
	struct byte_pool lists; /* sets of lines that samples have: their numbers, sorted */
	uint32_t *joined;	/* such a set as one text of the profile, by its number less one */
	size_t joined_count, joined_capacity;
	struct buffer text;
};

void pprof_labels_init(struct pprof_labels *labels, struct profile *profile);
void pprof_labels_release(struct pprof_labels *labels);

/* The context of a sample that has `count` labels; 0 without any. Returns 0; -EBADMSG for a
 * label that is damaged or has a text that is not there; -ENOMEM. */
int pprof_labels_context(struct pprof_labels *labels, struct pprof_places *places,
			 struct span sample, size_t count, uint32_t *context);
