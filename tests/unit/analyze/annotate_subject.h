/*
 * annotate_subject - for tests: a profile with what annotating it takes, named by
 * its stash alone.
 */
#pragma once

#include <stdint.h>

#include "analyze/code/annotate.h"
#include "analyze/figures/event_column.h"
#include "analyze/names/resolve.h"
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

/*
 * A profile that knows one x86-64 function of an image, from `first` on, and its code; events and
 * samples are added by each test. *image is the image's id.
 */
struct profile *profile_of_code(const char *name, uint64_t first, const uint8_t *code, size_t size,
				uint32_t *image);
/* A function of `size` bytes, of which `code` are known: from its start, or none. */
void add_function(struct profile *profile, uint32_t image, const char *name, uint64_t first,
		  size_t size, struct span code);

/* Takes the content over. */
void add_record(struct profile *profile, uint32_t image, uint64_t kind, uint64_t first,
		uint64_t last, struct buffer *content);

/* As many samples of the instruction, each of which stands for a period. */
void add_samples_of_period(struct profile *profile, uint32_t event, uint32_t image, uint64_t vaddr,
			   uint64_t samples, uint64_t period);
