/*
 * sample_extra - what a BPF program (BPF_PROG_TYPE_PERF_EVENT; bpf(2), bpf-helpers(7)) adds to samples: it
 * runs before the kernel writes one and writes a record of its own, a sample of the output event
 * of that CPU (PERF_COUNT_SW_BPF_OUTPUT) with what it has to tell as its raw data, and with the
 * address and thread of the sample that follows.
 *
 * The kernel drops a sample with a program that interrupts another BPF program, in the kernel's code
 * only, and does not count it as lost.
 */
#pragma once

struct perf_event_attr;

struct sample_extra {
	int program_fd, outputs_fd; /* the object's; -1 */
};
#define SAMPLE_EXTRA_NONE ((struct sample_extra){ -1, -1 })

/* Makes *attr that of an output event, but for what all events of its ring have in common. */
void sample_extra_output_attr(struct perf_event_attr *attr);
/* From here on what is added to samples on `cpu` goes to the output event `fd`. 0 or a negative
 * errno value. The event stays open, also when `fd` is closed, until another takes its place or the
 * object is closed. */
int sample_extra_set_output(const struct sample_extra *extra, int cpu, int fd);
/* Samples of the event `fd` get it. 0 or a negative errno value. */
int sample_extra_attach(const struct sample_extra *extra, int fd);
