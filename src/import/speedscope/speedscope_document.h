/*
 * speedscope_document - the JSON of a speedscope file but for its samples and events: its
 * frames, and where in the file the parts of its profiles are. Members of objects come in
 * any order, so the file's bytes are kept and read more than once; there is never a tree
 * of them. One thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/json_read.h"
#include "base/span.h"
#include "import/speedscope/speedscope_number.h"

struct error;
struct profile;

/* One of the file's profiles: where its parts are. */
struct speedscope_part {
	uint32_t name; /* in the byte pool, or 0 */
	bool evented;
	uint64_t ns;			 /* of its unit, for a time */
	bool bytes;			 /* its unit */
	struct decimal end;		 /* endValue */
	size_t samples, weights, events; /* positions; 0: not there */
};

struct speedscope_document {	 /* begins as zero, but for `profile` and `file` */
	struct profile *profile; /* borrowed: names go to its byte pool */
	struct buffer file;	 /* all of its bytes */
	struct buffer text;	 /* the key or the text that was read last */
	uint32_t *frames;	 /* names in the byte pool */
	size_t frame_count, frame_capacity;
	struct speedscope_part *parts;
	size_t part_count, part_capacity;
	bool ours; /* written by our own export */
};

void speedscope_document_release(struct speedscope_document *document);
/* Fills frames, parts and `ours`. 0, -EBADMSG (then what comes before the fault is there) or
 * -ENOMEM. */
int speedscope_document_read(struct speedscope_document *document, struct error *err);

/* A reader at a position of the file. */
struct json_reader speedscope_at(const struct speedscope_document *document, size_t position);
/* Whether the key or text that was read last is this one. */
static inline bool speedscope_key_is(const struct speedscope_document *document, const char *key)
{
	return span_equal((struct span){ document->text.data, document->text.size },
			  span_of_text(key));
}
/* Fills *err with what is wrong at the reader's position: its own fault, or `what` when it has
 * none. -EBADMSG or -ENOMEM. */
int speedscope_damaged(const struct json_reader *json, struct error *err, const char *what);
