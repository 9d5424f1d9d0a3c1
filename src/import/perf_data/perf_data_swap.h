/*
 * perf_data_swap - records written on a machine of the other byte order, brought
 * into ours in place. A record that is shorter than what it promises is swapped
 * as far as it goes; decoding refuses it then.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct perf_file_events;

/* The bytes of a perf_event_attr, whose flags are bit fields and so in reverse order too. */
void perf_swap_attr(uint8_t *attr, size_t size);
/* A whole record of `size` bytes, header included; `events` say which fields it has. */
void perf_swap_record(uint8_t *record, size_t size, const struct perf_file_events *events);
