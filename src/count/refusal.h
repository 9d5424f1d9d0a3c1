/*
 * refusal - why the kernel does not count an event, as one clause for people: "this machine has no
 * hardware counters (no PMU)". advice/perf_explain.h says more, and needs a library for it.
 */
#pragma once

#include <stddef.h>

struct event;
struct pmu_list;

void refusal_explain(const struct event *event, const struct pmu_list *pmus, int code, char *text,
		     size_t size);
