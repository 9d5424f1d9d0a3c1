/*
 * descendants - the processes below others (their children, children's children and so on),
 * by /proc at one moment. A process whose parent has ended was adopted by another and is
 * below none of its former ancestors any more.
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
	bool root;	/* one of the `roots` given to descendants_read() or _list() */
	bool below;	/* below one of them */
	uint64_t start; /* since boot, in 1/USER_HZ: differs where a number is used again */
	/* Its own CPU time, and that of children it waited for, in 1/USER_HZ. */
	uint64_t ticks, waited_ticks;
	uint64_t user_ticks, waited_user_ticks; /* of these, in user code */
	char comm[PROCESS_COMM_SIZE];
};

struct descendants {
	struct descendant *list; /* of all processes, by pid */
	size_t count, capacity;
	bool incomplete; /* the times of a root, or of a process below one, could not be read */
};

void descendants_release(struct descendants *descendants); /* also right for a zeroed one */
/* Lists all processes and marks who is below `roots`, without names and times, for which a process
 * can make its readers wait. As descendants_read(). */
int descendants_list(struct descendants *descendants, const pid_t *roots, size_t root_count,
		     const struct helper_watch *watch);
/*
 * As descendants_list(), and reads by `ask` names, start and times of all processes that are roots
 * or below one, or were so `before` (NULL: none were), or are below such a one; the others have
 * none. 0, -ENOMEM, why /proc cannot be read, or what ask->watch returned to end this.
 */
int descendants_read(struct descendants *descendants, const pid_t *roots, size_t root_count,
		     const struct descendants *before, const struct proc_ask *ask);
/* Parts of descendants_read(): adds one process; and, when all are added, sorts them and marks who
 * is below whom. */
int descendants_add(struct descendants *descendants, const struct proc_stat *stat);
void descendants_order(struct descendants *descendants, const pid_t *roots, size_t root_count);
/* The process of that number; NULL: none. */
const struct descendant *descendants_find(const struct descendants *descendants, pid_t pid);

/* What roots and processes below them did between two readings. */
struct descendants_use {
	size_t processes;	   /* below, that existed at the first reading */
	uint64_t root_ticks;	   /* CPU time of the roots, in 1/USER_HZ */
	uint64_t below_ticks;	   /* of those below that existed, and of what they started */
	struct descendant busiest; /* of those that existed; pid 0: none used any */
	uint64_t busiest_ticks;
};
struct descendants_use descendants_compare(const struct descendants *before,
					   const struct descendants *after);
/* Writes a sentence when those below did most of the work, unsampled; else "". */
void descendants_describe(const struct descendants_use *use, uint64_t samples,
			  uint64_t ticks_per_second, char *text, size_t size);

/*
 * Stores the CPU time between two readings of the roots, of what they started meanwhile
 * and, with `children`, of those that were below already; in 1/USER_HZ. False when it is
 * not known: a root has ended; or one of those below, which was not to count, has been
 * waited for, so that all the time of its life is added to its parent's.
 */
struct descendants_time {
	uint64_t user_ticks, system_ticks;
};
bool descendants_watched_time(const struct descendants *before, const struct descendants *after,
			      bool children, struct descendants_time *time);
