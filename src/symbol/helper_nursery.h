/*
 * helper_nursery - a process that forks helpers for this one, as whose children they count. It is
 * forked itself while this process is small and has no threads, and stays so: helpers that start
 * later, or anew, hold nothing of what this process knows by then, and cost no copies of its
 * memory. For processes that run for long; one at most each.
 *
 * Threads: any, once it has started.
 */
#pragma once

#include <sys/types.h>

/* Starts it, unless it runs. Without it (no process can be made) helpers are forked as ever. */
void helper_nursery_start(void);

/* Forks a child of this process, that calls run(socket) and ends; `socket` stays the caller's. A
 * negative errno: -ECHILD there is no nursery; others: no child, or one that has only `socket`, the
 * other end of which the caller therefore closes. */
pid_t helper_nursery_fork(void (*run)(int socket), int socket);

/* Ends it; helpers stay. Does nothing where there is none. */
void helper_nursery_stop(void);
