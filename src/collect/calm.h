/*
 * calm - which of the watched CPUs idle, so that their clocks need not interrupt them as often: by
 * /proc/stat, at each look. A CPU is calm once it has been idle for a second, all but a fortieth of
 * it, which is more than the counting by ticks is wrong by; it is not any more when it was busy for
 * a quarter of the time since the last look, or for a twentieth of a second that is over.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/cpu_time.h"

struct calm_cpu {
	bool calm;
	/* private */
	struct cpu_time last, second; /* the last look; and where the present second began */
};

/* Judges one CPU by what /proc/stat says now. */
void calm_look(struct calm_cpu *cpu, const struct cpu_time *now);
