/*
 * gzip - bytes on their way to a sink, packed. The same bytes give the same
 * file: it holds neither a name nor a time.
 */
#pragma once

#include <zlib.h>

#include "base/buffer.h"

struct sink;

struct gzip {
	z_stream stream;
	struct sink *sink;
	struct buffer plain; /* what is appended here is packed by and by */
};

int gzip_init(struct gzip *gzip, struct sink *sink); /* 0 or -ENOMEM */
void gzip_release(struct gzip *gzip);		     /* for CLEANUP() */
/* Between two records. 0, -ENOMEM, or what the sink failed with. */
int gzip_flush_some(struct gzip *gzip);
/* The end. Likewise. */
int gzip_finish(struct gzip *gzip);
