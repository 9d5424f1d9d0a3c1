/*
 * top_model - what top knows: the samples of its source, of the last seconds and since it began.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "machine/event.h"
#include "profile/window.h"

struct error;
struct top_options;
struct top_source;

struct top_model {
	struct top_options *options; /* borrowed */
	struct top_source *source;   /* owned */
	struct profile_window *window;
	const char *source_name;   /* "own samples" */
	size_t parts;		   /* that came so far */
	struct event_list events;  /* of own samples */
	char socket[512];	   /* of the daemon that is asked */
	bool asks_daemon, unnamed; /* a daemon is asked; and nobody named it */
};

/* Begins with the source that the options ask for: without one, the usual daemon. *model is zeroed,
 * and released by the caller either way. 0, or the exit status after a message. */
int top_model_open(struct top_model *model, struct top_options *options);
/* Takes what came. *came: there was something. 0, or a negative errno value with *err. */
int top_model_take(struct top_model *model, bool *came, struct error *err);
/* Whether what it could not take is to be sampled instead: a daemon that nobody named and that has
 * never answered is none. */
bool top_model_may_sample(const struct top_model *model);
/* Begins with own samples in place of the source. 0, or the exit status after a message. */
int top_model_sample(struct top_model *model);
void top_model_release(struct top_model *model);
