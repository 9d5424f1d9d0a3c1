/*
 * kernel_counts - samples that were counted in the kernel (bpf/sample_table.h), instead of coming
 * one by one through rings: taken once a second, and what their numbers stand for. The session
 * looks them up by what side-band records say and adds them to its tally (count_intake.c). It is
 * for samples without anything beside their place: no stack, no registers, no group that is read.
 *
 * A count is of one half of the table, in which the period of an event is one: it is redrawn just
 * before the halves change places. A change of period costs half a period of time
 * (collect/period.h), for which one of the samples of the next half stands besides, any of them;
 * where the CPU was idle for a part of that half, with the probability that it was not.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/number_map.h"
#include "base/random.h"
#include "bpf/sample_table.h"

struct error;
struct share;

/* Who a context's number stands for. */
struct counted_context {
	struct sample_table_context_key key;
	uint64_t start_ns; /* of the process, as its other records have it */
	struct share *share;
	char *cgroup, *thread; /* "" when there is none */
	bool kernel;	       /* a kernel thread */
	bool followed;
	bool kept;		   /* by what it maps */
	uint32_t id, dictionaries; /* in the session's profile, of that number; id 0: none yet */
};

struct counted_news {
	struct sample_table_image_key image_key;
	struct sample_table_image image; /* number 0: it is of a context */
	struct sample_table_context_key context_key;
	struct sample_table_context context;
};

/* Of a lane: what a sample in the half that is written now stands for. */
struct counted_half {
	uint64_t period, owed; /* once, with all samples of the half */
	/* Of the half that was collected: */
	uint64_t samples, collected_period, collected_owed;
	uint64_t chosen; /* how many of them come before the one that pays; UINT64_MAX: none does */
	uint64_t lost; /* in the table, so far */
};

/* What numbers stand for. */
struct counted_numbers {
	struct number_map files;    /* of images by their numbers: the file's number */
	struct number_map contexts; /* struct counted_context by its number */
	struct number_map programs; /* by pid: how often it had called exec, plus one */
};

struct kernel_counts {
	struct sample_table *table; /* NULL: samples come through rings */
	/* The table gives numbers anew now and then: `former` are those before the last time. */
	struct counted_numbers numbers, former;
	struct sample_table_count *counts;
	size_t count, capacity;
	struct counted_news *news;
	size_t news_count, news_capacity;
	struct counted_half *halves; /* as counters.lanes */
	uint32_t *slots;	     /* by CPU: its slot plus one; 0: it is not watched */
	struct random_state random;
	uint64_t collected_ns;	     /* when the halves last changed places */
	uint64_t half_ns;	     /* how long the collected half was written; 0: not known */
	uint64_t entries;	     /* that were taken and added, so far */
};

/* Loads the table, for contexts as `identity` (enum collect_identity) and `follow` need them. 0 or a
 * negative errno with *err. */
int kernel_counts_open(struct kernel_counts *counts, unsigned identity, bool follow,
		       struct error *err);
/* After the counters are released. Also right for a zeroed one. */
void kernel_counts_release(struct kernel_counts *counts);

/* Whether a second has passed since the last time, or the table gets full; or a tenth of one where
 * a file was sampled that is new here: its process may be gone before long, and the file with it.
 */
bool kernel_counts_due(const struct kernel_counts *counts, uint64_t now_ns);
/* Fills counts and news with what was counted since the last time. 0 or a negative errno. */
int kernel_counts_take(struct kernel_counts *counts);
void counted_context_free(struct counted_context *context); /* NULL does nothing */
/* To be called when what was taken has been added: forgets numbers that cannot come any more. */
void kernel_counts_renew(struct kernel_counts *counts);
/* Look a number up; NULL, or 0: nothing is known of it. */
struct counted_context *kernel_counts_context(const struct kernel_counts *counts, uint32_t number);
uint32_t kernel_counts_file(const struct kernel_counts *counts, uint32_t image);
/* How often the process had called exec, plus one; 0: not known. */
uint64_t kernel_counts_program(const struct kernel_counts *counts, uint32_t pid);

/* Marks the files that numbers of images stand for: in_use[file]. */
void kernel_counts_mark_files(const struct kernel_counts *counts, bool *in_use);
