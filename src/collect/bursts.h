/*
 * bursts - short stretches of single steps at random times, which show where branches went and what
 * was executed without hardware for it. A stretch begins in a thread that was sampled lately, after
 * a gap that is drawn at random, so that all stretches together take a given share of the time.
 *
 * The CPU time of a thread while it is stepped is the stepping's, not the program's: samples of it
 * in that time are counted apart and belong to no place.
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
#define BURSTS_WINDOWS 64 /* stretches whose samples may still come */

struct bursts {
	struct stepper *stepper; /* borrowed; NULL: no bursts */
	struct helper decoder;
	struct random_state random;
	double share;	 /* of the time, 0 to 1 */
	double cost_ns;	 /* of a stretch, a moving average */
	uint64_t due_ns; /* when the next one may begin; 0: none does any more */
	int timer_fd;
	bool asked; /* the stepper is at a stretch */
	uint64_t asked_ns;
	bool answered;	      /* `answer` waits for the records until its end */
	struct steps *answer; /* the last stretch */
	struct step_path *path;
	struct bursts_thread {
		uint32_t pid, tid;
	} seen[BURSTS_SEEN], stepped; /* those of the last samples; that of the last stretch */
	size_t seen_count;	      /* of samples; the next goes to seen_count % BURSTS_SEEN */
	struct bursts_window {
		uint32_t tid;
		uint64_t begin_ns, end_ns;
	} windows[BURSTS_WINDOWS];
	size_t window_count;
	struct profile *found; /* edges and ranges, by ids of the session's profile */

	uint64_t started;   /* with at least one step */
	uint64_t steps, ns; /* of all stretches */
	uint64_t ends[STEP_ENDS];
	uint64_t billed_started, billed_steps, billed_ns, billed_ends[STEP_ENDS];
	int refusal; /* negative errno of the first refused stretch */
	uint32_t refused_tid;
	unsigned failures; /* of decoding: each costs one stretch */
};

/* The stretches are to take `share_percent` of the time; `watch` (NULL: nobody) may end a wait.
 * Both pointers are borrowed. 0, or a negative errno with *err; bursts_release() is due either way.
 */
int bursts_init(struct bursts *bursts, struct stepper *stepper, double share_percent,
		const struct helper_watch *watch, struct error *err);
void bursts_release(struct bursts *bursts); /* also right for a zeroed one */
/* Two descriptors that poll readable when there is something to do for bursts_receive() or
 * bursts_begin(); none: false. */
bool bursts_fds(const struct bursts *bursts, int fds[2]);
/* Sampling begins: draws the first gap. */
void bursts_start(struct bursts *bursts);
/* No new stretch begins any more; waits for the one under way, as long as stretches may take. */
void bursts_stop(struct bursts *bursts);

/* The time up to which samples may be processed: `limit_ns`, or less while a stretch is under way,
 * for a second at most, since it is not known yet which samples are its own. */
uint64_t bursts_limit(const struct bursts *bursts, uint64_t limit_ns);
/* The end of a stretch that has to be added up before later records are processed; or limit_ns. */
uint64_t bursts_answer_end(const struct bursts *bursts, uint64_t limit_ns);
/* Whether the thread was being stepped then. */
bool bursts_was_stepped(const struct bursts *bursts, uint32_t tid, uint64_t time_ns);
/* To be called for each sample of user code: of a thread to choose from. */
void bursts_note_sample(struct bursts *bursts, uint32_t pid, uint32_t tid);

/* Reads what the stepper has sent, without waiting; to be called before the rings are emptied. */
void bursts_receive(struct bursts *bursts);
/* Asks for the next stretch when it is due; after burst_evidence_add(), which makes room for its
 * steps. */
void bursts_begin(struct bursts *bursts);
/* Writes a sentence about all bursts, or ""; true when it is a warning. */
bool bursts_describe(const struct bursts *bursts, char *text, size_t size);
