/*
 * protobuf_write - fields of protocol buffers, appended to a buffer. A message
 * within another is written to a buffer of its own first. Numbers that are 0 and
 * bytes that are empty are left out, as proto3 does. Running out of memory shows in
 * the buffer.
 */
#pragma once

#include <stdint.h>

#include "base/buffer.h"
#include "base/span.h"

void protobuf_put_number(struct buffer *out, uint32_t field, uint64_t value);
void protobuf_put_bytes(struct buffer *out, uint32_t field, struct span bytes);
/* As protobuf_put_bytes(), but also when it is empty: an element of a list. */
void protobuf_put_item(struct buffer *out, uint32_t field, struct span bytes);
