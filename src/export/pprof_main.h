/*
 * pprof_main - which image of a profile pprof takes for the main binary: it names the profile by
 * its first mapping. Part of export/pprof.
 */
#pragma once

#include <stdint.h>

struct dso_names;
struct profile;
struct stacks;

/*
 * The executable of the command with the most samples (of the first event): the image that has
 * the command's name, or begins with it (python3.11 of python3); else the file with most samples
 * that is no shared library by its name; else the image with most samples. Of `limits`, by image
 * id, those are taken that are not 0. Stores the id in *id, 0 where there is none. 0 or -ENOMEM.
 */
int pprof_main_image(const struct profile *profile, struct stacks *stacks,
		     const struct dso_names *names, const uint64_t *limits, uint32_t *id);
