/*
 * sampler_build_id - the build-id of what the dynamic linker has loaded, from its notes in memory.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define SAMPLER_BUILD_ID_BYTES 20 /* of SHA-1; longer ones do not fit perf's records */

/* The build-id of the object that was loaded at `address`. Its size; 0: it has none. */
size_t sampler_build_id(uint64_t address, uint8_t id[SAMPLER_BUILD_ID_BYTES]);
