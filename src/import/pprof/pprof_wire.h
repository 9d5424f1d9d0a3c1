/*
 * pprof_wire - the messages of a pprof profile (profile.proto of google/pprof) as
 * they lie in the file: numbers that stand for texts, functions and so on are
 * not looked up. What they return borrows from the bytes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"
#include "base/protobuf.h"
#include "base/span.h"
#include "symbol/record.h"

enum pprof_number { /* fields of Profile */
		    PPROF_SAMPLE_TYPE = 1,
		    PPROF_SAMPLE = 2,
		    PPROF_MAPPING = 3,
		    PPROF_LOCATION = 4,
		    PPROF_FUNCTION = 5,
		    PPROF_STRING = 6,
		    PPROF_DROP_FRAMES = 7,
		    PPROF_KEEP_FRAMES = 8,
		    PPROF_TIME_NANOS = 9,
		    PPROF_DURATION_NANOS = 10,
		    PPROF_PERIOD_TYPE = 11,
		    PPROF_PERIOD = 12,
		    PPROF_COMMENT = 13,
		    PPROF_DEFAULT_SAMPLE_TYPE = 14,
		    PPROF_DOC_URL = 15,
};

#define PPROF_MAX_TYPES 64

struct pprof_value_type {
	uint64_t type, unit; /* texts */
};

struct pprof_mapping {
	uint64_t id, start, limit, offset;
	uint64_t file, build_id; /* texts */
};

struct pprof_function {
	uint64_t id;
	uint64_t name, system_name, file; /* texts */
};

struct pprof_line {
	uint64_t function; /* id */
	uint64_t line;
};

struct pprof_location {
	uint64_t id, mapping, address;
	struct pprof_line lines[RECORD_MAX_DEPTH]; /* innermost first; of more the outermost ones */
	size_t line_count;
};

/* All fields are reused from one sample to the next. */
struct pprof_sample {
	uint64_t *locations; /* ids, leaf first */
	size_t location_count, location_capacity;
	int64_t values[PPROF_MAX_TYPES];
	size_t value_count; /* all there are, also those past PPROF_MAX_TYPES */
	size_t label_count;
};

struct pprof_label {
	uint64_t key, text, number, unit; /* texts, but for `number` */
};

/* The next field of Profile. False at the end, and, with the cursor failed, where there is none or
 * it has another wire type than that field's. Unknown fields are for the caller to skip. */
bool pprof_next_field(struct cursor *profile, struct protobuf_field *field);

/* These return false when the bytes are no such message. */
bool pprof_get_value_type(struct span bytes, struct pprof_value_type *out);
bool pprof_get_mapping(struct span bytes, struct pprof_mapping *out);
bool pprof_get_function(struct span bytes, struct pprof_function *out);
bool pprof_get_location(struct span bytes, struct pprof_location *out);
/* Returns 0, -EBADMSG or -ENOMEM. */
int pprof_get_sample(struct span bytes, struct pprof_sample *sample);
void pprof_sample_release(struct pprof_sample *sample);
/* The next label of a sample; false when there is no other (or the sample is no message). */
bool pprof_next_label(struct cursor *sample, struct pprof_label *out);

/* Whether the first bytes of a file are of such a profile. */
bool pprof_looks_like(const void *bytes, size_t size);
