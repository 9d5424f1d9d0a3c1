/*
 * late_samples - which samples of the kernel waited until interrupts came back on: their time
 * belongs to the code before. Where a procedure's code is known, those that stand directly behind
 * what lets interrupts in (isa/interrupts.h); else all samples of procedures that are known for it
 * by their names (kernel_names.h).
 *
 * Borrows the profile and the resolver, which outlive it. One thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct error;
struct event_column;
struct late_samples;
struct procedure;
struct profile;
struct resolver;

int late_samples_new(const struct profile *profile, struct resolver *resolver,
		     struct late_samples **out, struct error *err);
void late_samples_free(struct late_samples *late);   /* NULL does nothing */
void late_samples_freep(struct late_samples **late); /* for CLEANUP() */

/*
 * Whether the event's samples can be late: clocks and arm64 counters come by an interrupt that
 * waits; x86 counters come by NMI, which no code puts off.
 */
bool late_samples_can_be(const struct late_samples *late, const struct event_column *column);

/* Whether samples of such an event are late at an address of the procedure, by the file's own
 * addresses. False outside the kernel. */
bool late_samples_at(struct late_samples *late, const struct procedure *procedure, uint64_t vaddr);
