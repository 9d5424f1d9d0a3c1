/*
 * upkeep - keeps a daemon's database from growing: old epochs are removed, a day's become one, code
 * that no epoch needs goes (store/database_prune.h, store/database_compact.h). It is done by a
 * thread of its own, since it reads many files; sampling goes on meanwhile.
 *
 * All functions are called by the thread that owns the service.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/database_compact.h"
#include "store/database_prune.h"

struct upkeep {
	/* What the caller fills. */
	const char *database;
	uint64_t older_than_ns; /* epochs that ended longer ago go; 0: none goes for its age */
	uint64_t most_bytes;	/* the oldest go until all fits in; 0: no limit */

	/* What the last one did, once upkeep_end() has returned true. */
	struct database_pruned pruned;
	struct database_compacted compacted;
	char trouble[1024]; /* "": none; the first sentence about what could not be done, and how
			       many others there are */

	/* private */
	pthread_t thread;
	bool running;
	uint64_t troubles;
	atomic_bool over, stop;
};

/* Begins, unless it still does what was begun before. False: no thread can be started, and nothing
 * is done. */
bool upkeep_begin(struct upkeep *upkeep);
/* Whether one that was begun has ended since the last call. */
bool upkeep_end(struct upkeep *upkeep);
/* Ends it after what it does just now, and waits for that. */
void upkeep_release(struct upkeep *upkeep);
