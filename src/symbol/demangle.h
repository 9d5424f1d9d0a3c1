/*
 * demangle - C++ and Rust linkage names as people write them. Names from
 * strangers may be built to explode: input and output sizes are bounded.
 */
#pragma once

#include "base/span.h"

/* A malloc'ed text, or NULL when it is no mangled name (or out of memory): show it as it is. */
char *demangle(struct span linkage);
