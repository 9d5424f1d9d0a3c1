#include "profile/window.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/sum.h"
#include "profile/profile.h"
#include "profile/stash.h"

struct part {
	struct profile *profile;
	uint64_t ns;
};

struct profile_window {
	struct part *parts; /* a ring */
	size_t capacity, count, newest;
	struct profile *whole;
	struct profile *last; /* NULL: to be made anew */
	uint64_t whole_ns;
	struct part held[WINDOW_SPANS]; /* by span; without profiles: nothing is held */
};

struct profile_window *profile_window_new(size_t parts)
{
	struct profile_window *window = calloc(1, sizeof(*window));
	if (!window)
		return NULL;
	window->capacity = parts;
	window->parts = calloc(parts, sizeof(*window->parts));
	window->whole = profile_new();
	if (window->parts && window->whole)
		return window;
	profile_window_free(window);
	return NULL;
}

void profile_window_free(struct profile_window *window)
{
	if (!window)
		return;
	for (size_t i = 0; window->parts && i < window->capacity; i++)
		profile_free(window->parts[i].profile);
	free(window->parts);
	profile_free(window->whole);
	profile_free(window->last);
	profile_window_go_on(window);
	free(window);
}

uint64_t profile_length_ns(const struct profile *profile)
{
	uint64_t sum = 0;
	for (size_t row = 0; row < profile_table(profile, PROFILE_SOURCE)->count; row++)
		sum_add(&sum, profile_source(profile, row).duration_ns);
	return sum;
}

int profile_window_add(struct profile_window *window, struct profile *part, uint64_t ns,
		       struct error *err)
{
	size_t at = window->count ? (window->newest + 1) % window->capacity : 0;
	struct part *place = &window->parts[at];
	profile_free(place->profile);
	*place = (struct part){ part, ns };
	window->newest = at;
	window->count += window->count < window->capacity;
	sum_add(&window->whole_ns, ns);
	profile_free(window->last);
	window->last = NULL;
	return profile_merge(window->whole, part, err);
}

static int sum_up(const struct profile_window *window, struct profile *into, struct error *err)
{
	for (size_t i = 0; i < window->count; i++) {
		size_t oldest = window->newest + window->capacity + 1 - window->count;
		const struct part *part = &window->parts[(oldest + i) % window->capacity];
		int ret = profile_merge(into, part->profile, err);
		if (ret < 0)
			return ret;
	}
	return stash_copy(into, window->whole) < 0 ? error_set(err, -ENOMEM, "out of memory") : 0;
}

const struct profile *profile_window_profile(struct profile_window *window, enum window_span span,
					     struct error *err)
{
	if (window->held[span].profile)
		return window->held[span].profile;
	if (span == WINDOW_WHOLE || window->last)
		return span == WINDOW_WHOLE ? window->whole : window->last;
	struct profile *last = profile_new();
	if (!last) {
		error_set(err, -ENOMEM, "out of memory");
		return NULL;
	}
	if (sum_up(window, last, err) < 0) {
		profile_free(last);
		return NULL;
	}
	window->last = last;
	return last;
}

uint64_t profile_window_ns(const struct profile_window *window, enum window_span span)
{
	uint64_t sum = 0;
	if (window->held[span].profile)
		return window->held[span].ns;
	if (span == WINDOW_WHOLE)
		return window->whole_ns;
	for (size_t i = 0; i < window->capacity; i++)
		sum_add(&sum, window->parts[i].ns);
	return sum;
}

int profile_window_hold(struct profile_window *window, struct error *err)
{
	struct part held[WINDOW_SPANS] = { 0 };
	int ret = 0;
	profile_window_go_on(window);
	for (enum window_span span = 0; span < WINDOW_SPANS && ret == 0; span++) {
		const struct profile *from = profile_window_profile(window, span, err);
		held[span] = (struct part){ profile_new(), profile_window_ns(window, span) };
		ret = !from		    ? -ENOMEM
		      : !held[span].profile ? error_set(err, -ENOMEM, "out of memory")
					    : profile_merge(held[span].profile, from, err);
	}
	memcpy(window->held, held, sizeof(held));
	if (ret < 0)
		profile_window_go_on(window);
	return ret;
}

void profile_window_go_on(struct profile_window *window)
{
	for (size_t span = 0; span < WINDOW_SPANS; span++) {
		profile_free(window->held[span].profile);
		window->held[span] = (struct part){ 0 };
	}
}
