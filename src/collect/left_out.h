/*
 * left_out - what gathering had no time or memory for, or could not open, file by file: it goes
 * into the bill, and a sentence for each reason is said.
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
	LEFT_OUT_BUSY, /* who opens files came to it in no time; nothing is the file's fault */
	LEFT_OUT_SIZE, /* it is larger than what is read, or copied where it has to be */
	LEFT_OUT_REASONS,
};

enum left_out_part { LEFT_OUT_NAMES, LEFT_OUT_CODE, LEFT_OUT_FLOW, LEFT_OUT_LINES, LEFT_OUT_PARTS };

#define LEFT_OUT_NAMED 64u /* files in the bill; the others are counted */

struct left_out {
	struct left_out_file {
		char *path;
		uint32_t user;
		bool strange; /* the user is; more can be asked for */
		enum left_out_why why;
		enum left_out_part part; /* the first of those that are missing */
	} files[LEFT_OUT_NAMED];
	size_t named;
	uint64_t counts[LEFT_OUT_REASONS][LEFT_OUT_PARTS];
};

void left_out_release(struct left_out *left_out);
/* One file of the share's user, with what comes after `part` missing too. Without memory it has no
 * name. */
void left_out_add(struct left_out *left_out, const char *path, const struct share *share,
		  enum left_out_why why, enum left_out_part part);
/* From the error of a reader's request: to open it, or what is done once it is open. False: such is
 * no matter of limits. */
enum left_out_step { LEFT_OUT_OPENING, LEFT_OUT_READING };
bool left_out_reason(int code, enum left_out_step step, enum left_out_why *why);
/* BILL_LEFT_OUT_PREFIX's items. 0 or -ENOMEM. */
int left_out_write(const struct left_out *left_out, bool redact, struct profile *profile);
/* One sentence about a reason, "" when nothing was left out for it. */
void left_out_tell(const struct left_out *left_out, enum left_out_why why, char *text, size_t size);
