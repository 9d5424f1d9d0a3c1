/*
 * window - a profile that comes in parts while it is watched: the last few of them as one profile,
 * and all of them since the beginning. Only the latter grows, with distinct code and never with
 * time. Names of code (profile/stash.h) that a part lacks because an earlier one had them are in
 * both.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct error;
struct profile;
struct profile_window;

enum window_span {
	WINDOW_LAST,  /* the last parts */
	WINDOW_WHOLE, /* all */
	WINDOW_SPANS,
};

/* A window of so many parts, at least 1, which the caller frees. NULL: out of memory. */
struct profile_window *profile_window_new(size_t parts);
void profile_window_free(struct profile_window *window); /* NULL does nothing */
/* How long a profile's sources lasted together. Of parts of one source this has to be taken before
 * they are merged. */
uint64_t profile_length_ns(const struct profile *profile);
/*
 * Adds a part that is so long, which is the window's from here on, also after a failure; the oldest
 * one leaves. 0; or as profile_merge(), and then the window is only fit to be freed.
 */
int profile_window_add(struct profile_window *window, struct profile *part, uint64_t ns,
		       struct error *err);
/*
 * From here on until profile_window_go_on() both spans are what they are now, as copies, whatever
 * is added meanwhile. 0; or as profile_merge(), and nothing is held.
 */
int profile_window_hold(struct profile_window *window, struct error *err);
/* The spans are again of all that was added. Does nothing where nothing is held. */
void profile_window_go_on(struct profile_window *window);
/*
 * The sum of those parts, or NULL, with *err, when out of memory. It is the window's, and stays
 * until the next part is added; what is held stays until that ends.
 */
const struct profile *profile_window_profile(struct profile_window *window, enum window_span span,
					     struct error *err);
/* How long its parts are together. */
uint64_t profile_window_ns(const struct profile_window *window, enum window_span span);
