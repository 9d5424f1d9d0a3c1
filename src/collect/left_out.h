/*
 * left_out - files whose names or code gathering had no time or memory for, or could not open: they
 * go into the bill, and the user gets a sentence for each reason.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct profile;
struct share;

enum left_out_why {
	LEFT_OUT_TIME,	 /* its user's, or the file's */
	LEFT_OUT_MEMORY, /* the file's */
	LEFT_OUT_ASKED,	 /* we were asked to end */
	LEFT_OUT_FAILED, /* what parsed it died */
	/* Of what could not be opened: */
	LEFT_OUT_UNANSWERED, /* its file system, or the process, did not answer */
	LEFT_OUT_BUSY, /* the process that opens files did not come to it; not the file's fault */
	LEFT_OUT_SIZE, /* it is larger than what is read, or copied where it has to be */
	LEFT_OUT_REASONS,
};

enum left_out_part { LEFT_OUT_NAMES, LEFT_OUT_CODE, LEFT_OUT_FLOW, LEFT_OUT_LINES, LEFT_OUT_PARTS };

#define LEFT_OUT_NAMED 64u /* files in the bill; the others are counted */

struct left_out {
	struct left_out_file {
		char *path;
		uint32_t user;
		bool strange; /* the user is a stranger, whose limits can be raised */
		enum left_out_why why;
		enum left_out_part part; /* the first of those that are missing */
	} files[LEFT_OUT_NAMED];
	size_t named;
	uint64_t counts[LEFT_OUT_REASONS][LEFT_OUT_PARTS];
};

void left_out_release(struct left_out *left_out);
/* Adds a file that counts for the share, of which `part` and the parts behind it are missing. When
 * memory is short it is counted without its name. */
void left_out_add(struct left_out *left_out, const char *path, const struct share *share,
		  enum left_out_why why, enum left_out_part part);
/* Finds the reason for an error of the reader's, at opening a file or reading what was opened.
 * False: the error has nothing to do with limits. */
enum left_out_step { LEFT_OUT_OPENING, LEFT_OUT_READING };
bool left_out_reason(int code, enum left_out_step step, enum left_out_why *why);
/* Adds the items of BILL_LEFT_OUT_PREFIX to the bill. 0 or -ENOMEM. */
int left_out_write(const struct left_out *left_out, bool redact, struct profile *profile);
/* Writes one sentence about a reason, "" when nothing was left out for it. */
void left_out_tell(const struct left_out *left_out, enum left_out_why why, char *text, size_t size);
