/*
 * default_events - what is counted where nobody says what.
 */
#pragma once

struct error;
struct event_list;
struct pmu_list;

/*
 * Appends what `record` and `stat` use when no event is given: one group of cycles and
 * instructions (ref-cycles too when it still fits the counters), one such
 * group per core type; cpu-clock where hardware cycles cannot be opened. When user
 * code alone may be sampled, the events say so (":u"). *why_not_cycles gets
 * the negative errno value that ruled out cycles, or 0. 0, -ENOMEM, or what even
 * cpu-clock was refused with (in *err).
 */
int event_list_default(struct event_list *list, const struct pmu_list *pmus, int *why_not_cycles,
		       struct error *err);
