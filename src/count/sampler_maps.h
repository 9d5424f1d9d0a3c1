/*
 * sampler_maps - what this process has mapped to be executed, so that addresses have names: as
 * records of a perf.data file, with the build-ids of what the dynamic linker loaded.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct sampler_file;

/*
 * Writes the names of the process and of the calling thread and all executable mappings of
 * /proc/self/maps as of `time_ns`. Where that cannot be read there are no mappings. Allocates
 * nothing.
 */
void sampler_maps_write(struct sampler_file *file, uint64_t time_ns);

/* How often the dynamic linker has loaded and unloaded something; takes some 100 ns. */
struct sampler_loads {
	unsigned long long loaded, unloaded;
};
struct sampler_loads sampler_loads_now(void);

/* sampler_kernel_maps.c: the kernel's text and its modules, for samples in them. Nothing of what
 * has its address hidden. */
void sampler_maps_write_kernel(struct sampler_file *file, uint64_t time_ns);
