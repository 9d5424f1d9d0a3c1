/*
 * figure - numbers as exports write them: exact, decimal, without needless zeros.
 */
#pragma once

#include <stdint.h>

#include "base/buffer.h"

void figure_append_u64(struct buffer *out, uint64_t value);
/* An estimate in steps of 10^-scale: 31230 and 3 are 31.23. */
void figure_append_estimate(struct buffer *out, uint64_t estimate, uint64_t scale);
