/*
 * descendants - the processes below others, as /proc tells at one moment. One whose
 * parent has ended belongs to whoever took it in and is below nobody any more.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collect/proc_ask.h"
#include "collect/proc_stat.h"
#include "image/process_table.h" /* PROCESS_COMM_SIZE */

struct descendant {
	pid_t pid;
	pid_t parent;
	bool root;	/* one of those that were asked for */
	bool below;	/* below one of them */
	uint64_t start; /* since boot: tells a number that is used again */
	/* Its own CPU time, and that of children it waited for. In 1/USER_HZ. */
	uint64_t ticks, waited_ticks;
	uint64_t user_ticks, waited_user_ticks; /* of these, in user code */
	char comm[PROCESS_COMM_SIZE];
};

struct descendants {
	struct descendant *list; /* of all processes, by pid */
	size_t count, capacity;
	bool incomplete; /* one of those that count did not say what it used */
};

void descendants_release(struct descendants *descendants); /* also right for a zeroed one */
/* Who is below alone: no times, which they can keep us waiting for. Fails as that below. */
int descendants_list(struct descendants *descendants, const pid_t *roots, size_t root_count,
		     const struct helper_watch *watch);
/*
 * 0, -ENOMEM, why /proc cannot be read, or what ask->watch said. Times, names and start are those
 * of who is asked for or below, and of who was so `before` (NULL: nothing was) or is below such a
 * one; the others have none. They come by `ask`.
 */
int descendants_read(struct descendants *descendants, const pid_t *roots, size_t root_count,
		     const struct descendants *before, const struct proc_ask *ask);
/* The parts of descendants_read(): one process, with what it used; when all are there, who is below
 * whom. */
int descendants_add(struct descendants *descendants, const struct proc_stat *stat);
void descendants_order(struct descendants *descendants, const pid_t *roots, size_t root_count);
const struct descendant *descendants_find(const struct descendants *descendants, pid_t pid);

/* What those asked for and those below them did between two readings. */
struct descendants_use {
	size_t processes;	   /* below, that ran already at the first reading */
	uint64_t root_ticks;	   /* CPU time of those asked for */
	uint64_t below_ticks;	   /* of those below that ran already, and what they started */
	struct descendant busiest; /* of those that ran already; pid 0: none ran */
	uint64_t busiest_ticks;
};
struct descendants_use descendants_compare(const struct descendants *before,
					   const struct descendants *after);
/* One sentence when those below did most of the work, unsampled; else "". */
void descendants_describe(const struct descendants_use *use, uint64_t samples,
			  uint64_t ticks_per_second, char *text, size_t size);

/*
 * CPU time between two readings of those that were asked for, of what they started
 * meanwhile and, with `children`, of those that were below already. False when it
 * cannot be told: one asked for has ended; or one of those below, which was not to
 * count, was waited for, and all the time of its life is in its parent's line.
 */
struct descendants_time {
	uint64_t user_ticks, system_ticks;
};
bool descendants_watched(const struct descendants *before, const struct descendants *after,
			 bool children, struct descendants_time *time);
