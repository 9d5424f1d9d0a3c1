#include <stdlib.h>

#include "base/cleanup.h"
#include "collect/tally.h"

static const char *place_fault(const struct tally *tally, const struct tally_place *place)
{
	const struct profile *session = tally->session;
	if (place->event > profile_table(session, PROFILE_EVENT)->count ||
	    place->context > profile_table(session, PROFILE_CONTEXT)->count ||
	    place->image > profile_table(session, PROFILE_IMAGE)->count)
		return "a place is of an event, a context or an image that is not there";
	if (place->calls > tally->cells.node_count)
		return "a place has callers that are not there";
	/* the index may have been freed by tally_close() */
	if (tally->index.capacity && !tally_knows(tally, place))
		return "a place is not found";
	return NULL;
}

/* Every place with something in its cell is in the list of those that changed, once. */
static const char *changed_fault(const struct tally *tally)
{
	CLEANUP(free_pointer) bool *seen = calloc(tally->count + 1, sizeof(*seen));
	if (!seen)
		return "out of memory";
	for (size_t i = 0; i < tally->changed_count; i++) {
		uint32_t number = tally->changed[i];
		if (number >= tally->count)
			return "a place that changed is not there";
		if (seen[number])
			return "a place that changed is listed twice";
		seen[number] = true;
	}
	for (size_t i = 0; i < tally->count; i++)
		if (seen[i] == cell_is_empty(&tally->places[i].cell))
			return "what changed and what has something to hand out are not the same";
	return NULL;
}

const char *tally_fault(const struct tally *tally)
{
	if (tally->index.capacity && tally->index.used != tally->count)
		return "the index has more or fewer places than there are";
	for (size_t i = 0; i < tally->count; i++) {
		const char *fault = place_fault(tally, &tally->places[i]);
		if (fault)
			return fault;
	}
	return changed_fault(tally);
}
