/*
 * stopped_thread - registers and stack of a thread that is stopped and traced by this one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "unwind/stack_walk.h"

#define STOPPED_REGISTERS   33u
#define STOPPED_STACK_BYTES (512u << 10)

struct stopped_thread {
	uint64_t registers[STOPPED_REGISTERS]; /* those of WALK_MASK, by perf's numbers */
	uint64_t ip, sp;
	uint64_t link; /* x30; 0 on x86-64 */
	uint8_t stack[STOPPED_STACK_BYTES];
	size_t stack_bytes; /* from sp on: up to `most`, or to where nothing is mapped */
};

/* False: it has ended, or is not stopped. `most` is at most STOPPED_STACK_BYTES. */
bool stopped_thread_read(pid_t pid, size_t most, struct stopped_thread *out);
/* The walk of its stack, for whoever fills in what looks rules up. Borrows the thread. */
struct stack_walk stopped_thread_walk(const struct stopped_thread *thread);
