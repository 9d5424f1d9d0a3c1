/*
 * own_cost - what a recording itself has taken so far: the CPU time of this process and its
 * helpers, and the interrupts of its events.
 */
#pragma once

#include <stdint.h>

struct session;

/* CPU time of this process, of those that read files and of those that interpret samples. */
uint64_t own_cpu_ns(const struct session *session);
/*
 * About how many interrupts its events have caused until `now_ns`, on all CPUs: of clocks those of
 * their periods, while a CPU idled too, of others the samples that came or were lost.
 */
double own_interrupts(const struct session *session, uint64_t now_ns);
/* Both together, each interrupt at the cost that was measured for the budget. */
double own_spent_ns(const struct session *session, uint64_t now_ns);
