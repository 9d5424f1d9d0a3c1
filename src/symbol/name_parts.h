/*
 * name_parts - what is done with strangers' linkage names outside of the helper that demangles them
 * (symbol/demangle.h): each is taken apart into what the helper is asked for and what stays around
 * it, and the answer, which a name may have made up once it took the helper over, is checked and
 * put in its place.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/span.h"

/* Real names stay below 4 KiB mangled; a substitution can double the output again and again. */
#define NAME_MANGLED_MAX_BYTES 8192
#define NAME_SHOWN_MAX_BYTES   32768

/* A name around its mangled part: "__dl_" "_ZN3foo3barEv" "@plt". Borrowed from it. */
struct name_parts {
	struct span before, mangled, behind;
};

struct name_parts name_parts_of(struct span linkage);
/* Whether the mangled part may be one: it is then at most NAME_MANGLED_MAX_BYTES long and has no
 * byte of zero. */
bool name_parts_look_mangled(const struct name_parts *parts);
/*
 * Reads an answer: a text for each name in turn, each with a byte of zero behind it. Sets each of
 * shown[] to the text and what stays around it, malloc'ed, or to NULL where the text is empty (or
 * memory ran out). Returns 0; or -EIO with all of them NULL where that is not all of the answer, or
 * a text has more than NAME_SHOWN_MAX_BYTES.
 */
int name_parts_read(struct span answer, const struct name_parts *parts, size_t count, char **shown,
		    struct error *err);
