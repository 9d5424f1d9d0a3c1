/* Reads a page of the kernel's memory when it is run (kernel_memory.h). */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

#include "kernel_memory_page.h"

char terms[] SEC("license") = "Dual MIT/GPL"; /* the helper is for such programs alone */

/* Both sides see it. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct kernel_memory_page);
} page SEC(".maps");

SEC("syscall")
int read_page(struct kernel_memory_request *request)
{
	__u32 only = 0;
	struct kernel_memory_page *to = bpf_map_lookup_elem(&page, &only);
	if (to)
		request->result = bpf_probe_read_kernel(to->bytes, sizeof(to->bytes),
							(const void *)request->address);
	return 0;
}
