/*
 * culprit/sampler.h - where, within one piece of one's own program, events happen: samples while it
 * runs, handed to a function or written as a perf.data file that `culprit import` and perf read.
 *
 *	culprit_sampler_open("cycles", &(struct culprit_sampler_options){ .frequency_hz = 5000,
 *			     .path = "access.data" }, &sampler, &error);
 *	culprit_sampler_start(sampler);
 *	... what is sampled ...
 *	culprit_sampler_stop(sampler);
 *	culprit_sampler_close(sampler, &error);
 *
 * The kernel puts samples into a buffer; nothing interrupts the program, and there is no thread or
 * signal handler. The buffer is emptied by stop, by close and by culprit_sampler_drain(), which a
 * program may call while it samples for long; samples for which there was no room are counted.
 * After opening nothing is allocated.
 *
 * Where there is no PMU the event "cycles" is sampled by cpu-clock, and where the kernel may not be
 * sampled user code alone is: both are said by culprit_sampler_event() and in the perf.data file.
 *
 * Threads: a sampler samples the thread that opened it (options->threads: and those that this one
 * starts afterwards) and is used by that thread. After fork(2) the child's copy does nothing:
 *start, stop and drain return -ECHILD, and closing frees its memory without a word to the file.
 *
 * Writing into a pipe or socket whose reader has left is -EPIPE, and past RLIMIT_FSIZE -EFBIG,
 *without the signals that usually come with them. A descriptor that does not block is waited for.
 */
#ifndef CULPRIT_SAMPLER_H
#define CULPRIT_SAMPLER_H

#include <stddef.h>
#include <stdint.h>

#include "error.h"

#ifdef __cplusplus
extern "C" {
#endif

struct culprit_sampler;
struct culprit_names;

struct culprit_sample {
	uint64_t address; /* of the instruction that the sample fell on */
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	uint64_t period;  /* events that it stands for */
	uint32_t pid, tid, cpu;
	int kernel;	       /* non-zero: `address` is the kernel's */
	const uint64_t *calls; /* return addresses, the innermost first; NULL without stacks */
	size_t call_count;
};

/* Called for each sample, by the thread that drains. *sample lives until it returns. */
typedef void (*culprit_sample_function)(void *context, const struct culprit_sample *sample);

struct culprit_sampler_options {
	uint64_t frequency_hz; /* samples a second of CPU time, about; or */
	/* a sample every so many events; ns where a clock stands in for cycles. Both 0: 1000 Hz, or
	   what the event says ("cpu/cycles,period=100003/"). */
	uint64_t period;
	int stacks;    /* non-zero: with call chains, by frame pointers */
	int user_only; /* non-zero: not what the kernel does for the thread */
	int threads;   /* non-zero: threads that this one starts afterwards, too */
	/* Rounded up to a power of two of pages, for each CPU where `threads` is set; 0: 512 KiB,
	   or as much as this user may lock. */
	size_t buffer_bytes;
	/* A function, a file, or both. */
	culprit_sample_function function;
	void *context;	  /* of the function */
	const char *path; /* of the perf.data file; made anew with mode 0600, no symbolic link */
	int fd;		  /* or an open descriptor, which stays the caller's; 0: none */
	const struct culprit_names *names; /* as in struct culprit_options */
	uint64_t reserved[8];		   /* 0 */
};

/*
 * `event` is one event, written as in culprit/counter.h. 0 and *sampler; -EINVAL for a mistake in
 * the event or the options; -ENOENT, -EOPNOTSUPP for one that cannot be sampled here; -EACCES,
 * -EPERM, -EMFILE, -ENOMEM, or an error of opening or writing the file; with the event or file and
 * the reason in *error.
 */
CULPRIT_API int culprit_sampler_open(const char *event,
				     const struct culprit_sampler_options *options,
				     struct culprit_sampler **sampler, struct culprit_error *error);
/* May be called any number of times in turn. 0 or a negative errno value; stop's may be one of
   writing, too. What is written to the file by stop may wait for more, by drain and close it does
   not. */
CULPRIT_API_BOUND int culprit_sampler_start(struct culprit_sampler *sampler);
CULPRIT_API_BOUND int culprit_sampler_stop(struct culprit_sampler *sampler);
/* Empties the buffer. 0, or a negative errno value of writing; after one, nothing more is written.
 */
CULPRIT_API int culprit_sampler_drain(struct culprit_sampler *sampler);

struct culprit_sampler_counts {
	uint64_t samples; /* handed on */
	/* For which the buffer had no room; before Linux 6.0 those that the kernel has told of by
	   now, and other records with them. */
	uint64_t lost;
	uint64_t throttled; /* times that the kernel stopped sampling for a while */
};
CULPRIT_API void culprit_sampler_counts(const struct culprit_sampler *sampler,
					struct culprit_sampler_counts *counts);
/* What is sampled: the event as written, or "cpu-clock" in place of cycles; with "u" behind a colon
   where the kernel was left out for want of a right. Lives as long as the sampler. */
CULPRIT_API const char *culprit_sampler_event(const struct culprit_sampler *sampler);

/* Ends and frees it; NULL does nothing. 0, or a negative errno value when the file could not be
   written whole. */
CULPRIT_API int culprit_sampler_close(struct culprit_sampler *sampler, struct culprit_error *error);

#ifdef __cplusplus
}
#endif
#endif
