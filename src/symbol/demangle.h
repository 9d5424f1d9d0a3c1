/*
 * demangle - C++ and Rust linkage names as people write them.
 *
 * Names from strangers may be built to explode. libiberty 2.40 (cp-demangle.c, rust-demangle.c),
 * like its siblings, can be made to work exponentially long without printing anything that a
 * caller could count:
 * - a conversion operator's template arguments are read twice, nested ones 2^n times;
 * - a pack expansion searches its pattern, which substitutions double, for a pack;
 * - empty packs, each of packs of an enclosing function, print nothing 2^n times;
 * - a Rust binder counts its lifetimes one by one, up to 2^64.
 * So names are demangled by a helper process without rights, within a deadline. A request to it
 * costs some 30 us and each name in it about one: ask for many at once.
 *
 * One thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/span.h"
#include "symbol/helper_process.h"

#define DEMANGLE_BATCH	     256 /* names in a request */
#define DEMANGLE_DEADLINE_MS 500 /* of a request */

struct demangler {
	/* private */
	struct helper helper;
	uint32_t deadline_ms;
	size_t broken;	  /* names that it was asked for and has not demangled */
	uint64_t lost_ns; /* by batches that broke, and by asking for their names one by one */
	uint64_t slow_ns; /* by answered batches, above what names take */
	uint64_t name_bytes, text_bytes; /* of names, and of what they mean */
	const char *gave_up; /* why a name was left alone that was not asked for; NULL: none was */
	struct error first;
};

/* Starts nothing yet. */
void demangler_init(struct demangler *demangler);
void demangler_release(struct demangler *demangler);

/* Whether it looks mangled; nothing is known of other names. */
bool demangle_concerns(struct span linkage);
/*
 * Sets each of shown[] to what the name means, a malloc'ed text, in which what stands before the
 * mangled part ("__dl_", "__wrap_") and behind it ("@plt") stays, but for the underscore of macOS.
 * Or to NULL when it has no mangled part (or out of memory): show it as it is.
 *
 * A name that takes longer than the deadline, or kills the helper, is left alone, at the cost of
 * two deadlines; those that are asked for with it are not. Once four seconds were lost so, or 20 to
 * answers that took more than 0.1 ms a name, all further names are left alone. So are they when the
 * texts have more than 16 MiB and 16 times the bytes of the names.
 */
void demangle(struct demangler *demangler, const struct span *linkages, size_t count, char **shown);

/* Why a name that may be mangled was left alone, the first of them ("could not be read: no answer
 * within 500 ms", "could not be read: cannot start a helper process: ..."), or NULL. Once all
 * further ones are: "could not be read: those before it took too long", or "are too long". */
const char *demangler_trouble(const struct demangler *demangler);
