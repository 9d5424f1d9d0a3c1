/*
 * vmlinux - what programs of this folder use of the kernel's types and constants, instead of the
 * megabytes that bpftool makes of a kernel's type information: its stable interface alone (below
 * include/uapi and arch/X/include/uapi). Programs read no structure of the kernel by name: where its
 * fields lie, they are told when they are loaded.
 */
#pragma once

typedef signed char __s8;
typedef unsigned char __u8;
typedef short __s16;
typedef unsigned short __u16;
typedef int __s32;
typedef unsigned int __u32;
typedef long long __s64;
typedef unsigned long long __u64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u64 __be64;
typedef __u32 __wsum;

enum bpf_map_type {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERF_EVENT_ARRAY = 4,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_ARRAY_OF_MAPS = 12,
	BPF_MAP_TYPE_RINGBUF = 27,
};

enum {
	BPF_NOEXIST = 1,	/* of an update */
	BPF_F_MMAPABLE = 1 << 10, /* of a map */
	BPF_RB_NO_WAKEUP = 1,	/* of what is put into a ring buffer */
	BPF_RB_FORCE_WAKEUP = 2,
};

#define BPF_F_CURRENT_CPU 0xffffffffull

#if defined(__TARGET_ARCH_x86)
struct user_pt_regs {
	__u64 r15, r14, r13, r12, rbp, rbx, r11, r10, r9, r8, rax, rcx, rdx, rsi, rdi;
	__u64 orig_rax, rip, cs, eflags, rsp, ss;
};
#elif defined(__TARGET_ARCH_arm64)
struct user_pt_regs {
	__u64 regs[31], sp, pc, pstate;
};
#else
#error "no registers of this architecture"
#endif

/* The context of a program of perf events. Each field is to be read whole, by an offset that is
 * constant: the verifier refuses all else. */
struct bpf_perf_event_data {
	struct user_pt_regs regs;
	__u64 sample_period;
	__u64 addr;
};
