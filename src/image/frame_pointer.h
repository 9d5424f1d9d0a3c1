/*
 * frame_pointer - the encoded pointers of .eh_frame and .gcc_except_table (Linux
 * Standard Base, section 10.5). The cursor fails where a pointer is cut, or has an
 * encoding that linked files do not use.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/cursor.h"

enum pointer_encoding {
	PE_ABSOLUTE = 0x00,
	PE_ULEB128 = 0x01,
	PE_U16 = 0x02,
	PE_U32 = 0x03,
	PE_U64 = 0x04,
	PE_SLEB128 = 0x09,
	PE_S16 = 0x0a,
	PE_S32 = 0x0b,
	PE_S64 = 0x0c,
	PE_FORMAT = 0x0f,
	PE_RELATIVE_TO = 0x70,
	PE_RELATIVE_TO_HERE = 0x10,
	PE_RELATIVE_TO_DATA = 0x30,
	PE_INDIRECT = 0x80,
	PE_OMIT = 0xff,
};

/* What relative pointers are relative to. */
struct frame_base {
	uint64_t vaddr;	    /* of the cursor's first byte */
	uint64_t data_base; /* of data-relative ones; 0: unknown */
	bool wide;	    /* pointers have 64 bits */
};

int64_t frame_sleb128(struct cursor *cursor);
/* The value alone, before it is made relative to anything. */
uint64_t frame_value_read(struct cursor *cursor, uint8_t encoding, bool wide);
uint64_t frame_pointer_read(struct cursor *cursor, uint8_t encoding, const struct frame_base *base);
