/*
 * gather_private - what the files of gathering share: what there is to gather, image by image
 * (gather.c), how that is done for one (gather_job.c), and whose turn it is (gather_turns.c).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "collect/left_out.h"
#include "collect/shares.h"
#include "profile/profile.h"
#include "symbol/kallsyms.h"
#include "symbol/reader.h"
#include "symbol/record.h"

struct file;
struct jit;
struct session;
struct tally_translation;

/* What to gather of an image, and who pays for it. */
struct job {
	uint32_t image; /* in the session's profile */
	enum image_kind kind;
	uint64_t *vaddrs; /* of samples, rising */
	size_t count;
	struct share *share;
	const struct file *file; /* NULL: it is of none */
	const struct jit *jit;	 /* NULL: it is no code made at run time */
	bool done;
	bool left_out; /* something of it */
	bool owed;     /* and it is worth another try in the next epoch */
	bool alone;    /* nothing else that its share pays for is left */
	bool guest; /* the file is trusted, and none but a stranger has samples there, who pays */
};

/* Where a job is done: by one of the reader's processes (enum reader_lane), or by ourselves. */
#define HERE   READER_LANES
#define PLACES (READER_LANES + 1)
unsigned job_place(const struct job *job);

/* The job that is being done in a place. */
struct turn {
	struct job *job; /* NULL: none */
	unsigned what;	 /* that is wanted of it: set of GATHER_* */
	unsigned now;	 /* of that, what there is time for */
	struct record_set records;
	struct share_payment payment;
};

struct gathering {
	struct session *session;
	struct left_out left_out;
	struct turn turns[PLACES];
	struct tally_translation *translation;
	bool redact;
	struct buffer kernel_text;
	struct kallsyms kallsyms;
	bool kallsyms_read;
	const struct jit *refused; /* the first process whose names could not be read */
	size_t refused_count;
	const struct job *jobs_end; /* behind the last of all jobs */
	uint32_t *file_of_image;    /* number in the file table, by image of the session */
};

/* Gathers `what` of the job's image, if its place is free. 1: a process reads its file, and
 * job_end() of that place follows. 0: it is done. Or -ENOMEM. */
int job_begin(struct gathering *gathering, struct job *job, unsigned what);
/* The process of that lane has answered: takes what it read. 0 or -ENOMEM. */
int job_end(struct gathering *gathering, enum reader_lane lane);
/* Releases the kernel's names, some 10 MB, when no more of its images are at hand: a later one has
 * them read again. */
void gather_forget_kernel(struct gathering *gathering);

/* The purpose for which its share pays. */
static inline enum share_purpose job_purpose(const struct job *job)
{
	return job->guest ? SHARE_RUNNING : SHARE_GATHERING;
}

/*
 * Does all jobs. Trusted files come first in the process that reads them, each whole. After them,
 * of the same files, the places in which strangers alone have samples, which have a limit of their
 * own: made-up frames can name every function of the largest library. Strangers' files, read by
 * another process, come in rounds: names and code of all of them, then lines, then flow, for which
 * each of the functions is disassembled; in a round, the next file is that of the user whose files
 * took least so far. 0 or -ENOMEM.
 */
int gather_in_turns(struct gathering *gathering, struct job *jobs, size_t count);
