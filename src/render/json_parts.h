/*
 * json_parts - pieces of JSON documents that several reports have.
 */
#pragma once

#include <stdint.h>

#include "analyze/figures/interval.h"
#include "base/json_stream.h"

/* KEY, KEY_low and KEY_high, times `factor`; null is what is not known of them. */
void json_add_estimate(struct json_stream *json, const char *key, struct estimate estimate,
		       double factor);
/* "writable_by": who else than root and the recorder can write an image's file (image/writer.h);
 * null: nobody, or not known. */
void json_add_writer(struct json_stream *json, uint64_t file_writer);
