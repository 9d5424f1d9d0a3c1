/*
 * charge_text - one sentence that says of a report by line or by address which
 * instruction its samples are counted at: the one where they stand, or the one that waited.
 */
#pragma once

struct buffer;
struct report;

/* Nothing for reports that name neither lines nor addresses. */
void charge_text(const struct report *report, struct buffer *out);
