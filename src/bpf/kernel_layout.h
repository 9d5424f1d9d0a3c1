/*
 * kernel_layout - where the fields lie in the running kernel's structures that programs read, from
 * its own description of its types (BTF: /sys/kernel/btf/vmlinux, which kernels with
 * CONFIG_DEBUG_INFO_BTF have). Reading it takes some 50 ms of CPU time.
 */
#pragma once

#include "bpf/kernel_layout_fields.h"

struct btf;
struct error;

/* Fills *layout. 0, or a negative errno value with *err: -ENOENT where the kernel does not describe
 * its types, or not a field that every kernel has. */
int kernel_layout_read(struct kernel_layout *layout, struct error *err);
/* As above, from types that are borrowed (btf(7) of libbpf). For tests. */
int kernel_layout_of(const struct btf *types, struct kernel_layout *layout, struct error *err);
