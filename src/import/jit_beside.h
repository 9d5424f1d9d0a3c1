/*
 * jit_beside - names of code that was compiled at run time, from files that lie
 * beside a recording: jit-PID.dump (with code and lines), else perf-PID.map. Only
 * there: /tmp of this machine may have another process of that number. Where code
 * was compiled into freed memory, the last function at an address counts.
 */
#pragma once

#include <stddef.h>

struct profile;

/*
 * For images of kind IMAGE_JIT, whose name ends in "PID START": adds what the files in `folder`
 * know of their sampled addresses to the stash. *files counts those that were read. 0 or -ENOMEM.
 */
int jit_beside_name_images(const char *folder, struct profile *profile, size_t *files);
