/* events - the two halves of the verb: the list, and encode. Internal to src/cli. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct pmu_list;

/* By enum event_cycles, the word for it in JSON; NULL: no cycles. */
extern const char *const event_cycles_keys[];

/* Prints how each of the `count` texts is encoded; returns the exit status. */
int events_encode(const struct pmu_list *pmus, char *const *texts, size_t count, bool json);
