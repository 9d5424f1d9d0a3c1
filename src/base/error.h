/*
 * error - one sentence that says what happened, to which input, where in it.
 *
 * Functions below cli/ return 0 or a negative errno value and fill a
 * struct error that the caller owns. A caller that does not care passes NULL.
 */
#pragma once

struct error {
	int code;	 /* negative errno value; 0 when nothing was set */
	char text[1024]; /* lower case, no full stop, no newline */
};

/* Fills *err (when not NULL) and returns `code`, so that `return error_set(...)` reads well. */
__attribute__((format(printf, 3, 4))) int error_set(struct error *err, int code, const char *format,
						    ...);

/* Puts "prefix: " before the text that is already there; returns err->code (or -EIO without one).
 */
__attribute__((format(printf, 2, 3))) int error_prefix(struct error *err, const char *format, ...);
