/*
 * breakpoints - exactly how often up to four instructions of a command are executed, over its
 * whole run with all its threads and the processes that it forks, by execution breakpoints of perf.
 * They need no hardware counters, and no rights beyond those of sampling one's own programs.
 *
 * Every execution costs some microseconds, so this is for code that is executed seldom. Where it
 * is not, the count ends at a limit and the program goes on undisturbed.
 *
 * The command is traced until all that is asked for is mapped, and counted from then on: its code
 * and that of the libraries that it starts with, from their first instruction. Then it is let go.
 * What a process runs after a later exec is not counted. One thread at a time.
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
	bool counted; /* there was a breakpoint */
	bool limited; /* it was taken away at the limit: `count` is what came before */
	int fd;	      /* private: -1 without a breakpoint */
};

/* Keeps pointers to the texts. `limit`: executions after which a breakpoint is taken away. 0 or
 * -ENOMEM. */
int breakpoints_new(const char *const *texts, size_t count, uint64_t limit,
		    struct breakpoints **out, struct error *err);
/* A command that is still traced is let go when our process ends. */
void breakpoints_free(struct breakpoints *breakpoints);
void breakpoints_freep(struct breakpoints **breakpoints); /* for CLEANUP() */

/* Traces a child of ours that waits to be released to its exec. */
int breakpoints_watch(struct breakpoints *breakpoints, pid_t pid, struct error *err);

/*
 * Does what is due: after each SIGCHLD, and fifty times a second for the limit. It waits for the
 * command, so nobody else may. Returns 1 when it has ended, with *wait_status as waitpid(2) has
 * it; 0 when it goes on. A negative errno with *err: something asked for cannot be counted, and
 * the command was killed before its program began.
 */
int breakpoints_service(struct breakpoints *breakpoints, int *wait_status, struct error *err);

/* In the order asked for. Counts are final once the command has ended. */
const struct breakpoint *breakpoints_list(const struct breakpoints *breakpoints, size_t *count);
