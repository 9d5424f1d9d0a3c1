/*
 * report_json - a report as one JSON document, "schema": 1. The fields are
 * described in culprit-report(1). What is not known is null.
 */
#pragma once

struct buffer;
struct report;

/* Appends the document and a newline. Failure to allocate shows in the buffer. */
void report_json(const struct report *report, struct buffer *out);
