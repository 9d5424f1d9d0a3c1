/*
 * align - two sequences of tokens side by side: a longest common subsequence,
 * so that what was inserted and removed in between shows. Hirschberg's method ("A
 * linear space algorithm for computing maximal common subsequences", 1975): time is
 * the product of the lengths between a common beginning and end, memory their sum.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define ALIGN_NONE  UINT32_MAX
#define ALIGN_LIMIT (UINT64_C(1) << 28) /* of that product: a third of a second */

/*
 * Stores in partner[i] the position in `after` that is paired with before[i], or
 * ALIGN_NONE; positions rise. Beyond ALIGN_LIMIT only the common beginning and
 * end are paired, and *cut becomes 1 (else 0). Returns 0 or -ENOMEM.
 */
int align_tokens(const uint64_t *before, size_t before_count, const uint64_t *after,
		 size_t after_count, uint32_t *partner, int *cut);
