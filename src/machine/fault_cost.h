/*
 * fault_cost - what a page fault costs here: the kernel's and the processor's time for the cheapest
 * kind, the first write to a page of new memory, which is given back again.
 */
#pragma once

/* In seconds; the median over 1024 pages, measured in about a millisecond. NAN where there
 * is no memory for it. */
double fault_cost_measure(void);
