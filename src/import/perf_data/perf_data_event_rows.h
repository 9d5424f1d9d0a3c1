/*
 * perf_data_event_rows - the events of a perf.data file as rows of a profile: what each
 * one is called, where need be as perf would call it, and in which unit it counts.
 */
#pragma once

struct perf_file_events;
struct profile;

/* Adds all events that have samples, or could have, and fills their `row` and `measure`. To be
 * called once the whole file is read. 0 or -ENOMEM. */
int perf_events_write(struct perf_file_events *events, struct profile *profile);
