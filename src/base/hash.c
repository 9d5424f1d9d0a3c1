#include "base/hash.h"

#include <xxhash.h>

uint64_t hash_bytes(const void *data, size_t size)
{
	return XXH3_64bits(data, size);
}

struct hash128 hash128_bytes(const void *data, size_t size)
{
	XXH128_hash_t hash = XXH3_128bits(data, size);
	return (struct hash128){ hash.high64, hash.low64 };
}
