/*
 * perf_data_unwind - samples whose user stacks are recorded as registers and
 * bytes wait here, packed, until the table of build-ids at the end of the file
 * says which binaries may unwind them. When they grow past what the file itself
 * is large, they are unwound with what is known by then.
 *
 * Their processes are kept as they were: mappings are shared until they change.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct error;
struct import_options;
struct perf_data;
struct perf_stacks;
struct process;
struct unwind_run;

void perf_stacks_free(struct perf_stacks *waiting); /* NULL does nothing */

/* Keeps one sample: a record in our byte order, of that event, context and process. 0, or an error
 * of what was unwound to make room. */
int perf_data_wait(struct perf_data *data, uint32_t event, uint32_t context,
		   const struct process *process, const uint8_t *record, size_t size,
		   struct error *err);
/* Unwinds all that wait, and hands each to perf_data_add(). 0 or an error. */
int perf_data_unwind(struct perf_data *data, struct error *err);
/* The user's frames of the sample that is handed on, or NULL when there are none. */
const struct unwind_run *perf_data_unwound(const struct perf_data *data);
/* How many stacks ended before their root, and why. */
void perf_data_tell_unwound(const struct perf_data *data);
