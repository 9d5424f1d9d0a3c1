#include "collect/left_out.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collect/shares.h"
#include "profile/bill.h"
#include "profile/profile.h"

#define TOLD_FILES 3u

static const char *const reasons[LEFT_OUT_REASONS] = { "time",	     "memory", "asked", "failed",
						       "unanswered", "busy",   "size" };
static const char *const parts[LEFT_OUT_PARTS] = { "names", "code", "flow", "lines" };

void left_out_release(struct left_out *left_out)
{
	for (size_t i = 0; i < left_out->named; i++)
		free(left_out->files[i].path);
	*left_out = (struct left_out){ 0 };
}

void left_out_add(struct left_out *left_out, const char *path, const struct share *share,
		  enum left_out_why why, enum left_out_part part)
{
	left_out->counts[why][part]++;
	char *copy = left_out->named < LEFT_OUT_NAMED ? strdup(path) : NULL;
	if (copy)
		left_out->files[left_out->named++] =
			(struct left_out_file){ copy, share->user, share->strange, why, part };
}

bool left_out_reason(int code, enum left_out_step step, enum left_out_why *why)
{
	bool opening = step == LEFT_OUT_OPENING;
	switch (code) {
	case -EDQUOT:
		*why = LEFT_OUT_TIME;
		return true;
	case -ETIMEDOUT:
		*why = opening ? LEFT_OUT_UNANSWERED : LEFT_OUT_TIME;
		return true;
	case -ENOBUFS:
	case -ENOMEM: /* the helper's */
		*why = LEFT_OUT_MEMORY;
		return true;
	case -EFBIG:
		*why = opening ? LEFT_OUT_SIZE : LEFT_OUT_MEMORY;
		return true;
	case -EBUSY:
		*why = LEFT_OUT_BUSY;
		return opening;
	case -ECANCELED:
		*why = LEFT_OUT_ASKED;
		return true;
	case -EIO:
		*why = LEFT_OUT_FAILED;
		return true;
	default:
		return false;
	}
}

int left_out_write(const struct left_out *left_out, bool redact, struct profile *profile)
{
	int ret = 0;
	for (int why = 0; why < LEFT_OUT_REASONS; why++)
		for (int part = 0; part < LEFT_OUT_PARTS && ret == 0; part++) {
			char item[64];
			if (!left_out->counts[why][part])
				continue;
			snprintf(item, sizeof(item), BILL_LEFT_OUT_PREFIX "%s_%s", parts[part],
				 reasons[why]);
			ret = profile_add_bill(profile, 0, OPTIONAL_ABSENT, item,
					       left_out->counts[why][part]);
		}
	for (size_t i = 0; i < left_out->named && ret == 0 && !redact; i++) {
		char item[4200];
		snprintf(item, sizeof(item), BILL_LEFT_OUT_FILE_PREFIX "%s",
			 left_out->files[i].path);
		ret = profile_add_bill(profile, 0, OPTIONAL_ABSENT, item, 1);
	}
	return ret;
}

__attribute__((format(printf, 4, 5))) static void append(char *text, size_t size, size_t *length,
							 const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	int more = vsnprintf(text + *length, size - *length, format, arguments);
	va_end(arguments);
	if (more > 0)
		*length = *length + (size_t)more < size ? *length + (size_t)more : size - 1;
}

/* With the user who pays for it, if that is a stranger: all who are trusted have one share. */
static void append_file(char *text, size_t size, size_t *length, const struct left_out_file *file)
{
	append(text, size, length, "'%s'", file->path);
	if (file->strange && file->user != SHARE_USER_UNKNOWN)
		append(text, size, length, " of user %" PRIu32, file->user);
}

void left_out_tell(const struct left_out *left_out, enum left_out_why why, char *text, size_t size)
{
	static const char *const causes[LEFT_OUT_REASONS] = {
		[LEFT_OUT_TIME] = "reading them takes longer than such a file, or its user's, may",
		[LEFT_OUT_MEMORY] = "reading them takes more memory than such a file may",
		[LEFT_OUT_ASKED] = "we were asked to end",
		[LEFT_OUT_FAILED] = "what read them died of it",
		[LEFT_OUT_UNANSWERED] = "their file systems did not answer in time",
		[LEFT_OUT_BUSY] = "the process that opens files did not come to it in time",
		[LEFT_OUT_SIZE] = "they are larger than what is opened, or copied where it must be",
	};
	static const char *const cures[LEFT_OUT_REASONS] = {
		[LEFT_OUT_TIME] = "; --gather-limits gives them more",
		[LEFT_OUT_MEMORY] = "; --gather-limits=none gives them more",
		[LEFT_OUT_ASKED] = "",
		[LEFT_OUT_FAILED] = "",
		[LEFT_OUT_UNANSWERED] = "",
		[LEFT_OUT_BUSY] = "",
		[LEFT_OUT_SIZE] = "",
	};
	const uint64_t *counts = left_out->counts[why];
	size_t length = 0;
	text[0] = 0;
	for (int part = 0; part < LEFT_OUT_PARTS; part++)
		if (counts[part])
			append(text, size, &length, "%s%s of %" PRIu64 " file%s",
			       length ? ", " : "", parts[part], counts[part],
			       counts[part] == 1 ? "" : "s");
	if (!length)
		return;
	append(text, size, &length, " left out, for %s", causes[why]);
	size_t told = 0;
	bool strange = false;
	for (size_t i = 0; i < left_out->named && told < TOLD_FILES; i++) {
		if (left_out->files[i].why != why)
			continue;
		append(text, size, &length, "%s", told++ ? ", " : ": ");
		append_file(text, size, &length, &left_out->files[i]);
	}
	for (size_t i = 0; i < left_out->named; i++)
		strange |= left_out->files[i].why == why && left_out->files[i].strange;
	append(text, size, &length, "%s", strange ? cures[why] : "");
}
