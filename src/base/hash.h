/*
 * hash - XXH3 over bytes: 64 bits for tables in memory, 128 for names that
 * outlive a file. Not a defence against a forger; docs/profile-format.md says
 * where that matters.
 *
 * hash_bytes(), hash128_of_text() and hash_u64() are seeded differently in each process, so
 * that nobody can write a file whose numbers and names all fall into one place of a table,
 * where looking one up would take linear time. What is shown or stored is hashed by the
 * _stable ones and hash128_bytes().
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct hash128 {
	uint64_t high;
	uint64_t low;
};

extern uint64_t hash_seed; /* random; set before main() */

uint64_t hash_bytes(const void *data, size_t size);
struct hash128 hash128_of_text(const void *data, size_t size);

uint64_t hash_bytes_stable(const void *data, size_t size);
struct hash128 hash128_bytes(const void *data, size_t size);

static inline uint64_t hash_u64_stable(uint64_t value)
{
	/* splitmix64's finaliser (Steele, Lea, Flood 2014): every input bit reaches every output
	 * bit */
	value ^= value >> 30;
	value *= 0xbf58476d1ce4e5b9u;
	value ^= value >> 27;
	value *= 0x94d049bb133111ebu;
	return value ^ (value >> 31);
}

static inline uint64_t hash_u64(uint64_t value)
{
	return hash_u64_stable(value ^ hash_seed);
}
