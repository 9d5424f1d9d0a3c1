/*
 * still_used - which files and images something means when an epoch has ended; all others may be
 * forgotten, and their numbers given away.
 *
 * An image is used by the samples and branches of the epoch that ended, by samples that wait for
 * their weight, by code whose names the next epoch need not ask for or has to ask for, and by a
 * process that runs code of its own. A file is used by whoever maps it, by samples that wait to be
 * interpreted, by those of the epoch that ended, by code whose names are owed, and as the jitdump
 * of an image that is used. A path is used while a file has it that is; an image without such a
 * file keeps all that it has.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/number_map.h"

struct session;

struct still_used {
	bool *images;		 /* by number in the session's profile; [0] is nobody's */
	bool *files;		 /* by number in the file table; likewise */
	struct number_map paths; /* private: of images, by the files that are used */
};

/* After all that the epoch had was taken, and before its tally goes. The caller releases *used,
 * also after -ENOMEM; else 0. */
int still_used_find(struct still_used *used, struct session *session);
/* Whether an image has that path still; both by their numbers in the session's profile. */
bool still_used_path(const struct still_used *used, uint32_t image, uint32_t path);
void still_used_release(struct still_used *used); /* also right for a zeroed one */
