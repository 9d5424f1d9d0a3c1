/*
 * x86_prefix - the prefixes before an x86 opcode (Intel SDM volume 2, 2.1.1 and 2.2.1).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Segments (26, 2E, 36, 3E, 64, 65), sizes (66, 67), lock (F0) and repetition (F2, F3). */
static inline bool x86_is_legacy_prefix(uint8_t byte)
{
	return (byte & 0xe7) == 0x26 || (byte >= 0x64 && byte <= 0x67) || byte == 0xf0 ||
	       byte == 0xf2 || byte == 0xf3;
}

/* Of 64-bit mode; it counts only right before the opcode. */
static inline bool x86_is_rex(uint8_t byte)
{
	return (byte & 0xf0) == 0x40;
}
