/*
 * perf_script_events - the events that the sample lines of `perf script` name, as rows of
 * a profile. An event of which some lines have periods and others have none is two: their
 * units differ. One thread at a time.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "import/text/known_text.h"

struct import_options;
struct perf_script_header;
struct perf_script_sample;
struct profile;

struct perf_script_event {
	uint32_t id;	 /* in the profile */
	uint64_t period; /* what a sample stands for whose line has none */
	uint64_t total;	 /* what its samples stand for; the owner adds it up */
};

struct perf_script_events {
	/* borrowed; the rest begins as zero */
	struct profile *profile;
	const struct import_options *options;
	const struct perf_script_header *header;
	struct perf_script_event *list; /* by number */
	/* private */
	struct known_text names;
	struct buffer key;
	size_t capacity;
};

void perf_script_events_release(struct perf_script_events *events);
/* Stores the number of the event of a line, which goes to the profile when it is new. 0 or -ENOMEM.
 */
int perf_script_events_find(struct perf_script_events *events,
			    const struct perf_script_sample *line, uint32_t *number);
