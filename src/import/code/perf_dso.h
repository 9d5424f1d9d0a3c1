/*
 * perf_dso - the image of what perf calls a DSO: the kernel, its modules and BPF
 * programs, code compiled at run time and files are told apart by the forms that perf
 * gives their names.
 */
#pragma once

#include <stdint.h>

#include "base/span.h"
#include "profile/profile.h"

/* Its kind and name; files are IMAGE_NAME, for nothing but the name is known of them. The name
 * borrows from `dso`. */
struct profile_image perf_dso_classify(struct span dso);

/*
 * The image of a DSO as perf prints it ("/bin/x", "[kernel.kallsyms]",
 * "/tmp/perf-12.map", "[unknown]"), known by that name alone, which is kept as
 * its path. Returns 0 or -ENOMEM.
 */
int perf_dso_image(struct profile *profile, struct span dso, uint32_t *image);
