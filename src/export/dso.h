/*
 * dso - the name of an image as perf and pprof spell it: the path of a file,
 * "[kernel.kallsyms]", "[nf_tables]", "[vdso]", "/tmp/perf-12.map", "[unknown]". Readers
 * of such text end the name at a blank, so '_' stands for blanks; control characters are
 * escaped.
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

/* Names all images of the profile. 0, or -ENOMEM; dso_names_release() is right in both cases. */
int dso_names_init(struct dso_names *names, const struct profile *profile,
		   struct resolver *resolver);
void dso_names_release(struct dso_names *names); /* for CLEANUP() */
