/*
 * number - text to numbers, strictly: the whole text must be one number in
 * range. No spaces, no sign where none is meant.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Decimal, or hexadecimal after 0x. */
bool number_parse_u64(const char *text, uint64_t *value);
/* A decimal number of bytes or other things, with K, M, G or T behind it for powers of 1024, and
 * perhaps a B behind that. */
bool number_parse_size(const char *text, uint64_t *value);
/* Seconds with an optional unit (ns, us, ms, s, m, h, d), as "1.5s" or "20ms"; no unit means
 * seconds.
 */
bool number_parse_duration_ns(const char *text, uint64_t *ns);
/* A finite decimal number, as "0.5"; a final % is allowed and dropped. */
bool number_parse_double(const char *text, double *value);
