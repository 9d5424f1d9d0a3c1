/*
 * protobuf - the wire format of protocol buffers, read field by field from
 * borrowed bytes. Knows no message types: the caller skips field numbers that it
 * does not know. Groups (wire types 3 and 4, long out of use) are faults.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"
#include "base/span.h"

enum protobuf_wire {
	PROTOBUF_VARINT = 0,
	PROTOBUF_FIXED64 = 1,
	PROTOBUF_BYTES = 2, /* text, a message, or packed numbers */
	PROTOBUF_FIXED32 = 5,
};

struct protobuf_field {
	uint32_t number; /* never 0 */
	enum protobuf_wire wire;
	uint64_t value;	   /* of a number */
	struct span bytes; /* of PROTOBUF_BYTES */
};

/* Reads the next field. False at the end, or where the bytes are no field: the cursor has then
 * failed. */
bool protobuf_next(struct cursor *cursor, struct protobuf_field *field);

/*
 * A repeated number comes one by one or packed: calls `take` for each one of a
 * field. Returns 0; -EBADMSG when packed ones are damaged or the field holds no
 * varints; or what `take` returned.
 */
int protobuf_numbers(const struct protobuf_field *field,
		     int (*take)(void *context, uint64_t number), void *context);
