/*
 * own_memory - how much memory this process and its helpers have resident.
 */
#pragma once

#include <stdint.h>

/* In bytes, as /proc/PID/statm has them: all of this process, and of the processes that it has
 * started and that still run what is of no file, since they run the same program. 0: /proc cannot be
 * read. */
uint64_t own_memory_resident(void);
