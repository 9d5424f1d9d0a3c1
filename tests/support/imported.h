/*
 * imported - texts read by an importer in pieces of any size, and the profile that they make, as
 * text that a test can compare.
 */
#pragma once

#include <stddef.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/span.h"
#include "import/importer.h"
#include "profile/profile.h"

/* For import_options.say: appends "warning: ..." and "note: ..." lines to `messages`, a struct
 * buffer or NULL. */
void imported_say(void *messages, enum import_remark kind, const char *sentence);

/* Reads `text` in pieces of `piece` bytes, each freed after its call. Returns what the importer
 * returned. */
int imported(const struct importer *format, struct span text, size_t piece,
	     const struct import_options *options, struct profile **out, struct error *err);

/*
 * The rows of "stack", sorted, each "EVENT [COMM PID TID] IMAGE!NAME|IMAGE!NAME SAMPLES ESTIMATE";
 * image, PID and TID only where they are known, 0xADDRESS for a name that is not; '-' for samples
 * of an event that has none of its own. The caller releases the buffer.
 */
void imported_stacks(const struct profile *profile, struct buffer *out);
/* The same of the rows of "flat", whose stacks are one frame. */
void imported_leaves(const struct profile *profile, struct buffer *out);
