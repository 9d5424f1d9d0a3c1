/*
 * dso - what perf and pprof call an image: the path of a file,
 * "[kernel.kallsyms]", "[nf_tables]", "[vdso]", "/tmp/perf-12.map",
 * "[unknown]". It holds no blanks and no control characters: they would end the
 * name where such text is read, so '_' stands for them.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

struct profile;
struct resolver;

struct dso_names {
	const char **names; /* by image id; [0] is "[unknown]" */
	size_t count;
	struct arena arena;
};

/* Names all images of the profile. 0 or -ENOMEM. */
int dso_names_init(struct dso_names *names, const struct profile *profile,
		   struct resolver *resolver);
void dso_names_release(struct dso_names *names); /* for CLEANUP() */
