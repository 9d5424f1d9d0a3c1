/* events - the two halves of the verb: the list, and encode. Internal to src/cli. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct pmu_list;

/* By enum event_cycles, as JSON says what an event counts; NULL: no cycles. */
extern const char *const event_cycles_keys[];

/* Prints what each argument becomes; returns the exit status. */
int events_encode(const struct pmu_list *pmus, char *const *texts, size_t count, bool json);
