/*
 * program_barrier - waits until each program that runs in the kernel now has ended. Programs are
 * readers of RCU, and who changes a map that holds maps waits for these (Linux 4.20;
 * 1ae80cf31938): so one is changed that no program uses. membarrier(2) does the same, but not where
 * CPUs have no ticks (nohz_full).
 */
#pragma once

struct program_barrier {
	int outer_fd, inner_fd;
};
#define PROGRAM_BARRIER_CLOSED ((struct program_barrier){ -1, -1 })

int program_barrier_open(struct program_barrier *barrier); /* 0 or a negative errno value */
void program_barrier_close(struct program_barrier *barrier); /* also right for a closed one */
/* Some ms, without CPU time. 0 or a negative errno value. */
int program_barrier_wait(const struct program_barrier *barrier);
