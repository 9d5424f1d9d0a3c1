/*
 * demangle - C++ and Rust linkage names as people write them. Names from
 * strangers may be built to explode: input and output sizes are bounded, and
 * names that could take the demangler's time or stack without end
 * (symbol/plain_name.h) are demangled in a process of their own, within a
 * deadline. After a few names that broke it only plain names are demangled.
 *
 * One thread at a time.
 */
#pragma once

#include <stddef.h>

#include "base/error.h"
#include "base/span.h"
#include "symbol/helper_process.h"

#define DEMANGLE_DEADLINE_MS 500

struct demangler {
	/* private */
	struct helper helper;
	size_t broken; /* names that it could not be asked about */
	struct error first;
};

/* Starts nothing yet. */
void demangler_init(struct demangler *demangler);
void demangler_release(struct demangler *demangler);

/* A malloc'ed text, in which what stands before the mangled part ("__dl_", "__wrap_") and behind it
 * ("@plt") stays, but for the underscore of macOS. Or NULL when there is no mangled part (or out of
 * memory): show it as it is. */
char *demangle(struct demangler *demangler, struct span linkage);

/* Why a name that may be mangled was left alone, the first of them ("could not be read: no answer
 * within 500 ms"), or NULL. */
const char *demangler_trouble(const struct demangler *demangler);
