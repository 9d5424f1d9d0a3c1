/*
 * sampler_stream - bytes on their way into a descriptor, in a buffer of fixed size.
 *
 * The first failure is kept: what is put afterwards is dropped, for a stream of records with a hole
 * is no stream of records. A reader that leaves a pipe is such a failure (-EPIPE), as is a file
 * that may grow no more (-EFBIG), and the signals that come of them are not delivered.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;

#define SAMPLER_STREAM_BYTES 65536

struct sampler_stream {
	int fd;	     /* -1: none */
	bool own;    /* closed with the stream */
	int failure; /* negative errno value; 0: none */
	size_t used;
	uint8_t bytes[SAMPLER_STREAM_BYTES];
};

/* The file at `path`, made anew with mode 0600; a link is refused. 0 or a negative errno value. */
int sampler_stream_create(struct sampler_stream *stream, const char *path, struct error *err);
/* A descriptor that stays the caller's. 0 or a negative errno value. */
int sampler_stream_use(struct sampler_stream *stream, int fd, struct error *err);

void sampler_stream_put(struct sampler_stream *stream, const void *bytes, size_t size);
/* Writes what was put. 0 or the failure. */
int sampler_stream_flush(struct sampler_stream *stream);
/* Closes it without writing what was put: flush first. 0 or a negative errno value. */
int sampler_stream_close(struct sampler_stream *stream);
