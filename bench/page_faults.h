/*
 * page_faults - what a sample costs without the interrupt that it comes with: page faults are
 * sampled, every one, and a loop of them is timed with each way and without any, in turn.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define PAGE_FAULTS 19200u /* of one measurement */

/* What page_faults_ns() writes to; NULL: there is no memory. */
uint8_t *page_faults_room(void);
/* The CPU time of a fault, in ns. `fd`: the event that samples them, 0: none; `ring`: where its
 * records go (struct perf_event_mmap_page), which are taken as read; or NULL. */
double page_faults_ns(uint8_t *pages, int fd, void *ring);
/* Prints median and quartiles of what a fault takes more one way than the other. */
void page_faults_print(const char *name, const double *with, const double *without, size_t rounds);
