/*
 * fold_name - long procedure names, short enough for a row: what stands in the
 * innermost brackets becomes "...", then what stands around it, until the name
 * fits. "std::sort<...>(...)" still says which procedure is meant. The type that
 * a Rust method begins with is no argument and never folds: "<Vec<...> as Eq>::eq".
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct buffer;

#define FOLD_NAME_WIDTH 80 /* of a procedure in a row */

/*
 * Appends `name`, folded to `most` bytes where folding all brackets gets so far.
 * A name whose brackets do not pair is appended as it is. Failure to allocate
 * shows in the buffer.
 */
void fold_name(const char *name, size_t most, struct buffer *out);
/* Is `text` what a row shows of `name`? False also when out of memory. */
bool fold_name_is(const char *name, const char *text);
