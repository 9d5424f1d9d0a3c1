#include "mutator.h"

#include <string.h>

#define ROOM_BYTES (4u << 20) /* of all pieces that one mutation makes */

static uint8_t room[ROOM_BYTES];
static size_t room_used;

void mutator_begin(void)
{
	room_used = 0;
}

uint8_t *mutator_room(size_t size)
{
	if (size > ROOM_BYTES - room_used)
		return NULL;
	uint8_t *bytes = room + room_used;
	room_used += size;
	return bytes;
}

struct span mutator_bytes(struct span piece, struct random_state *random)
{
	size_t most = piece.size + 1 + random_below(random, 32);
	uint8_t *copy = mutator_room(most);
	if (!copy)
		return piece;
	if (piece.size)
		memcpy(copy, piece.data, piece.size);
	return (struct span){ copy, LLVMFuzzerMutate(copy, piece.size, most) };
}

uint64_t mutator_number(struct random_state *random, uint64_t old, uint64_t size)
{
	static const uint64_t telling[] = { 0,
					    1,
					    7,
					    8,
					    127,
					    255,
					    INT32_MAX,
					    UINT32_MAX,
					    UINT16_MAX,
					    INT16_MAX,
					    UINT64_MAX,
					    INT64_MAX,
					    UINT64_MAX - 7,
					    1ull << 63,
					    1ull << 32,
					    1ull << 31,
					    UINT64_MAX / 8,
					    1ull << 61,
					    1ull << 48,
					    4096,
					    UINT32_MAX - 7,
					    UINT64_MAX / 16 };
	switch (random_below(random, 7)) {
	case 0:
		return old + 1;
	case 1:
		return old - 1;
	case 2:
		return size + random_below(random, 17) - 8;
	case 3:
		return UINT64_C(1) << random_below(random, 64);
	case 4:
		return old ^ UINT64_C(1) << random_below(random, 64);
	case 5:
		return random_u64(random) >> random_below(random, 64);
	default:
		return telling[random_below(random, sizeof(telling) / sizeof(telling[0]))];
	}
}

void pieces_add(struct pieces *pieces, struct span piece)
{
	if (pieces->count < PIECES_MAX)
		pieces->list[pieces->count++] = piece;
}

/* Some that stand together: at least one. */
static void choose_run(const struct pieces *pieces, struct random_state *random, size_t *first,
		       size_t *count)
{
	*first = random_below(random, pieces->count);
	size_t most = pieces->count - *first;
	*count = 1 + random_below(random, random_one_in(random, 2) ? 1 : most);
}

static void put_run(struct pieces *pieces, size_t at, const struct span *run, size_t count)
{
	if (count > PIECES_MAX - pieces->count)
		count = PIECES_MAX - pieces->count;
	memmove(pieces->list + at + count, pieces->list + at,
		(pieces->count - at) * sizeof(*pieces->list));
	memcpy(pieces->list + at, run, count * sizeof(*run));
	pieces->count += count;
}

static void drop_run(struct pieces *pieces, size_t first, size_t count)
{
	memmove(pieces->list + first, pieces->list + first + count,
		(pieces->count - first - count) * sizeof(*pieces->list));
	pieces->count -= count;
}

void pieces_change(struct pieces *pieces, struct random_state *random)
{
	static struct span run[PIECES_MAX];
	size_t first, count;
	if (!pieces->count)
		return;
	choose_run(pieces, random, &first, &count);
	memcpy(run, pieces->list + first, count * sizeof(*run));
	size_t other = random_below(random, pieces->count);
	struct span kept = pieces->list[other];
	switch (random_below(random, 6)) {
	case 0:
		put_run(pieces, random_below(random, pieces->count + 1), run, count);
		break;
	case 1:
		drop_run(pieces, first, count);
		break;
	case 2:
		pieces->list[other] = pieces->list[first];
		pieces->list[first] = kept;
		break;
	case 3:
		drop_run(pieces, first, count);
		put_run(pieces, random_below(random, pieces->count + 1), run, count);
		break;
	case 4:
		for (size_t times = 1 + random_below(random, random_one_in(random, 16) ? 512 : 8);
		     times--;)
			put_run(pieces, first, run, count < 8 ? count : 8);
		break;
	default:
		for (size_t i = 0; i < count; i++)
			pieces->list[first + i] = run[count - 1 - i];
		break;
	}
}

void pieces_cross(struct pieces *pieces, const struct pieces *other, struct random_state *random)
{
	size_t first, count;
	if (!other->count)
		return;
	choose_run(other, random, &first, &count);
	if (pieces->count && random_one_in(random, 2)) {
		size_t from, dropped;
		choose_run(pieces, random, &from, &dropped);
		drop_run(pieces, from, dropped);
	}
	put_run(pieces, random_below(random, pieces->count + 1), other->list + first, count);
}

struct span pieces_joined(const struct pieces *pieces)
{
	size_t size = 0, used = 0;
	for (size_t i = 0; i < pieces->count; i++)
		size += pieces->list[i].size;
	uint8_t *bytes = mutator_room(size);
	if (!bytes)
		return (struct span){ "", 0 };
	for (size_t i = 0; i < pieces->count; i++) {
		if (pieces->list[i].size)
			memcpy(bytes + used, pieces->list[i].data, pieces->list[i].size);
		used += pieces->list[i].size;
	}
	return (struct span){ bytes, size };
}

static uint64_t get_number(const uint8_t *bytes, size_t width, bool big_endian)
{
	uint64_t value = 0;
	for (size_t i = 0; i < width; i++)
		value |= (uint64_t)bytes[big_endian ? width - 1 - i : i] << 8 * i;
	return value;
}

static void put_number(uint8_t *bytes, uint64_t value, size_t width, bool big_endian)
{
	for (size_t i = 0; i < width; i++)
		bytes[big_endian ? width - 1 - i : i] = (uint8_t)(value >> 8 * i);
}

void pieces_cut(struct pieces *pieces, struct span bytes, const struct record_layout *layout)
{
	const uint8_t *at = bytes.data;
	size_t left = bytes.size;
	pieces->count = 0;
	while (left >= layout->head_bytes) {
		uint64_t size =
			get_number(at + layout->size_at, layout->size_width, layout->big_endian);
		if (size > left || layout->beside_bytes > left - size ||
		    size + layout->beside_bytes < layout->head_bytes)
			break;
		size += layout->beside_bytes;
		pieces_add(pieces, (struct span){ at, size });
		at += size;
		left -= size;
	}
	if (left)
		pieces_add(pieces, (struct span){ at, left });
}

static void fit_size(uint8_t *record, size_t size, const struct record_layout *layout)
{
	if (size >= layout->head_bytes)
		put_number(record + layout->size_at, size - layout->beside_bytes,
			   layout->size_width, layout->big_endian);
}

struct span record_changed(struct span record, const struct record_layout *layout,
			   struct random_state *random)
{
	static const uint8_t widths[] = { 4, 8, 8 };
	size_t width = widths[random_below(random, sizeof(widths))];
	if (record.size < layout->head_bytes + width || random_one_in(random, 3)) {
		record = mutator_bytes(record, random);
		if (!random_one_in(random, 8))
			fit_size((uint8_t *)record.data, record.size, layout);
		return record;
	}
	uint8_t *copy = mutator_room(record.size);
	if (!copy)
		return record;
	memcpy(copy, record.data, record.size);
	size_t at =
		layout->head_bytes % 4 + random_below(random, (record.size - width) / 4 + 1) * 4;
	if (random_one_in(random, 6)) {
		at = layout->size_at;
		width = layout->size_width;
	}
	at = at <= record.size - width ? at : 0;
	put_number(copy + at,
		   mutator_number(random, get_number(copy + at, width, layout->big_endian),
				  record.size),
		   width, layout->big_endian);
	return (struct span){ copy, record.size };
}

size_t mutator_written(uint8_t options, struct span input, uint8_t *data, size_t max_size)
{
	size_t size = input.size < max_size - 1 ? input.size : max_size - 1;
	if (size)
		memmove(data + 1, input.data, size);
	data[0] = options;
	return size + 1;
}
