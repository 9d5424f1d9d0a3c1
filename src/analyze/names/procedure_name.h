/*
 * procedure_name - which procedures are meant by a name on the command line. The
 * same rule for all options that take a procedure: its full name; else its name
 * without return type, parameters and template arguments ("demo::sortit" for
 * "void demo::sortit<int>(int*, int*)"); else the last parts of that ("sortit",
 * "Vec::push"); else any part of its name.
 */
#pragma once

#include <stddef.h>

struct buffer;

/* A better fit is a greater number; the procedures of the best fit are the ones that are meant. */
enum procedure_name_fit {
	NAME_FITS_NOT,
	NAME_FITS_PART,	 /* a part of the name, or of the linkage name */
	NAME_FITS_TAIL,	 /* the last components of the base name */
	NAME_FITS_BASE,	 /* the base name, with or without its template arguments */
	NAME_FITS_WHOLE, /* the name, the linkage name, or the name as rows show it */
};

/* How well `wanted` fits a procedure; `linkage` may be "". When out of memory it may return a worse
 * fit. */
enum procedure_name_fit procedure_name_fit(const char *name, const char *linkage,
					   const char *wanted);

/*
 * Appends the name without return type, parameters, template arguments and what
 * compilers append to copies. The leading type of "<A as B>::f" stays, without
 * the arguments in it. A name whose brackets do not pair is appended as it is.
 */
void procedure_name_base(const char *name, struct buffer *out);

/* How many bytes of a name say which function it is, without what compilers append to copies of it:
 * ".isra.0", " [clone .part.1]". */
size_t procedure_name_own_size(const char *name);
