/*
 * bursts - short stretches of single steps at random times: where branches went and what was
 * executed, without hardware for it. A stretch begins in a thread that was seen to run, after a gap
 * that is drawn at random, so that all stretches together take a given share of the time.
 *
 * What a thread is charged while it is stepped is the stepping's and not the program's: its samples
 * of that time are set aside, and counted.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/random.h"
#include "collect/step.h"
#include "collect/step_path.h"
#include "symbol/helper_process.h"

struct error;
struct profile;
struct stepper;

#define BURSTS_SEEN    64 /* samples that the next thread is chosen from */
#define BURSTS_WINDOWS 64 /* times that samples may still come from */

struct bursts {
	struct stepper *stepper; /* borrowed; NULL: no bursts */
	struct helper decoder;
	struct random_state random;
	double share;	 /* of the time, 0 to 1 */
	double cost_ns;	 /* of a stretch, a moving average */
	uint64_t due_ns; /* when the next one may begin; 0: none does any more */
	int timer_fd;
	bool asked;
	uint64_t asked_ns;
	struct steps *answer; /* taken, and to be added up when all records until its end are */
	bool answered;
	struct step_path *path;
	struct bursts_thread {
		uint32_t pid, tid;
	} seen[BURSTS_SEEN], stepped; /* of the last samples; the one asked for */
	size_t seen_count;
	struct bursts_window {
		uint32_t tid;
		uint64_t begin_ns, end_ns;
	} windows[BURSTS_WINDOWS];
	size_t window_count;
	struct profile *found; /* edges and runs, by ids of the session's profile */

	uint64_t started; /* with at least one step */
	uint64_t steps, ns;
	uint64_t ends[STEP_ENDS];
	uint64_t billed_started, billed_steps, billed_ns, billed_ends[STEP_ENDS];
	int refusal; /* negative errno of the first refused one */
	uint32_t refused_tid;
	unsigned failures; /* of the decoder: each costs a stretch */
};

/* share_percent of the time; `watch` (NULL: nobody) ends what is waited for. 0 or negative errno
 * with *err. */
int bursts_init(struct bursts *bursts, struct stepper *stepper, double share_percent,
		const struct helper_watch *watch, struct error *err);
void bursts_release(struct bursts *bursts); /* also right for a zeroed one */
/* Two descriptors that poll readable when there is something to do for bursts_receive() or
 * bursts_begin(); none: false. */
bool bursts_fds(const struct bursts *bursts, int fds[2]);
int bursts_start(struct bursts *bursts);
void bursts_stop(struct bursts *bursts); /* no new one begins */

/* Samples from before `limit_ns` may be handled; a lower limit while one's window is not known yet.
 */
uint64_t bursts_limit(const struct bursts *bursts, uint64_t limit_ns);
/* The end of a stretch that has to be added up before later records are handled; or limit_ns. */
uint64_t bursts_answer_end(const struct bursts *bursts, uint64_t limit_ns);
/* Whether the thread was being stepped then. */
bool bursts_was_stepped(const struct bursts *bursts, uint32_t tid, uint64_t time_ns);
/* A sample of the thread was taken. */
void bursts_note_sample(struct bursts *bursts, uint32_t pid, uint32_t tid);

/* Takes an answer; before the rings are emptied. */
void bursts_receive(struct bursts *bursts);
/* Asks for the next stretch when it is due; after burst_evidence_add(), which makes room for its
 * steps. */
void bursts_begin(struct bursts *bursts);
/* One sentence about what came of it; true when it is a warning. Empty: nothing to say. */
bool bursts_describe(const struct bursts *bursts, char *text, size_t size);
