/*
 * stacks - who called the code of a sample, where the callers of user code are found by unwind
 * rules: either the kernel has walked the stack (bpf/user_stack.h), or the sample has the user's
 * registers and a copy of the top of the stack, which is walked here. The kernel's own callers are
 * in the sample.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/span.h"
#include "intake/code_mode.h"

struct perf_sample;
struct process;
struct session;

/* What is copied of a stack, unless the user says otherwise: of cc1's stacks 93 in 100 are whole
 * with that, and 94 with the double. */
#define STACKS_COPIED_BYTES 8192u
#define STACKS_COPIED_MOST  65528u /* what a record has room for (perf_event_open(2)) */
#define STACKS_DEEPEST	    256u   /* frames */
#define STACKS_REGISTERS    33u	   /* perf's numbers go up to here */

/* A sample with all that tells of its callers. */
struct stacks_sample {
	const struct perf_sample *sample;
	enum code_mode mode; /* of the code that it is in */
	/* What the kernel walked (bpf/user_stack.h); empty: nothing came with this sample. */
	struct span added;
	bool walked; /* the user's callers are in `added`, else in the sample itself */
};

/* Before samples come: makes the rules of what the processes of these pids have mapped, without any
 * (count 0) of those that took CPU time of late; what takes longer than a second is left for
 * when a stack leads there. 0 or -ENOMEM. */
int stacks_prepare(struct session *session, const pid_t *pids, size_t count);
/* Where the kernel lacked the rules of a file they are told for the next time, before anything else
 * is done with the sample, which may take a while. 0 or -ENOMEM. */
int stacks_tell_rules(struct session *session, struct process *process, struct span added);
/* Stores the node of the sample's callers, and in *cut whether there were more than are followed. 0
 * or -ENOMEM. */
int stacks_calls(struct session *session, struct process *process,
		 const struct stacks_sample *sample, uint32_t *calls, bool *cut);
