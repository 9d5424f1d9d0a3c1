/*
 * pprof_mutator - profiles of pprof, which are one message of protobuf. The first
 * byte is the target's own (import_bytes.h).
 */
#include <string.h>

#include "protobuf_mutator.h"

#define CHANGES_MOST 4

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
	struct random_state random = random_seed(seed);
	mutator_begin();
	if (random_one_in(&random, 10) || size < 2)
		return LLVMFuzzerMutate(data, size, max_size);
	uint8_t options = random_one_in(&random, 8) ? (uint8_t)random_u64(&random) : data[0];
	struct span message = { data + 1, size - 1 };
	for (uint64_t times = 1 + random_below(&random, CHANGES_MOST); times--;)
		message = protobuf_changed(message, &random);
	return mutator_written(options, message, data, max_size);
}

size_t LLVMFuzzerCustomCrossOver(const uint8_t *first, size_t first_size, const uint8_t *second,
				 size_t second_size, uint8_t *out, size_t max_size, unsigned seed)
{
	struct random_state random = random_seed(seed);
	mutator_begin();
	if (first_size < 2 || second_size < 2)
		return 0;
	return mutator_written(first[0],
			       protobuf_crossed((struct span){ first + 1, first_size - 1 },
						(struct span){ second + 1, second_size - 1 },
						&random),
			       out, max_size);
}
