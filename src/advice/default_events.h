/*
 * default_events - the events that are counted when the user names none.
 */
#pragma once

struct error;
struct event_list;
struct pmu_list;

/*
 * Appends what `record` and `stat` use when no event is given: one group of cycles and
 * instructions (ref-cycles too when it still fits the counters), one such
 * group per core type; cpu-clock where hardware cycles cannot be opened. When user
 * code alone may be sampled, their names end in ":u". *why_not_cycles gets the
 * negative errno value with which cycles were refused, or 0. Returns 0, -ENOMEM, or, with
 * *err, the value with which even cpu-clock was refused.
 */
int event_list_default(struct event_list *list, const struct pmu_list *pmus, int *why_not_cycles,
		       struct error *err);
