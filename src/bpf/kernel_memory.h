/*
 * kernel_memory - memory of the running kernel: its text as it runs, after it has
 * patched itself for this processor. Read by a BPF program of a few instructions
 * (BPF_PROG_TYPE_SYSCALL and bpf_probe_read_kernel(); bpf(2), bpf-helpers(7)), which
 * needs Linux 5.14 and CAP_BPF with CAP_PERFMON. Nothing but reading is done, and an address that
 * is not mapped is an error, not a fault.
 *
 * One thread at a time.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct bpf_object;
struct error;

struct kernel_memory {
	struct bpf_object *object; /* NULL: closed */
	int program_fd;		   /* the object's */
	const uint8_t *page;	/* what was read last: the map's element, mapped into our memory */
	uint64_t page_address;	/* of what was read last */
};

/* 0 and for kernel_memory_close(); or a negative errno value (bpf/program.h) with *err saying what
 * is needed. */
int kernel_memory_open(struct kernel_memory *memory, struct error *err);
void kernel_memory_close(struct kernel_memory *memory); /* also right after a failed open */

/* Later calls read pages again that were read before: the kernel may have changed its text. */
void kernel_memory_forget(struct kernel_memory *memory);

/* Reads `size` bytes. 0 or a negative errno value: -EFAULT where something of it is not mapped. */
int kernel_memory_read(struct kernel_memory *memory, uint64_t address, void *bytes, size_t size);
