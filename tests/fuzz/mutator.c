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

size_t mutator_end(const struct buffer *out, uint8_t *data, size_t max_size)
{
	size_t size = out->size < max_size ? out->size : max_size;
	if (size)
		memcpy(data, out->data, size);
	return size;
}
