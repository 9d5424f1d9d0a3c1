#include "collect/gather_private.h"

#include <errno.h>
#include <sched.h>

#include "collect/session.h"

/* What is gathered in each round of strangers' files. */
static const unsigned rounds[] = { GATHER_FUNCTIONS | GATHER_CODE, GATHER_LINES, GATHER_FLOW };
#define ROUNDS (sizeof(rounds) / sizeof(rounds[0]))

struct turns {
	struct gathering *gathering;
	struct job *jobs;
	size_t count;
	unsigned all;	  /* of what is gathered of anything */
	size_t next_own;  /* of what is trusted, and a process reads */
	size_t next_here; /* of what we read ourselves */
	size_t round;	  /* of strangers', the next */
};

/* Of the strangers' jobs that are not done: of whom took the least so far, the one with most
 * samples' places. */
static struct job *next_job(struct job *jobs, size_t count)
{
	struct job *best = NULL;
	for (size_t i = 0; i < count; i++) {
		struct job *job = &jobs[i];
		if (job->done)
			continue;
		uint64_t left_ns = job->share->left_ns[SHARE_GATHERING];
		uint64_t best_ns = best ? best->share->left_ns[SHARE_GATHERING] : 0;
		if (!best || left_ns > best_ns || (left_ns == best_ns && job->count > best->count))
			best = job;
	}
	return best;
}

/* The next one, and whether it may have all the time that its share still has. */
static struct job *take_next_job(struct job *jobs, size_t count)
{
	struct job *next = next_job(jobs, count);
	size_t others = 0;
	for (size_t i = 0; next && i < count; i++)
		others += !jobs[i].done && &jobs[i] != next && jobs[i].share == next->share;
	if (next)
		next->alone = !others;
	return next;
}

/* Whether the image may have more than names and code: lines in its file or one beside it, or flow.
 */
static bool may_have(const struct job *job, unsigned what)
{
	bool identified = job->file && job->file->state == FILE_IDENTIFIED && job->file->identity;
	if (!identified || what != GATHER_LINES)
		return identified;
	return job->file->identity->has_lines || job->file->identity->build_id_bytes ||
	       job->file->identity->debug_link[0];
}

static void begin_round(struct turns *turns)
{
	unsigned what = rounds[turns->round] & turns->all;
	for (size_t i = 0; i < turns->count; i++) {
		struct job *job = &turns->jobs[i];
		job->done = !job->share->strange || job->left_out || !what ||
			    (turns->round && !may_have(job, what));
	}
	turns->round++;
}

static struct job *next_strange(struct turns *turns)
{
	struct job *job = turns->round ? take_next_job(turns->jobs, turns->count) : NULL;
	while (!job && turns->round < ROUNDS) {
		begin_round(turns);
		job = take_next_job(turns->jobs, turns->count);
	}
	return job;
}

/* From *at on, which goes behind it. */
static struct job *next_trusted(const struct turns *turns, bool here, size_t *at)
{
	while (*at < turns->count) {
		struct job *job = &turns->jobs[(*at)++];
		if (!job->share->strange && (job_place(job) == HERE) == here)
			return job;
	}
	return NULL;
}

static bool is_free(const struct turns *turns, enum reader_lane lane)
{
	return !turns->gathering->turns[lane].job;
}

/* Until a file is being read, or none is left. */
static int begin_own(struct turns *turns)
{
	struct job *job;
	int ret = 0;
	while (ret == 0 && is_free(turns, READER_OWN) &&
	       (job = next_trusted(turns, false, &turns->next_own)))
		ret = job_begin(turns->gathering, job, turns->all);
	return ret < 0 ? ret : 0;
}

static int begin_strange(struct turns *turns)
{
	struct job *job;
	int ret = 0;
	while (ret == 0 && is_free(turns, READER_STRANGE) && (job = next_strange(turns)))
		ret = job_begin(turns->gathering, job, rounds[turns->round - 1] & turns->all);
	return ret < 0 ? ret : 0;
}

/* What has been read. 1: nothing is under way; with READER_LOOK also when nothing has been read. */
static int end_one(struct turns *turns, enum reader_patience patience)
{
	struct reader *reader = turns->gathering->session->reader;
	int lane = reader ? reader_await(reader, patience) : READER_LANES;
	if (lane < 0 || lane == READER_LANES)
		return 1;
	return job_end(turns->gathering, (enum reader_lane)lane);
}

/* On one CPU they would only take each other's time, for which strangers pay. */
static bool goes_side_by_side(void)
{
	cpu_set_t cpus;
	return sched_getaffinity(0, sizeof(cpus), &cpus) != 0 || CPU_COUNT(&cpus) > 1;
}

/* What we read ourselves comes while the first file of ours is being read, and not while a
 * stranger's is, for whose process we could not care meanwhile. */
static int take_turns(struct turns *turns, bool side_by_side)
{
	for (;;) {
		int ret = begin_own(turns);
		struct job *here = next_trusted(turns, true, &turns->next_here);
		if (ret == 0 && here) {
			ret = job_begin(turns->gathering, here, turns->all);
			ret = ret < 0 ? ret : end_one(turns, READER_LOOK);
			if (ret < 0)
				return ret;
			continue;
		}
		if (ret == 0 && (side_by_side || is_free(turns, READER_OWN)))
			ret = begin_strange(turns);
		if (ret == 0)
			ret = end_one(turns, READER_WAIT);
		if (ret != 0)
			return ret < 0 ? ret : 0;
	}
}

int gather_in_turns(struct gathering *gathering, struct job *jobs, size_t count)
{
	struct turns turns = { .gathering = gathering,
			       .jobs = jobs,
			       .count = count,
			       .all = gathering->redact ? GATHER_FUNCTIONS : GATHER_ALL };
	int ret = take_turns(&turns, goes_side_by_side());
	/* Where memory ran out something may be under way still. */
	while (ret < 0 && end_one(&turns, READER_WAIT) != 1)
		;
	return ret;
}
