/*
 * event_cpus - this thread on a CPU where an event counts: of several core types each has CPUs of
 * its own.
 */
#pragma once

#include <sched.h>
#include <stdbool.h>

struct event;

/* Goes there, if the event does not count everywhere. False when it may not. */
bool event_cpus_go(const struct event *event, cpu_set_t *before);
void event_cpus_come_back(const struct event *event, const cpu_set_t *before);
