/*
 * gzip - compresses bytes on their way to a sink. The same bytes give the same file:
 * it holds neither a name nor a time.
 */
#pragma once

#include <zlib.h>

#include "base/buffer.h"

struct sink;

struct gzip {
	z_stream stream;
	struct sink *sink;
	struct buffer plain; /* the writer appends to it; the two below compress and empty it */
};

int gzip_init(struct gzip *gzip, struct sink *sink); /* 0 or -ENOMEM */
void gzip_release(struct gzip *gzip);		     /* for CLEANUP() */
/* Called between two records. 0, -ENOMEM, -EFBIG (a record of 4 GiB), or what the sink failed with.
 */
int gzip_flush_some(struct gzip *gzip);
/* Compresses what is left and ends the file. Returns likewise. */
int gzip_finish(struct gzip *gzip);
