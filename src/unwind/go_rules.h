/*
 * go_rules - the rules of a Go program's functions, from the table that its runtime uses
 * (image/go_functions.h) and what its compiler and assembler put into every function: on x86-64 the
 * frame pointer is saved below the return address; on AArch64 the return address is at the bottom
 * of the frame, the frame pointer below that (cmd/internal/obj/{x86/obj6.go,arm64/obj7.go}).
 *
 * Functions that leave a goroutine's stack for the thread's, as the garbage collector does for its
 * work, go on at the frame pointer. Those of Go before 1.21 have no frame of their own: their
 * caller is passed over, and that of runtime.morestack in every version. Where a goroutine's work
 * ends and the scheduler's begins (runtime.mcall) stacks end.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/span.h"
#include "unwind/frame_rule.h"

struct go_function;
struct go_functions;

/* Calls add(context, address, rule) for the start of the function, which has this code, and each
 * address where another rule may begin, in order; where signals' handlers return to, from the byte
 * before it on. 0, or what add() returned other than 0. */
int go_rules_run(const struct go_functions *functions, const struct go_function *function,
		 uint16_t machine, struct span code,
		 int (*add)(void *context, uint64_t address, frame_rule rule), void *context);
