/*
 * frames - the distinct frames of stacks: how each is spelled, and its number in
 * stacks->frames. Part of export/stacks.
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
	struct stacks *stacks;		/* new frames are added to it */
	struct number_map by_procedure; /* number + 1 of procedures that are one frame */
	uint32_t *by_name;  /* by text id: number + 1 of bare names that are one frame */
	struct buffer text; /* scratch: the spelling of one frame */
};
void frames_release(struct frames *frames); /* for CLEANUP() */

struct frame_list {
	uint32_t *numbers;
	size_t count, capacity;
};
/*
 * Appends to *list the numbers of the frames of a place in code, outermost first: the
 * procedure, and inlined functions if they are wanted. Returns 0 or -ENOMEM.
 */
int frames_of_place(struct frames *frames, const struct profile_frame *address,
		    struct frame_list *list);
/* The number of a context's first frame, or STACK_NONE when it has none. 0 or -ENOMEM. */
int frames_of_context(struct frames *frames, uint32_t context, uint32_t *number);
/* The number of a frame with an image's name, or STACK_NONE when it has none. 0 or -ENOMEM. */
int frames_of_image(struct frames *frames, uint32_t image, uint32_t *number);
