/*
 * jitdump_mutator - the records of a JIT compiler's dump, in either byte order.
 */
#include <string.h>

#include "mutator.h"

#define CHANGES_MOST 4

static struct pieces pieces, others;

/* A file's header is laid out as its records are, for who looks at sizes alone. */
static struct record_layout layout_of(struct span dump, size_t at)
{
	bool big = dump.size >= 4 && memcmp(dump.data, "JiTD", 4) == 0;
	return (struct record_layout){
		.head_bytes = 16, .size_at = at, .size_width = 4, .big_endian = big
	};
}

static void cut(struct pieces *records, struct span dump)
{
	const struct record_layout header = layout_of(dump, 8), record = layout_of(dump, 4);
	static struct pieces rest;
	pieces_cut(records, dump, &header);
	size_t own = records->count ? records->list[0].size : 0;
	records->count = records->count ? 1 : 0;
	pieces_cut(&rest, (struct span){ (const uint8_t *)dump.data + own, dump.size - own },
		   &record);
	for (size_t i = 0; i < rest.count; i++)
		pieces_add(records, rest.list[i]);
}

static size_t all_of(struct span dump, uint8_t *data, size_t max_size)
{
	size_t size = dump.size < max_size ? dump.size : max_size;
	if (size)
		memmove(data, dump.data, size);
	return size;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
	struct random_state random = random_seed(seed);
	mutator_begin();
	if (random_one_in(&random, 10) || size < 40)
		return LLVMFuzzerMutate(data, size, max_size);
	struct span dump = { data, size };
	for (uint64_t times = 1 + random_below(&random, CHANGES_MOST); times--;) {
		const struct record_layout layout = layout_of(dump, 4);
		cut(&pieces, dump);
		size_t at = random_below(&random, pieces.count);
		if (random_one_in(&random, 2))
			pieces.list[at] = record_changed(pieces.list[at], &layout, &random);
		else
			pieces_change(&pieces, &random);
		dump = pieces_joined(&pieces);
		if (dump.size < 40)
			break;
	}
	return all_of(dump, data, max_size);
}

size_t LLVMFuzzerCustomCrossOver(const uint8_t *first, size_t first_size, const uint8_t *second,
				 size_t second_size, uint8_t *out, size_t max_size, unsigned seed)
{
	struct random_state random = random_seed(seed);
	mutator_begin();
	cut(&pieces, (struct span){ first, first_size });
	cut(&others, (struct span){ second, second_size });
	pieces_cross(&pieces, &others, &random);
	return all_of(pieces_joined(&pieces), out, max_size);
}
