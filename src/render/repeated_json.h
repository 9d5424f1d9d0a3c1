/*
 * repeated_json - what repeated runs say, as one JSON document; docs/man/culprit-stat.1.scd has its
 * keys.
 */
#pragma once

#include "analyze/counted/repeated.h"
#include "base/buffer.h"

void repeated_json_print(const struct repeated *repeated, struct buffer *out);
