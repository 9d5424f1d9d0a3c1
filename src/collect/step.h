/*
 * step - runs one thread instruction by instruction for a short stretch and notes where it
 * went, by ptrace(2). The thread is attached to, stepped, and let go before the call returns,
 * whatever happens; but for the time, the program behaves as it would have without.
 *
 * A stretch ends early before what stepping would change: system calls (they would be
 * interrupted), instructions that save or restore the flag by which x86 steps, cpuid (whose
 * trap some hypervisors lose), and arm64's exclusive loads (a step between them and their store makes the store fail for ever). A signal
 * that comes is delivered and ends it too.
 *
 * The stepped process may be killed meanwhile without harm. But when the process that steps is
 * killed, the thread gets one more trap, which no tracer takes and which ends its process. So
 * stepping belongs into a process that does nothing else: collect/stepper.h.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collect/step_code.h"

#define STEP_LIMIT 200 /* instructions; analysis of branches needs no longer stretches */

enum step_end {
	STEP_DONE,	/* all instructions that were asked for */
	STEP_UNSAFE,	/* before an instruction that must not be stepped */
	STEP_SIGNAL,	/* a signal came and was delivered */
	STEP_GONE,	/* the thread ended, or runs another program */
	STEP_IDLE,	/* it does not run: it sleeps, or is in a system call */
	STEP_TRACED,	/* somebody else traces it */
	STEP_REFUSED,	/* by the system, with `code` */
	STEP_OWN_TRAPS, /* it ignores SIGTRAP, which a step raises, or handles it and blocks it
			   now, or steps itself */
	STEP_NARROW,	/* 32-bit code */
	STEP_SLOW,	/* a step did not end in time */
	STEP_ENDS,
};

struct step_place {
	uint64_t address;
	uint8_t code[STEP_CODE_BYTES]; /* as much as could be read, then zeros */
};

struct steps {
	pid_t tid;
	uint32_t end; /* enum step_end */
	int32_t code; /* negative errno of STEP_REFUSED */
	bool reaped;  /* STEP_GONE: waitpid(2) has returned its end, with wait_status */
	int32_t wait_status;
	uint64_t begin_ns, end_ns; /* CLOCK_MONOTONIC, attaching and letting go included */
	uint32_t count;		   /* instructions that were executed */
	/* Of each executed instruction; then of the one that would be next. */
	struct step_place places[STEP_LIMIT + 1];
};

/*
 * Steps thread `tid` over up to `limit` (at most STEP_LIMIT) instructions and fills *out. `idle` is
 * called about ten times a second while a step takes long. The calling process must have one
 * thread, but for step_code's, and leave SIGALRM and the interval timer to this.
 */
void step_thread(pid_t tid, size_t limit, void (*idle)(void *context), void *context,
		 struct steps *out);
