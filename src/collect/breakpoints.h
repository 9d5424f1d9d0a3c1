/*
 * breakpoints - counts exactly how often up to four instructions of a command are executed, over
 * its whole run with all its threads and the processes that it forks, by execution breakpoints of
 * perf (PERF_TYPE_BREAKPOINT). They need no hardware counters, and no rights beyond those of
 * sampling one's own programs.
 *
 * Every execution costs some microseconds, so this is for code that is executed seldom. Where it
 * is not, the count ends at a limit and the program goes on undisturbed.
 *
 * The command is traced (ptrace(2)) until all the instructions are mapped, of its program and of
 * the libraries that it starts with, which is before these execute any code. Then it is detached
 * from. What a process runs after a later exec is not counted. One thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collect/code_place.h"

struct error;
struct breakpoints;

#define BREAKPOINTS_MAX 4 /* that an x86 has; arm64 has 2 to 16 */

struct breakpoint {
	struct code_place place;
	uint64_t count;
	bool counted; /* a breakpoint was set */
	bool limited; /* it was removed at the limit: `count` has the executions until then */
	int fd;	      /* private: -1 without a breakpoint */
};

/* Counts something that this thread does: where breakpoints are accepted but never reached, as in
 * virtual machines without debug registers, -EOPNOTSUPP with *err; else 0. It is done before the
 * first one of a command is set. */
int breakpoints_try(struct error *err);

/* For the first BREAKPOINTS_MAX of `texts` (collect/code_place.h), which are borrowed. `limit`: the
 * executions after which a breakpoint is removed. 0, or -ENOMEM with *err. */
int breakpoints_new(const char *const *texts, size_t count, uint64_t limit,
		    struct breakpoints **out, struct error *err);
/* NULL does nothing. A command that is still traced stays so until this process ends. */
void breakpoints_free(struct breakpoints *breakpoints);
void breakpoints_freep(struct breakpoints **breakpoints); /* for CLEANUP() */

/* Attaches to a child of ours that waits before its exec. 0, or a negative errno with *err. */
int breakpoints_watch(struct breakpoints *breakpoints, pid_t pid, struct error *err);

/*
 * To be called after each SIGCHLD, and fifty times a second for the limit. It calls waitpid(2) for
 * the command, so nobody else may. Returns 1 when the command has ended, with its *wait_status; 0
 * when it goes on. A negative errno with *err: some instruction cannot be counted, and the command
 * was killed before its program began.
 */
int breakpoints_service(struct breakpoints *breakpoints, int *wait_status, struct error *err);

/* In the order asked for. Counts are final once the command has ended. */
const struct breakpoint *breakpoints_list(const struct breakpoints *breakpoints, size_t *count);
