/*
 * sample_table - samples counted in the kernel, where they happen: a BPF program adds each one to a
 * table of its CPU and leaves no record of it (DCPI, SOSP'97, 4.2 and 5.4; docs/methods.md,
 * "Counting in the kernel"). The table is an array that the kernel's side and this one both map, of
 * lines of four entries; which entry a sample belongs to is decided by its place, event and
 * context. When a line is full, one of its entries is pushed out into a list beside. There are two
 * halves of each: while the kernel writes one, the other is read here, and nothing is ever waited for.
 *
 * A place is an offset in a file where the sampled mapping is one of a file, so that programs that
 * run a hundred times a second share it; else an address, and the context is then the process that
 * it is of. Files and contexts get numbers in the kernel, and news tell here what a number
 * stands for, once.
 *
 * It takes Linux 5.15, BTF, CAP_BPF and CAP_PERFMON; files, the tree of mappings of Linux 6.1. Nothing is
 * read that needs a lock, so an address whose mapping is changed at that moment stays an address.
 *
 * One thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/sample_table_layout.h"

struct error;
struct sample_table;

struct sample_table_options {
	enum sample_table_contexts contexts;
	bool addresses; /* places stay addresses, as before Linux 6.1 */
	uint32_t lines; /* in one half of one CPU, of 64 bytes: a power of two; 0: 4096 */
	uint32_t spill; /* entries beside, of 16 bytes; 0: 16384 */
	uint32_t numbers; /* files, and contexts, that have one at a time; 0: 8192 */
	uint32_t news;	  /* room for news, in bytes: a power of two of pages; 0: 256 KiB */
};

/* 0 and for sample_table_free(); or a negative errno value (bpf/program.h) with *err saying what is
 * needed. */
int sample_table_new(const struct sample_table_options *options, struct sample_table **out,
		     struct error *err);
void sample_table_free(struct sample_table *table); /* NULL does nothing. Close the links before. */
void sample_table_freep(struct sample_table **table); /* for CLEANUP() */

/* Counts the samples of the event `fd`, as `event` (below SAMPLE_TABLE_EVENTS), from here on. A
 * descriptor, whose end stops that, or a negative errno value. No record of these samples is
 * written. */
int sample_table_attach(const struct sample_table *table, int fd, unsigned event);

/* Whether half of the room beside the lines is used somewhere, so that it is time to drain. */
bool sample_table_fills(const struct sample_table *table);
/* Whether a file was sampled for the first time since the last drain. */
bool sample_table_has_new_files(const struct sample_table *table);

struct sample_table_count {
	uint32_t cpu, event, context, image;
	uint64_t offset; /* in the file; or the address, of the kernel sign-extended */
	uint64_t samples;
};

struct sample_table_visit {
	void *context;
	/* News come before the counts that they are about; after lost ones, when their numbers are
	 * looked for. A number that was given before means the new thing from here on. */
	int (*image)(void *context, const struct sample_table_image_key *key,
		     const struct sample_table_image *image);
	int (*named)(void *context, const struct sample_table_context_key *key,
		     const struct sample_table_context *value);
	int (*count)(void *context, const struct sample_table_count *count);
};

/*
 * Hands out what was counted since the last time, with the news before it: has the kernel write
 * the other half, waits until nobody writes this one any more (some ms, without CPU time), and
 * empties it. An entry may come in several parts. 0, or the first error of *visit's (the rest is then lost
 * and counted so), or a negative errno value where waiting failed, and nothing has changed.
 */
int sample_table_drain(struct sample_table *table, const struct sample_table_visit *visit);

/* Whether the last drain gave numbers anew: those before it come in one more drain, then no more. */
bool sample_table_renewed(const struct sample_table *table);

/* From here on places in that file are addresses of processes, as of code that they make themselves. 0 or
 * a negative errno value. */
int sample_table_keep_addresses(struct sample_table *table,
				const struct sample_table_image_key *key);

struct sample_table_sums {
	uint64_t seen; /* by the program */
	uint64_t lost; /* of these: nothing had room for their entry */
};

/* Of all that ever was, on one CPU, or all (-1). */
struct sample_table_sums sample_table_sums(const struct sample_table *table, int cpu,
					   unsigned event);

/* How long the program took, as it measures itself (program_time.h), of all CPUs: of samples that
 * had an entry, and of those that got one, pushed one out, or had none. */
struct sample_table_times {
	struct program_time hits, misses;
};
struct sample_table_times sample_table_times(const struct sample_table *table);

/* Bytes of memory that the table takes, but for the numbers. */
size_t sample_table_bytes(const struct sample_table *table);
/* How many CPUs there may be: the highest number, and one. */
uint32_t sample_table_cpus(const struct sample_table *table);
