/*
 * own_samples - this thread on one CPU, sampled into a ring that is read here, with what a BPF
 * program adds to samples.
 */
#pragma once

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct perf_record;
struct sample_extra;

struct own_samples {
	int fd, output_fd; /* disabled at first; the output's is -1 without a program */
	uint64_t output_id;
	uint64_t sample_type;
	struct perf_event_mmap_page *ring;
	size_t ring_bytes; /* of data */
};

/* Keeps the thread on the CPU it is on, and returns that; or a negative errno value. */
int own_samples_stay(void);
/*
 * Opens an event of this thread, as `event` says; its sample_type gets the fields that tell records
 * apart. `extra`: the program; NULL: none. 0, or a negative errno value: nothing is open then.
 */
int own_samples_open(struct own_samples *own, int cpu, const struct perf_event_attr *event,
		     size_t ring_pages, const struct sample_extra *extra);
void own_samples_close(struct own_samples *own);
/* Hands out the samples that wait, in their order, and takes them; `added`: from the program, its
 * bytes are in sample.raw. False: a record is damaged. */
typedef void (*own_samples_take)(void *context, const struct perf_record *record, bool added);
bool own_samples_read(struct own_samples *own, own_samples_take take, void *context);
