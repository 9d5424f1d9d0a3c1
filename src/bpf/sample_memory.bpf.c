/* Reads the memory that a sample's registers point to, before the kernel writes the sample
 * (sample_memory.h). */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

#include "sample_memory_block.h"

char terms[] SEC("license") = "Dual MIT/GPL"; /* the helpers are for such programs alone */

#define LEAST_POINTER 65536 /* Linux maps nothing below (mmap_min_addr) */
#define REGION_BITS   40    /* addresses of 1 TiB */

#define REGION(address) ((address) >> REGION_BITS)

#if defined(__TARGET_ARCH_x86)
/* 64-bit user code has ring 3 here, as 32-bit code has, which is left to the collector. */
#define IS_USER(regs) (((regs).cs & 3) == 3)
#define PC(regs)      ((regs).rip)
#define SP(regs)      ((regs).rsp)
#define REGISTERS     16
/* Programs that are loaded anywhere, and what is mapped beside the stack. */
#define IS_USUAL(region) ((region) == 0x55 || (region) == 0x56 || (region) == 0x7e || (region) == 0x7f)
#define GENERAL(regs)                                                                              \
	(regs).rax, (regs).rbx, (regs).rcx, (regs).rdx, (regs).rsi, (regs).rdi, (regs).rbp,        \
		(regs).rsp, (regs).r8, (regs).r9, (regs).r10, (regs).r11, (regs).r12, (regs).r13,  \
		(regs).r14, (regs).r15
#else
/* The mode of 64-bit user code is 0. */
#define IS_USER(regs)	 (((regs).pstate & 31) == 0)
#define PC(regs)	 ((regs).pc)
#define SP(regs)	 ((regs).sp)
#define REGISTERS	 32
#define IS_USUAL(region) ((region) == 0xaa || (region) == 0xab || (region) == 0xfe || (region) == 0xff)
#define FOUR(r, i) (r)[(i)], (r)[(i) + 1], (r)[(i) + 2], (r)[(i) + 3]
#define GENERAL(r)                                                                                 \
	FOUR((r).regs, 0), FOUR((r).regs, 4), FOUR((r).regs, 8), FOUR((r).regs, 12),               \
		FOUR((r).regs, 16), FOUR((r).regs, 20), FOUR((r).regs, 24), (r).regs[28],          \
		(r).regs[29], (r).regs[30], (r).sp
#endif

struct blocks {
	struct sample_memory_block all[SAMPLE_MEMORY_BLOCKS];
};

/* The blocks of one sample: more than the 512 bytes that a program's stack has. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct blocks);
} scratch SEC(".maps");

/* The output event of each CPU; as many as the machine may have. */
struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(__u32));
} outputs SEC(".maps");

/*
 * Whether it could be a pointer: an address where nothing is mapped costs a fault of the kernel's
 * own, ten times what a read does. Regions of code, stack, and usual ones; of the lowest
 * one, where heaps of some runtimes are and small numbers look as if, what is above 4 GiB.
 */
static __always_inline int could_be_pointer(__u64 address, __u64 code, __u64 stack)
{
	__u64 region = REGION(address);
	if (address < LEAST_POINTER)
		return 0;
	if (region == code || region == stack || IS_USUAL(region))
		return 1;
	return region == 0 && address >> 32;
}

SEC("perf_event")
int read_blocks(struct bpf_perf_event_data *sample)
{
	__u32 only = 0, used = 0;
	if (!IS_USER(sample->regs))
		return 1;
	struct blocks *blocks = bpf_map_lookup_elem(&scratch, &only);
	if (!blocks)
		return 1;
	__u64 code = REGION(PC(sample->regs)), stack = REGION(SP(sample->regs));
	__u64 lines[REGISTERS] = { GENERAL(sample->regs) };
/* as a loop, it takes the verifier four times as long */
#pragma clang loop unroll(full)
	for (__u32 i = 0; i < REGISTERS; i++) {
		__u64 line = lines[i] & -(__u64)SAMPLE_MEMORY_LINE;
		__u32 earlier = 0;
		lines[i] = line;
		if (!could_be_pointer(line, code, stack))
			continue;
		while (earlier < i && lines[earlier] != line)
			earlier++;
		if (earlier < i)
			continue;
		struct sample_memory_block *block = &blocks->all[used % SAMPLE_MEMORY_BLOCKS];
		block->address = line;
		if (bpf_probe_read_user(block->bytes, sizeof(block->bytes), (const void *)line) == 0)
			used++;
	}
	if (used)
		bpf_perf_event_output(sample, &outputs, BPF_F_CURRENT_CPU, blocks,
				      used * sizeof(blocks->all[0]));
	return 1; /* the sample itself is wanted */
}
