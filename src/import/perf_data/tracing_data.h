/*
 * tracing_data - the formats of tracepoints as perf copies them from tracefs into a
 * recording (TRACING_DATA; tools/perf/util/trace-event-read.c has the layout). Only
 * what each is called is read: recordings of before 2013 have the names nowhere else.
 *
 * Parses a stranger's bytes, which it borrows; what makes no sense ends it.
 */
#pragma once

#include <stdint.h>

#include "base/span.h"

/* Hears of each tracepoint: its number, of 16 bits, "sched", "sched_switch", of 255 bytes each at
 * most: who keeps one of each number needs no more room than that, however large the file. 0, or
 * an error that ends it. */
typedef int (*tracing_data_visit)(void *context, uint64_t id, struct span system, struct span name);

/* 0; -EBADMSG (the bytes make no sense; what comes before was visited); or what `visit` returned.
 */
int tracing_data_read(struct span bytes, tracing_data_visit visit, void *context);
