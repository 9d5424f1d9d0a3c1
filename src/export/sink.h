/*
 * sink - where an export goes, piece by piece, so that it is never in memory as
 * a whole. Bytes are appended to `buffer`; sink_flush_some() passes them on when
 * enough are there.
 *
 * After the first failure nothing is passed on any more; a writer may go on and
 * ask sink_finish() once. One thread at a time.
 */
#pragma once

#include <stddef.h>

#include "base/buffer.h"

/* Takes `size` bytes. 0 or a negative errno. */
typedef int (*sink_write)(void *context, const void *bytes, size_t size);

struct sink {
	struct buffer buffer;
	sink_write write;
	void *context;
	int status; /* the first failure of `write` */
};

void sink_init(struct sink *sink, sink_write write, void *context);
void sink_release(struct sink *sink); /* for CLEANUP() */
/* Between two records. Returns 0 or the first failure, -ENOMEM of the buffer too. */
int sink_flush_some(struct sink *sink);
/* All that is left. Likewise. */
int sink_finish(struct sink *sink);
