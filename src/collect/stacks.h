/*
 * stacks - who called the code of a sample, where the callers of user code are found by unwind
 * rules: the sample has the user's registers and a copy of the top of the stack, and the kernel's
 * own callers.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "intake/code_mode.h"

struct perf_sample;
struct process;
struct session;

/* What is copied of a stack, unless the user says otherwise: of cc1's stacks 93 in 100 are whole
 * with that, and 94 with the double (docs/overhead.md). */
#define STACKS_COPIED_BYTES 8192u
#define STACKS_COPIED_MOST  65528u /* what a record has room for (perf_event_open(2)) */
#define STACKS_DEEPEST	    256u   /* frames */
#define STACKS_REGISTERS    33u	   /* perf's numbers go up to here */

/* Stores the node of the sample's callers, and in *cut whether there were more than are followed;
 * `mode`: of the code that it is in. 0 or -ENOMEM. */
int stacks_calls(struct session *session, struct process *process, const struct perf_sample *sample,
		 enum code_mode mode, uint32_t *calls, bool *cut);
