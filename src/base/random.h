/*
 * random - xoshiro256** (Blackman, Vigna 2018), seeded by splitmix64: good
 * enough for sampling periods and simulations, not for secrets.
 */
#pragma once

#include <stdint.h>

#include "base/hash.h"

struct random_state {
	uint64_t s[4];
};

static inline struct random_state random_seed(uint64_t seed)
{
	struct random_state state;
	for (int i = 0; i < 4; i++)
		state.s[i] = hash_u64_stable(seed + (uint64_t)(i + 1) * 0x9e3779b97f4a7c15u);
	return state;
}

static inline uint64_t random_u64(struct random_state *state)
{
	uint64_t *s = state->s;
	uint64_t five = s[1] * 5;
	uint64_t result = ((five << 7) | (five >> 57)) * 9;
	uint64_t t = s[1] << 17;
	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = (s[3] << 45) | (s[3] >> 19);
	return result;
}

/* Uniform in [0, limit), limit > 0; the bias is below 2^-64 * limit. */
static inline uint64_t random_below(struct random_state *state, uint64_t limit)
{
	return (uint64_t)(((unsigned __int128)random_u64(state) * limit) >> 64);
}

/* Uniform in [0, 1). */
static inline double random_unit(struct random_state *state)
{
	return (double)(random_u64(state) >> 11) * 0x1p-53;
}
