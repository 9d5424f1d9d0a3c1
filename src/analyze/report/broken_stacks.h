/*
 * broken_stacks - how many stacks lack their callers, and whose code broke them.
 *
 * A stack that is followed by frame pointers ends where code uses that register
 * for something else: at an address of no code, or in some function on the way. So
 * one is broken when its outermost frame is in no image, or in a function whose
 * name is not one that threads begin with (_start, clone3, runtime.goexit; main is
 * as good). The image of the outermost frame that is known is to blame, or what
 * calls it. Where that frame has no name, it is a start when it is a caller in the
 * C or C++ library, and none when it is no caller but the sampled code itself: hardly any
 * time is spent there. Others are not judged. Stacks as deep as the kernel goes,
 * those of the kernel alone, and those that were not followed by frame pointers
 * (unwound by tables, from a CPU's records of calls, of other tools) do not count.
 */
#pragma once

struct report;
struct resolver;

/* Fills report->scope.broken_stacks, for the events that report shows. 0 or -ENOMEM. */
int broken_stacks_measure(struct report *report, struct resolver *resolver);
