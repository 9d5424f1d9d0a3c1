/* What both documents of culprit/print.h have. */
#pragma once

#include <stdint.h>

#include "base/json_stream.h"

struct culprit_print_options;

/* Opens the document: its schema, and the units of work. */
void print_json_begin(struct json_stream *json, const struct culprit_print_options *options);
/* Up to 15 digits, so that a count is whole; null when it is not finite. */
void print_json_number(struct json_stream *json, const char *key, double number);
/* "flags":["multiplexed"] */
void print_json_flags(struct json_stream *json, uint32_t flags);
