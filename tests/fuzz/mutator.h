/*
 * mutator - what the mutators that know a format's structure share. Each cuts an
 * input into pieces (records, lines, fields), changes them as a list or one by one,
 * and writes them again with lengths that fit, or with just one that does not:
 * flipped bytes seldom get past a format's first check.
 *
 * A mutator is LLVMFuzzerCustomMutator() and LLVMFuzzerCustomCrossOver() of a
 * fuzz target; replay.c calls them as well. Everything follows from the seed.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/random.h"
#include "base/span.h"

#define PIECES_MAX 2048

struct pieces {
	struct span list[PIECES_MAX];
	size_t count;
};

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *first, size_t first_size, const uint8_t *second,
				 size_t second_size, uint8_t *out, size_t max_size, unsigned seed);
/* The fuzzer's own, which knows bytes alone; replay.c has one too. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);

static inline bool random_one_in(struct random_state *random, unsigned count)
{
	return random_below(random, count) == 0;
}

/* Takes another piece at the end, or none when there are too many. */
void pieces_add(struct pieces *pieces, struct span piece);
/* Doubles, drops, exchanges, moves, repeats or reverses some of them. */
void pieces_change(struct pieces *pieces, struct random_state *random);
/* Some of the other's come between these, or in their place. */
void pieces_cross(struct pieces *pieces, const struct pieces *other, struct random_state *random);

/* All of them, one behind the other, in such a room. */
struct span pieces_joined(const struct pieces *pieces);

/* Records that say how long they are. */
struct record_layout {
	size_t head_bytes; /* that each has */
	size_t size_at, size_width;
	size_t beside_bytes; /* that its size does not count */
	bool big_endian;
};
/* As far as sizes go; the rest is the last piece. */
void pieces_cut(struct pieces *pieces, struct span bytes, const struct record_layout *layout);
/* One of them changed: its bytes, mostly with a size that fits, its size alone, or some number. */
struct span record_changed(struct span record, const struct record_layout *layout,
			   struct random_state *random);

/* A number that is likely to be treated wrongly: near `old`, 0, a power of two, `size`, the
 * largest. */
uint64_t mutator_number(struct random_state *random, uint64_t old, uint64_t size);
/* Room for a changed copy of a piece; valid until mutator_begin(). NULL: there is no more. */
uint8_t *mutator_room(size_t size);
void mutator_begin(void);
/* A copy in such a room, changed by the fuzzer's own mutations. */
struct span mutator_bytes(struct span piece, struct random_state *random);

/* A target's own first byte and as much of the input as fits, into data. Returns how much. */
size_t mutator_written(uint8_t options, struct span input, uint8_t *data, size_t max_size);
