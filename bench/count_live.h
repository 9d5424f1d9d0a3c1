/*
 * count_live - what a reading of counters in user space costs beside the bare instructions that it
 * consists of, for bench count.
 */
#pragma once

/* Where the PMU's counters can be read, in cycles of this CPU by its own counter. Elsewhere a
 * function stands for the instruction, and the figure is of all the rest, in ns. */
void count_live_print(void);
