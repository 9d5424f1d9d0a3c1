/*
 * added - what a BPF program added to a sample (bpf/sample_extra.h): the record before it in the ring.
 */
#pragma once

#include "base/span.h"

struct perf_layout;
struct perf_record;

/* The raw data of `attached`, a record of the output event, if it belongs to the sample *record:
 * same thread, same address. Else empty. The kernel has padded them to a multiple of 8 bytes, and they
 * lie in `attached`. */
struct span added_to(const struct perf_record *record, struct span attached,
		     const struct perf_layout *layout);
