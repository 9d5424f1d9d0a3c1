/*
 * jit_records - records of code that was compiled at run time, from what its
 * compiler wrote down: a perf map (symbol/perf_map.h) or a jitdump file
 * (symbol/jitdump.h).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/span.h"

struct record_set;

/*
 * Append the functions that hold `addresses` (rising): a map's names, a dump's names with code and
 * lines. What is damaged counts as far as it can be read. 0 or -ENOMEM.
 */
int jit_records_of_map(struct span text, const uint64_t *addresses, size_t count,
		       struct record_set *out);
int jit_records_of_dump(struct span bytes, const uint64_t *addresses, size_t count,
			struct record_set *out);
