#include "collect/urgency.h"

#include "base/clock.h"
#include "symbol/reader.h"

#define PATIENCE_NS UINT64_C(20000000) /* of waiting for a CPU, all processes together */
#define LOOK_NS	    UINT64_C(10000000) /* between readings of the waits, which cost some 50 us */
#define WATCH_NS    UINT64_C(500000000)
#define RAISED_NS   UINT64_C(2000000000) /* for which the priority is raised at most */

/* How long this process and the helpers have waited for a CPU. HASTE_UNKNOWN: the kernel does not
 * say. */
static uint64_t waited_ns(const struct reader *reader)
{
	uint64_t own_ns = haste_waited_ns(0);
	uint64_t helpers_ns = reader ? reader_waited_ns(reader) : 0;
	return own_ns == HASTE_UNKNOWN || helpers_ns == HASTE_UNKNOWN ? HASTE_UNKNOWN
								      : own_ns + helpers_ns;
}

void urgency_watch(struct urgency *urgency)
{
	uint64_t now_ns = clock_monotonic_ns();
	if (now_ns - urgency->watched.at_ns < WATCH_NS)
		return;
	urgency->before = urgency->watched;
	urgency->watched = (struct urgency_mark){ now_ns, haste_waited_ns(0) };
}

static void lower(struct urgency *urgency, struct reader *reader)
{
	urgency->raised_ns = 0;
	haste_restore(0, &urgency->usual);
	if (reader)
		reader_set_hasty(reader, HELPER_AS_USUAL);
}

/* Where the kernel does not say how long was waited, all time that passed counts. */
static bool was_kept_waiting(struct urgency *urgency, uint64_t now_ns, const struct reader *reader)
{
	uint64_t waited = waited_ns(reader);
	if (waited == HASTE_UNKNOWN || urgency->waited_ns == HASTE_UNKNOWN)
		return now_ns - urgency->since_ns > PATIENCE_NS;
	if (waited < urgency->waited_ns) /* a helper was started anew, and counts from 0 */
		urgency->waited_ns = waited;
	return waited - urgency->waited_ns > PATIENCE_NS;
}

static void raise(struct urgency *urgency, struct reader *reader)
{
	urgency->raised_ns = clock_monotonic_ns();
	if (!haste_raise_for(RAISED_NS, &urgency->usual))
		urgency->spent = true; /* not allowed, and not for helpers either */
	else if (reader)
		reader_set_hasty(reader, HELPER_HASTY);
}

void urgency_begin(struct urgency *urgency, struct reader *reader)
{
	if (urgency->urgent)
		return;
	/* The mark before the last may be hours old, where urgency_watch() was not called. */
	uint64_t begin_ns = clock_monotonic_ns();
	uint64_t own_ns = haste_waited_ns(0);
	const struct urgency_mark *mark = begin_ns - urgency->before.at_ns < 3 * WATCH_NS
						  ? &urgency->before
						  : &urgency->watched;
	bool waited = mark->at_ns && own_ns != HASTE_UNKNOWN && mark->waited_ns != HASTE_UNKNOWN &&
		      own_ns - mark->waited_ns > PATIENCE_NS;
	*urgency = (struct urgency){ .urgent = true,
				     .since_ns = begin_ns,
				     .waited_ns = waited_ns(reader) };
	if (waited)
		raise(urgency, reader);
}

void urgency_look(struct urgency *urgency, struct reader *reader)
{
	if (!urgency->urgent || urgency->spent)
		return;
	uint64_t now_ns = clock_monotonic_ns();
	if (now_ns - urgency->looked_ns < LOOK_NS)
		return;
	urgency->looked_ns = now_ns;
	if (urgency->raised_ns) {
		urgency->spent = now_ns - urgency->raised_ns > RAISED_NS;
		if (urgency->spent)
			lower(urgency, reader);
		return;
	}
	if (was_kept_waiting(urgency, now_ns, reader))
		raise(urgency, reader);
}

void urgency_end(struct urgency *urgency, struct reader *reader)
{
	if (urgency->raised_ns)
		lower(urgency, reader);
	urgency->urgent = false;
}
