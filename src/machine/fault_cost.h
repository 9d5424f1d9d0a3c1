/*
 * fault_cost - what a page fault costs here: the kernel's and the processor's time for the cheapest
 * kind, the first write to a page of new memory.
 */
#pragma once

/* In seconds; the median over some hundred pages, measured in about a millisecond. NAN where there
 * is no memory for it. */
double fault_cost_measure(void);
