/*
 * sink - passes an export on piece by piece, so that it is never in memory as a
 * whole. Writers append to `buffer`; sink_flush_some() passes the bytes on when
 * there are enough.
 *
 * After the first failure nothing is passed on any more; a writer may go on, and
 * sink_finish() returns the failure. One thread at a time.
 */
#pragma once

#include <stddef.h>

#include "base/buffer.h"

/* Writes all of `size` bytes. 0 or a negative errno. */
typedef int (*sink_write)(void *context, const void *bytes, size_t size);

struct sink {
	struct buffer buffer;
	sink_write write;
	void *context;
	int status; /* the first failure of `write` */
};

void sink_init(struct sink *sink, sink_write write, void *context);
void sink_release(struct sink *sink); /* for CLEANUP() */
/* Called between two records. Returns 0 or the first failure, also -ENOMEM when the buffer failed.
 */
int sink_flush_some(struct sink *sink);
/* Passes on all that is left. Returns likewise. */
int sink_finish(struct sink *sink);
