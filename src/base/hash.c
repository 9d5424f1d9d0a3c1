#include "base/hash.h"

#include <string.h>
#include <sys/auxv.h>
#define XXH_INLINE_ALL /* of its header alone: no library is needed where base is */
#include <xxhash.h>

uint64_t hash_seed;

/* The kernel gives every process 16 random bytes; the C library uses the first ones. */
__attribute__((constructor)) static void choose_seed(void)
{
	const char *random = (const char *)getauxval(AT_RANDOM);
	if (random)
		memcpy(&hash_seed, random + sizeof(hash_seed), sizeof(hash_seed));
	hash_seed = hash_u64_stable(hash_seed);
}

uint64_t hash_bytes(const void *data, size_t size)
{
	return XXH3_64bits_withSeed(data, size, hash_seed);
}

uint64_t hash_bytes_stable(const void *data, size_t size)
{
	return XXH3_64bits(data, size);
}

static struct hash128 parts(XXH128_hash_t hash)
{
	return (struct hash128){ hash.high64, hash.low64 };
}

struct hash128 hash128_of_text(const void *data, size_t size)
{
	return parts(XXH3_128bits_withSeed(data, size, hash_seed));
}

struct hash128 hash128_bytes(const void *data, size_t size)
{
	return parts(XXH3_128bits(data, size));
}
