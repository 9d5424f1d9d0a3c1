/*
 * late_samples - which samples of the kernel waited until interrupts were enabled again: their time
 * belongs to the code before. Where a procedure's code is known, those directly behind an
 * instruction that enables interrupts (isa/interrupts.h); else all samples of the procedures that
 * kernel_names.h lists.
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
 * Whether the event's samples can be late: those of clocks and arm64 counters come by an interrupt
 * that code can hold off; those of x86 counters by NMI, which it cannot.
 */
bool late_samples_can_be(const struct late_samples *late, const struct event_column *column);

/* Whether samples of such an event are late at an address of the procedure, a vaddr of the file.
 * False outside the kernel. */
bool late_samples_at(struct late_samples *late, const struct procedure *procedure, uint64_t vaddr);
