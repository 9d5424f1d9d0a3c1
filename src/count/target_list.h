/*
 * target_list - what struct culprit_options names, as targets of perf_event_open(2).
 */
#pragma once

#include <stddef.h>

#include "count/count_set.h"

struct culprit_options;
struct error;

/* Zeroed before it is filled. */
struct target_list {
	struct count_target *all;
	size_t count, capacity;
};

/* 0, or -EINVAL for what a later version may know: that would be ignored without a word. */
int target_options_check(const struct culprit_options *options, struct error *err);
/* Adds the subject's targets: one for each thread of a process, as they are now. 0; -EINVAL, -ESRCH
 * or -ENOMEM with the reason in *err. */
int target_list_fill(struct target_list *targets, const struct culprit_options *options,
		     struct error *err);
/* Leaves the first of them out; there is one. */
void target_list_drop_first(struct target_list *targets);
void target_list_release(struct target_list *targets); /* also for CLEANUP() */

/* Which tasks of the subject's are counted from their start. */
enum count_inherit target_inherit(const struct culprit_options *options);
