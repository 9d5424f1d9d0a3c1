#include "collect/gather_private.h"

#include <errno.h>
#include <sched.h>

#include "collect/session.h"

/* What is gathered in each round, of strangers' files and of ours for strangers. */
static const unsigned parts[] = { GATHER_FUNCTIONS | GATHER_CODE, GATHER_LINES, GATHER_FLOW };
#define ROUNDS (sizeof(parts) / sizeof(parts[0]))

/* The rounds of the jobs that strangers pay for, in one lane. */
struct rounds {
	bool guests; /* jobs of trusted files, else of strangers' */
	size_t next; /* round: index of `parts` */
};

struct turns {
	struct gathering *gathering;
	struct job *jobs;
	size_t count;
	unsigned all;	  /* parts that are gathered: set of GATHER_* */
	size_t next_own;  /* job to look at: trusted, read by a process */
	size_t next_here; /* job to look at: read by ourselves */
	struct rounds guests, strange;
};

static bool takes_part(const struct rounds *rounds, const struct job *job)
{
	return job->share->strange && job->guest == rounds->guests;
}

/* Of the jobs that are not done one of the user who took the least time so far: that with the most
 * addresses. */
static struct job *next_job(const struct turns *turns, const struct rounds *rounds)
{
	struct job *best = NULL;
	for (size_t i = 0; i < turns->count; i++) {
		struct job *job = &turns->jobs[i];
		if (job->done || !takes_part(rounds, job))
			continue;
		uint64_t left_ns = job->share->left_ns[job_purpose(job)];
		uint64_t best_ns = best ? best->share->left_ns[job_purpose(best)] : 0;
		if (!best || left_ns > best_ns || (left_ns == best_ns && job->count > best->count))
			best = job;
	}
	return best;
}

/* The next one, and whether it may have all the time that its share still has. */
static struct job *take_next_job(const struct turns *turns, const struct rounds *rounds)
{
	struct job *next = next_job(turns, rounds);
	size_t others = 0;
	for (size_t i = 0; next && i < turns->count; i++) {
		const struct job *job = &turns->jobs[i];
		others += !job->done && job != next && job->share == next->share &&
			  takes_part(rounds, job);
	}
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

static void begin_round(struct turns *turns, struct rounds *rounds)
{
	unsigned what = parts[rounds->next] & turns->all;
	for (size_t i = 0; i < turns->count; i++) {
		struct job *job = &turns->jobs[i];
		if (takes_part(rounds, job))
			job->done = job->left_out || !what || !job->count ||
				    (rounds->next && !may_have(job, what));
	}
	rounds->next++;
}

static struct job *next_in_rounds(struct turns *turns, struct rounds *rounds)
{
	struct job *job = rounds->next ? take_next_job(turns, rounds) : NULL;
	while (!job && rounds->next < ROUNDS) {
		begin_round(turns, rounds);
		job = take_next_job(turns, rounds);
	}
	return job;
}

/* The next trusted job from *at on, which moves past it; `here`: one that we do ourselves. NULL:
 * none.
 */
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

/* Begins jobs until a process reads a file, or none is left. 0 or -ENOMEM. */
static int begin_in_rounds(struct turns *turns, struct rounds *rounds, enum reader_lane lane)
{
	struct job *job;
	int ret = 0;
	while (ret == 0 && is_free(turns, lane) && (job = next_in_rounds(turns, rounds)))
		ret = job_begin(turns->gathering, job, parts[rounds->next - 1] & turns->all);
	return ret < 0 ? ret : 0;
}

/* The same for trusted files, then for what strangers alone ask of them. */
static int begin_own(struct turns *turns)
{
	struct job *job;
	int ret = 0;
	while (ret == 0 && is_free(turns, READER_OWN) &&
	       (job = next_trusted(turns, false, &turns->next_own)))
		ret = job_begin(turns->gathering, job, turns->all);
	return ret < 0 ? ret : begin_in_rounds(turns, &turns->guests, READER_OWN);
}

/* Ends a job whose file has been read. 0 or -ENOMEM; 1: no file is being read or, with READER_LOOK,
 * none is ready. */
static int end_one(struct turns *turns, enum reader_patience patience)
{
	struct reader *reader = turns->gathering->session->reader;
	int lane = reader ? reader_await(reader, patience) : READER_LANES;
	if (lane < 0 || lane == READER_LANES)
		return 1;
	return job_end(turns->gathering, (enum reader_lane)lane);
}

/* Whether both processes read at the same time. On one CPU they would take each other's time, for
 * which strangers pay. */
static bool goes_side_by_side(void)
{
	cpu_set_t cpus;
	return sched_getaffinity(0, sizeof(cpus), &cpus) != 0 || CPU_COUNT(&cpus) > 1;
}

/* What we read ourselves comes while the first trusted file is being read, and not while a
 * stranger's is: nobody would watch its process meanwhile. */
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
		gather_forget_kernel(turns->gathering);
		if (ret == 0 && (side_by_side || is_free(turns, READER_OWN)))
			ret = begin_in_rounds(turns, &turns->strange, READER_STRANGE);
		if (ret == 0)
			ret = end_one(turns, READER_WAIT);
		if (ret != 0)
			return ret < 0 ? ret : 0;
	}
}

int gather_in_turns(struct gathering *gathering, struct job *jobs, size_t count)
{
	bool names_only = gathering->redact || gathering->session->options->names_only;
	struct turns turns = { .gathering = gathering,
			       .jobs = jobs,
			       .count = count,
			       .guests = { .guests = true },
			       .all = names_only ? GATHER_FUNCTIONS : GATHER_ALL };
	int ret = take_turns(&turns, goes_side_by_side());
	/* When memory ran out files may still be being read. */
	while (ret < 0 && end_one(&turns, READER_WAIT) != 1)
		;
	return ret;
}
