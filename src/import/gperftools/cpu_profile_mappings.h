/*
 * cpu_profile_mappings - what a CPU profile's process had mapped, by the lines behind its
 * samples: those of /proc/PID/maps, whose paths may begin with "$build" for what a line
 * "build=/path" before them says. One thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/hash_index.h"
#include "base/span.h"
#include "image/address_space.h"

struct profile;
struct cpu_variable;

struct cpu_mappings {
	struct address_space *space; /* executable mappings; `file` is the image in the profile */
	bool cut; /* there are more than ADDRESS_SPACE_LIMIT: the others are left out */
	/* private */
	struct cpu_variable *variables; /* each name once */
	size_t variable_count, variable_capacity;
	struct hash_index variable_index;
};

int cpu_mappings_init(struct cpu_mappings *mappings); /* 0 or -ENOMEM */
void cpu_mappings_release(struct cpu_mappings *mappings);
/* Adds the mappings in a text, which must outlive `mappings`, and their images to the profile.
 * Lines that are neither a mapping nor a variable are passed over. 0 or -ENOMEM. */
int cpu_mappings_read(struct cpu_mappings *mappings, struct span text, struct profile *profile);
