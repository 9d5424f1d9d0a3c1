/*
 * simpleperf_mutator - what simpleperf adds to a perf.data file. The first byte
 * says which part it is (fuzz_simpleperf.c): files with their sizes before them,
 * the same as messages of protobuf, texts, or records.
 */
#include <string.h>

#include "protobuf_mutator.h"

#define CHANGES_MOST 4

static struct pieces pieces, others;

static const struct record_layout *layout_of(uint8_t part)
{
	static const struct record_layout files = { 4, 0, 4, 4, false };
	static const struct record_layout records = { 8, 6, 2, 0, false };
	return part % 4 < 2 ? &files : &records;
}

/* Up to each NUL, which it has with it. */
static void cut(struct pieces *parts, uint8_t part, struct span bytes)
{
	const uint8_t *at = bytes.data;
	if (part % 4 != 2) {
		pieces_cut(parts, bytes, layout_of(part));
		return;
	}
	parts->count = 0;
	for (size_t left = bytes.size; left;) {
		size_t size = strnlen((const char *)at, left);
		size += size < left;
		pieces_add(parts, (struct span){ at, size });
		at += size;
		left -= size;
	}
}

static struct span changed_message(struct span file, struct random_state *random)
{
	if (file.size < 4)
		return file;
	struct span message = { (const uint8_t *)file.data + 4, file.size - 4 };
	message = protobuf_changed(message, random);
	uint32_t size = (uint32_t)message.size;
	uint8_t *bytes = mutator_room(4 + message.size);
	if (!bytes)
		return file;
	memcpy(bytes, &size, 4);
	if (message.size)
		memcpy(bytes + 4, message.data, message.size);
	return (struct span){ bytes, 4 + message.size };
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
	struct random_state random = random_seed(seed);
	mutator_begin();
	if (random_one_in(&random, 10) || size < 9)
		return LLVMFuzzerMutate(data, size, max_size);
	struct span bytes = { data + 1, size - 1 };
	for (uint64_t times = 1 + random_below(&random, CHANGES_MOST); times-- && bytes.size;) {
		cut(&pieces, data[0], bytes);
		size_t at = random_below(&random, pieces.count);
		if (random_one_in(&random, 2))
			pieces_change(&pieces, &random);
		else if (data[0] % 4 == 1 && !random_one_in(&random, 4))
			pieces.list[at] = changed_message(pieces.list[at], &random);
		else if (data[0] % 4 == 2)
			pieces.list[at] = mutator_bytes(pieces.list[at], &random);
		else
			pieces.list[at] =
				record_changed(pieces.list[at], layout_of(data[0]), &random);
		bytes = pieces_joined(&pieces);
	}
	return mutator_written(data[0], bytes, data, max_size);
}

size_t LLVMFuzzerCustomCrossOver(const uint8_t *first, size_t first_size, const uint8_t *second,
				 size_t second_size, uint8_t *out, size_t max_size, unsigned seed)
{
	struct random_state random = random_seed(seed);
	mutator_begin();
	if (first_size < 2 || second_size < 2)
		return 0;
	cut(&pieces, first[0], (struct span){ first + 1, first_size - 1 });
	cut(&others, first[0], (struct span){ second + 1, second_size - 1 });
	pieces_cross(&pieces, &others, &random);
	return mutator_written(first[0], pieces_joined(&pieces), out, max_size);
}
