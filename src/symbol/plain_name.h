/*
 * plain_name - which mangled names a demangler is done with in bounded time and
 * stack, told from the name alone.
 *
 * libiberty 2.40 (cp-demangle.c, rust-demangle.c), like its siblings, can be made
 * to work exponentially long without printing anything that a caller could count:
 * - a conversion operator's template arguments are read twice, nested ones 2^n times;
 * - a pack expansion searches its pattern, which substitutions double, for a pack;
 * - empty packs, each of packs of an enclosing function, print nothing 2^n times;
 * - a Rust binder counts its lifetimes one by one, up to 2^64.
 * Plain names have nothing of these. Each part of one is read once, and printing a
 * part prints at least a character, so that a limit on the output bounds the work.
 */
#pragma once

#include <stdbool.h>

#include "base/span.h"

/* True for the most names that compilers make: no packs, expressions, functions within names or
 * conversion operators, no longer than 1,024 bytes; Rust's own mangling without binders and
 * Punycode. False for what is no mangled name. */
bool name_is_plain(struct span linkage);
