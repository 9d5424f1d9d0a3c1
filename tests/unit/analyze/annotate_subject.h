/*
 * annotate_subject - for tests: a profile with what annotating it takes, named by
 * its stash alone.
 */
#pragma once

#include <stdint.h>

#include "analyze/annotate.h"
#include "analyze/event_column.h"
#include "analyze/resolve.h"
#include "base/buffer.h"
#include "profile/profile.h"

struct annotate_subject {
	struct profile *profile;
	struct resolver *resolver;
	struct event_columns columns;
	struct annotate_index *index;
};

/* Takes the profile over. The index borrows *subject, which so must stay where it is. */
void annotate_subject_init(struct annotate_subject *subject, struct profile *profile);
void annotate_subject_release(struct annotate_subject *subject);

/* Takes the content over. */
void add_record(struct profile *profile, uint32_t image, uint64_t kind, uint64_t first,
		uint64_t last, struct buffer *content);
