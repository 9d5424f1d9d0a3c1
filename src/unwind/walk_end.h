/*
 * walk_end - why a walk along a stack ends, in the kernel (src/bpf) and here.
 */
#pragma once

/* Why a walk ends. */
enum walk_end {
	WALK_GOES_ON,
	WALK_WHOLE,	   /* at the outermost frame: nothing has called it */
	WALK_TOO_DEEP,	   /* there was room for no more frames */
	WALK_NO_MAPPING,   /* nothing is mapped where the last frame is */
	WALK_NO_TABLE,	   /* the last frame is in a file whose rules are not there */
	WALK_NO_RULE,	   /* the last frame is in code that no rule is about, and without a frame
			      pointer */
	WALK_BAD_RULE,	   /* the last frame's rule is of a kind that is not followed */
	WALK_UNREADABLE,   /* what the last frame has saved could not be read */
	WALK_BACKWARDS,	   /* the caller's frame would not be further up: the stack is no stack */
	WALK_LOST,	   /* the last frame's rule needs a register that a frame before has lost */
	WALK_NO_REGISTERS, /* those of the innermost frame are not known */
	WALK_ENDS
};
