/*
 * sample_memory - the memory that a sample's registers point to, at its moment (sample_extra.h): of
 * a sample of 64-bit user code one block for each general register and the stack pointer that could
 * be a pointer, as struct sample_memory_block. It takes Linux 5.5, CAP_BPF and CAP_PERFMON. What is not
 * mapped, or not in memory at that moment, is left out; nothing is ever waited for.
 *
 * Samples of the kernel's code may be dropped (sample_extra.h): they should be of events without it
 * (exclude_kernel).
 *
 * Opened before the events that it serves and closed after them (collect/kernel_code.h says why).
 * One thread at a time.
 */
#pragma once

#include "bpf/sample_extra.h"
#include "bpf/sample_memory_block.h"

struct bpf_object;
struct error;

struct sample_memory {
	struct bpf_object *object; /* NULL: closed */
	struct sample_extra extra;
};
#define SAMPLE_MEMORY_CLOSED ((struct sample_memory){ NULL, SAMPLE_EXTRA_NONE })

/* 0 and for sample_memory_close(); or a negative errno value (bpf/program.h) with *err saying what
 * is needed. */
int sample_memory_open(struct sample_memory *memory, struct error *err);
void sample_memory_close(struct sample_memory *memory); /* also right after a failed open */
