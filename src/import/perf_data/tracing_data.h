/*
 * tracing_data - the formats of tracepoints as perf copies them from tracefs into a
 * recording (TRACING_DATA; tools/perf/util/trace-event-read.c has the layout). Only their
 * names are read: recordings from before 2013 have them nowhere else.
 *
 * Parses a stranger's bytes, which it borrows; what makes no sense ends it.
 */
#pragma once

#include <stdint.h>

#include "base/span.h"

/* Is called for each tracepoint with its number, below 2^16, "sched" and "sched_switch", at most
 * 255 bytes each: so one name for each number takes bounded memory, however large the file. 0, or
 * an error that ends the reading. */
typedef int (*tracing_data_visit)(void *context, uint64_t id, struct span system, struct span name);

/* 0; -EBADMSG (the bytes make no sense; what comes before was visited); or what `visit` returned.
 */
int tracing_data_read(struct span bytes, tracing_data_visit visit, void *context);
