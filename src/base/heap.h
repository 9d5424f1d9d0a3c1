/*
 * heap - what malloc() keeps of what was freed.
 */
#pragma once

/* Gives what is free, also between blocks that are in use, back to the system: after work that took
 * much memory for a while. Takes some milliseconds. Does nothing with C libraries that cannot. Any
 * thread. */
void heap_trim(void);
