/*
 * core_time - where a thread ran, on machines with several core types, told by the times for which
 * its events were on the PMU. Pure.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct event;

/* How long, in ns, events[event] was on the PMU. */
typedef uint64_t (*core_time_ran)(const void *context, size_t event);

/*
 * For how long at least the thread ran on cores of other types than events[event] counts on: of
 * each other type the event that was on the PMU for longest tells. For that time the kernel says
 * that the event was to count and did not, but there was nothing to count. 0 where there is one
 * core type.
 */
uint64_t core_time_elsewhere_ns(const struct event *events, size_t count, size_t event,
				core_time_ran ran, const void *context);
