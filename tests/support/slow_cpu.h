/*
 * slow_cpu - whether the CPU is emulated, which SLOW_CPU in the environment says: what takes time
 * takes several times as long there, so that tests that judge how long judge more generously, or
 * not at all.
 */
#pragma once

#include <stdbool.h>
#include <stdlib.h>

static inline bool cpu_is_slow(void)
{
	return getenv("SLOW_CPU");
}
