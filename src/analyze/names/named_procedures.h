/*
 * named_procedures - which of a profile's procedures a name on the command line means.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct error;
struct places;

/*
 * Stores in *meant, by procedure number, which procedures the name fits best, and their number in
 * all in *count. Returns 0; -ENOENT (there is none), -EINVAL (it may mean several) or -ENOMEM.
 * *meant, NULL before, is the caller's to free, also after a failure.
 */
int named_procedures(const struct places *places, const char *name, bool **meant, size_t *count,
		     struct error *err);
