#include "daemon/upkeep.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"

#define OTHERS_BYTES 96 /* of the sentence about other troubles */

static void note(void *context, const char *sentence)
{
	struct upkeep *upkeep = context;
	if (upkeep->troubles++ == 0)
		snprintf(upkeep->trouble, sizeof(upkeep->trouble), "%.*s",
			 (int)(sizeof(upkeep->trouble) - OTHERS_BYTES), sentence);
}

/* That there were others than the first. */
static void end_notes(struct upkeep *upkeep)
{
	size_t length = strlen(upkeep->trouble);
	if (upkeep->troubles > 1)
		snprintf(upkeep->trouble + length, sizeof(upkeep->trouble) - length,
			 "; and %" PRIu64
			 " more, which 'culprit db prune' and 'culprit db compact' "
			 "name",
			 upkeep->troubles - 1);
}

static bool is_stopped(void *context)
{
	struct upkeep *upkeep = context;
	return atomic_load(&upkeep->stop);
}

/* Compaction comes first: what is one epoch then takes less, so that fewer go for want of room. */
static void *run(void *context)
{
	struct upkeep *upkeep = context;
	struct error err = { 0 };
	const struct database_compaction compaction = {
		.older_than_ns = DATABASE_COMPACT_AGE_NS,
		.note = note,
		.stop = is_stopped,
		.context = upkeep,
	};
	const struct database_retention retention = {
		.older_than_ns = upkeep->older_than_ns,
		.most_bytes = upkeep->most_bytes,
		.grace_ns = DATABASE_PACK_GRACE_NS,
		.note = note,
		.stop = is_stopped,
		.context = upkeep,
	};
	if (database_compact(upkeep->database, &compaction, &upkeep->compacted, &err) < 0)
		note(upkeep, err.text);
	if (database_prune(upkeep->database, &retention, &upkeep->pruned, &err) < 0)
		note(upkeep, err.text);
	end_notes(upkeep);
	atomic_store(&upkeep->over, true);
	return NULL;
}

bool upkeep_begin(struct upkeep *upkeep)
{
	if (upkeep->running)
		return true;
	upkeep->trouble[0] = 0;
	upkeep->troubles = 0;
	upkeep->pruned = (struct database_pruned){ 0 };
	upkeep->compacted = (struct database_compacted){ 0 };
	atomic_store(&upkeep->over, false);
	upkeep->running = pthread_create(&upkeep->thread, NULL, run, upkeep) == 0;
	return upkeep->running;
}

bool upkeep_end(struct upkeep *upkeep)
{
	if (!upkeep->running || !atomic_load(&upkeep->over))
		return false;
	pthread_join(upkeep->thread, NULL);
	upkeep->running = false;
	return true;
}

void upkeep_release(struct upkeep *upkeep)
{
	atomic_store(&upkeep->stop, true);
	if (upkeep->running)
		pthread_join(upkeep->thread, NULL);
	upkeep->running = false;
}
