#include "base/protobuf_write.h"

enum wire { WIRE_VARINT = 0, WIRE_BYTES = 2 };

void protobuf_put_number(struct buffer *out, uint32_t field, uint64_t value)
{
	if (!value)
		return;
	buffer_append_varint(out, (uint64_t)field << 3 | WIRE_VARINT);
	buffer_append_varint(out, value);
}

void protobuf_put_item(struct buffer *out, uint32_t field, struct span bytes)
{
	buffer_append_varint(out, (uint64_t)field << 3 | WIRE_BYTES);
	buffer_append_varint(out, bytes.size);
	if (bytes.size)
		buffer_append(out, bytes.data, bytes.size);
}

void protobuf_put_bytes(struct buffer *out, uint32_t field, struct span bytes)
{
	if (bytes.size)
		protobuf_put_item(out, field, bytes);
}
