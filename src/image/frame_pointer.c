#include "image/frame_pointer.h"

int64_t frame_sleb128(struct cursor *cursor)
{
	uint64_t value = 0;
	unsigned int shift = 0;
	uint8_t byte;
	do {
		byte = cursor_u8(cursor);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
		if (shift > 7 * VARINT_MAX_BYTES)
			cursor->failed = true;
	} while ((byte & 0x80) && !cursor->failed);
	if (shift < 64 && (byte & 0x40))
		value |= ~(uint64_t)0 << shift;
	return (int64_t)value;
}

uint64_t frame_value_read(struct cursor *cursor, uint8_t encoding, bool wide)
{
	switch (encoding & PE_FORMAT) {
	case PE_ABSOLUTE:
		return wide ? cursor_u64(cursor) : cursor_u32(cursor);
	case PE_ULEB128:
		return cursor_varint(cursor);
	case PE_U16:
		return cursor_u16(cursor);
	case PE_U32:
		return cursor_u32(cursor);
	case PE_U64:
	case PE_S64:
		return cursor_u64(cursor);
	case PE_SLEB128:
		return (uint64_t)frame_sleb128(cursor);
	case PE_S16:
		return (uint64_t)(int16_t)cursor_u16(cursor);
	case PE_S32:
		return (uint64_t)(int32_t)cursor_u32(cursor);
	default:
		cursor->failed = true;
		return 0;
	}
}

uint64_t frame_pointer_read(struct cursor *cursor, uint8_t encoding, const struct frame_base *base)
{
	uint64_t here = base->vaddr + cursor->at;
	uint64_t value = frame_value_read(cursor, encoding, base->wide);
	switch (encoding & PE_RELATIVE_TO) {
	case 0:
		break;
	case PE_RELATIVE_TO_HERE:
		value += here;
		break;
	case PE_RELATIVE_TO_DATA:
		if (!base->data_base)
			cursor->failed = true;
		value += base->data_base;
		break;
	default: /* relative to text, to the function, aligned: in no linked file */
		cursor->failed = true;
	}
	if (encoding & PE_INDIRECT)
		cursor->failed = true;
	return base->wide ? value : (uint32_t)value;
}
