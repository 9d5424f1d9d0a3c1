/*
 * sample_memory - the memory that a sample's registers point to, at its moment: a BPF program
 * of perf events (BPF_PROG_TYPE_PERF_EVENT; bpf(2), bpf-helpers(7)) that runs before the
 * kernel writes a sample of 64-bit user code, reads one block for each general register and the
 * stack pointer that could be a pointer, and writes them as a record of its own. That
 * record is a sample of the output event of that CPU (PERF_COUNT_SW_BPF_OUTPUT), its raw
 * data are struct sample_memory_block; it has the address and thread of the sample that
 * follows. It takes Linux 5.5, CAP_BPF and CAP_PERFMON. What is not mapped, or not
 * in memory at that moment, is left out; nothing is ever waited for.
 *
 * The kernel drops a sample with a program that interrupts another BPF program: in the kernel's
 * code only, so such samples should be of events without it (exclude_kernel).
 *
 * Opened before the events that it serves and closed after them (collect/kernel_code.h says why).
 * One thread at a time.
 */
#pragma once

#include "bpf/sample_memory_block.h"

struct bpf_object;
struct error;

struct sample_memory {
	struct bpf_object *object;  /* NULL: closed */
	int program_fd, outputs_fd; /* the object's; -1 */
};
#define SAMPLE_MEMORY_CLOSED ((struct sample_memory){ NULL, -1, -1 })

/* 0 and for sample_memory_close(); or a negative errno value (bpf/program.h) with *err saying what
 * is needed. */
int sample_memory_open(struct sample_memory *memory, struct error *err);
void sample_memory_close(struct sample_memory *memory); /* also right after a failed open */

struct perf_event_attr;
/* Makes *attr that of an output event, but for what all events of its ring have in common. */
void sample_memory_output_attr(struct perf_event_attr *attr);
/* From here on the memory at samples on `cpu` goes to the output event `fd`. 0 or negative errno.
 * The event stays open, also when `fd` is closed, until another takes its place or the memory is
 * closed. */
int sample_memory_set_output(struct sample_memory *memory, int cpu, int fd);
/* The samples of the event `fd` get their memory. 0 or negative errno. */
int sample_memory_attach(const struct sample_memory *memory, int fd);
