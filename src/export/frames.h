/*
 * frames - the distinct frames of stacks: their spelling and their numbers.
 * Part of export/stacks.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/number_map.h"
#include "export/stack_tree.h"

struct frames {
	const struct export_input *input;
	enum stacks_grain grain;
	struct stacks *stacks;		/* whose `frames` grow */
	struct number_map by_procedure; /* where a procedure is one frame: that, as (number + 1) */
	uint32_t *by_name;		/* where a bare name is one frame: that, as (number + 1) */
	struct buffer text;
};
void frames_release(struct frames *frames); /* for CLEANUP() */

/*
 * The numbers of what a place in code shows as, outermost first, appended to
 * *list. Returns 0 or -ENOMEM.
 */
struct frame_list {
	uint32_t *numbers;
	size_t count, capacity;
};
int frames_of_place(struct frames *frames, const struct profile_frame *address,
		    struct frame_list *list);
/* The number of a context's first frame, or STACK_NONE when it has none. 0 or -ENOMEM. */
int frames_of_context(struct frames *frames, uint32_t context, uint32_t *number);
/* Of an image's name; STACK_NONE when it has none. 0 or -ENOMEM. */
int frames_of_image(struct frames *frames, uint32_t image, uint32_t *number);
