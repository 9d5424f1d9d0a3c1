/*
 * report_flat - the rows of a report by parts: one for each procedure, image, process, line or
 * whatever else options.parts ask for. Each sample is in one row.
 */
#pragma once

struct error;
struct report;
struct resolver;

/* Fills report->rows, in no order. Returns 0 or a negative errno value with *err filled. */
int report_flat_fill(struct report *report, struct resolver *resolver, struct error *err);
