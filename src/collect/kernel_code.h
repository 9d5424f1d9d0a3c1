/*
 * kernel_code - the code of kernel procedures as it runs, for the stash: records of
 * their bytes and of the names of what they call. The kernel patches its text when it
 * starts and whenever a static key changes; what is read is what was there then.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "bpf/kernel_memory.h"

struct kallsyms;
struct record_set;

#define KERNEL_CODE_MAX_BYTES (1u << 20) /* of one procedure; larger ones are cut */

struct kernel_code {
	struct kernel_memory memory;
	bool opened; /* false: it cannot be read here; there is no code then */
};

/*
 * Call it before any event is opened, and release it after all are closed: the kernel tells of a
 * BPF program that comes or goes by KSYMBOL records, and where two recordings hear of one on a CPU,
 * all but the first get a longer one with garbage at its end (perf_event_ksymbol_output() does not
 * restore the size; seen on 6.18), which perf then cannot read.
 */
void kernel_code_open(struct kernel_code *code);

/*
 * Appends the code of each FUNCTION record in *records, whose addresses count from `base`, and
 * the callees that `kallsyms` names. What cannot be read is left out. 0 or -ENOMEM.
 */
int kernel_code_add(struct kernel_code *code, const struct kallsyms *kallsyms, uint64_t base,
		    struct record_set *records);
void kernel_code_release(struct kernel_code *code); /* also right for a zeroed one */
