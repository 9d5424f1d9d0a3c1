/*
 * pprof_main - chooses the image that is written as the first mapping: pprof takes it for the main
 * binary, and names the profile after it. Part of export/pprof.
 */
#pragma once

#include <stdint.h>

struct dso_names;
struct profile;
struct stacks;

/*
 * Chooses the executable of the command with the largest estimate of the first event: the image
 * that has the command's name, or begins with it (python3.11 for python3); else the file with the
 * largest estimate that is no shared library by its name; else the image with the largest. Images
 * whose limits[id] is 0 are not considered. Stores the id in *id, or 0 for none. 0 or -ENOMEM.
 */
int pprof_main_image(const struct profile *profile, struct stacks *stacks,
		     const struct dso_names *names, const uint64_t *limits, uint32_t *id);
