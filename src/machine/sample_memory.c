#include "machine/sample_memory.h"

#include <errno.h>
#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/count_of.h"
#include "base/error.h"
#include "machine/cpu_set.h"

#define INSTRUCTIONS_MOST 4096	/* what a program of an ordinary user may have, to go by */
#define LEAST_POINTER	  65536 /* Linux maps nothing below (mmap_min_addr) */
#define REGION_BITS	  40	/* addresses of 1 TiB */

/* Where the kernel shows the interrupted registers (bpf_user_pt_regs_t), each 8 bytes. */
#if defined(__x86_64__)
#define REGISTER(name) offsetof(struct bpf_perf_event_data, regs.name)
static const int16_t registers[] = {
	REGISTER(rax), REGISTER(rbx), REGISTER(rcx), REGISTER(rdx), REGISTER(rsi), REGISTER(rdi),
	REGISTER(rbp), REGISTER(rsp), REGISTER(r8),  REGISTER(r9),  REGISTER(r10), REGISTER(r11),
	REGISTER(r12), REGISTER(r13), REGISTER(r14), REGISTER(r15),
};
/* 64-bit user code has ring 3 here, as 32-bit code has, which is left to the collector. */
#define PC REGISTER(rip)
#define SP REGISTER(rsp)
/* Programs that are loaded anywhere, and what is mapped beside the stack. */
#define REGIONS                                                                                    \
	{                                                                                          \
		0x55, 0x56, 0x7e, 0x7f                                                             \
	}
#define MODE	  REGISTER(cs)
#define MODE_MASK 3
#define MODE_USER 3
#elif defined(__aarch64__)
#define REGISTER(number) (int16_t)(8 * (number))
static const int16_t registers[] = {
	REGISTER(0),  REGISTER(1),  REGISTER(2),  REGISTER(3),	REGISTER(4),  REGISTER(5),
	REGISTER(6),  REGISTER(7),  REGISTER(8),  REGISTER(9),	REGISTER(10), REGISTER(11),
	REGISTER(12), REGISTER(13), REGISTER(14), REGISTER(15), REGISTER(16), REGISTER(17),
	REGISTER(18), REGISTER(19), REGISTER(20), REGISTER(21), REGISTER(22), REGISTER(23),
	REGISTER(24), REGISTER(25), REGISTER(26), REGISTER(27), REGISTER(28), REGISTER(29),
	REGISTER(30), REGISTER(31), /* the last is sp */
};
/* pstate: the mode of 64-bit user code is 0 */
#define PC		 REGISTER(32)
#define SP		 REGISTER(31)
#define REGIONS                                                                                    \
	{                                                                                          \
		0xaa, 0xab, 0xfe, 0xff                                                             \
	}
#define MODE	  REGISTER(33)
#define MODE_MASK 31
#define MODE_USER 0
#else
static const int16_t registers[1];
#define REGISTERS 0
#define PC	  0
#define SP	  0
#define REGIONS                                                                                    \
	{                                                                                          \
		0                                                                                  \
	}
#define MODE	  0
#define MODE_MASK 0
#define MODE_USER 0
#endif
#ifndef REGISTERS
#define REGISTERS (sizeof(registers) / sizeof(registers[0]))
#endif

static long bpf(enum bpf_cmd command, union bpf_attr *attr)
{
	return syscall(SYS_bpf, command, attr, sizeof(*attr));
}

/* The blocks of one sample: more than the 512 bytes that a program's stack has. */
static int create_scratch(void)
{
	union bpf_attr attr = { .map_type = BPF_MAP_TYPE_PERCPU_ARRAY,
				.key_size = sizeof(uint32_t),
				.value_size =
					SAMPLE_MEMORY_BLOCKS * sizeof(struct sample_memory_block),
				.max_entries = 1,
				.map_name = "culprit_blocks" };
	return (int)bpf(BPF_MAP_CREATE, &attr);
}

/* The output event of each CPU. */
static int create_outputs(void)
{
	union bpf_attr attr = { .map_type = BPF_MAP_TYPE_PERF_EVENT_ARRAY,
				.key_size = sizeof(uint32_t),
				.value_size = sizeof(uint32_t),
				.max_entries = CPU_SET_LIMIT,
				.map_name = "culprit_output" };
	return (int)bpf(BPF_MAP_CREATE, &attr);
}

struct code {
	struct bpf_insn list[INSTRUCTIONS_MOST];
	uint32_t count;
};

/* Registers 6 to 9 live through calls. */
enum { RESULT, ARG1, ARG2, ARG3, ARG4, ARG5, CONTEXT, BLOCKS, USED, BLOCK, FRAME };

static void put(struct code *code, uint8_t operation, uint8_t to, uint8_t from, int16_t offset,
		int32_t number)
{
	if (code->count < INSTRUCTIONS_MOST)
		code->list[code->count] = (struct bpf_insn){ operation, to, from, offset, number };
	code->count++;
}

static void put_number(struct code *code, uint8_t operation, uint8_t to, int32_t number)
{
	put(code, BPF_ALU64 | operation | BPF_K, to, 0, 0, number);
}

static void put_move(struct code *code, uint8_t to, uint8_t from)
{
	put(code, BPF_ALU64 | BPF_MOV | BPF_X, to, from, 0, 0);
}

static void put_map(struct code *code, uint8_t to, int map_fd)
{
	put(code, BPF_LD | BPF_IMM | BPF_DW, to, BPF_PSEUDO_MAP_FD, 0, map_fd);
	put(code, 0, 0, 0, 0, 0);
}

static void put_call(struct code *code, int32_t function)
{
	put(code, BPF_JMP | BPF_CALL, 0, 0, 0, function);
}

/* Makes the jumps from `from` on whose target is `unresolved` lead to the next instruction. */
static void land(struct code *code, uint32_t from, int16_t unresolved)
{
	for (uint32_t at = from; at < code->count && at < INSTRUCTIONS_MOST; at++)
		if (code->list[at].off == unresolved && BPF_CLASS(code->list[at].code) == BPF_JMP)
			code->list[at].off = (int16_t)(code->count - at - 1);
}

#define TO_NEXT INT16_MAX	/* the next register */
#define TO_READ (INT16_MAX - 1) /* it could be a pointer */
#define TO_END	(INT16_MAX - 2) /* there is nothing to write */

/* Offsets in the program's stack: of the scratch's key, of the regions of code and stack, */
#define KEY_AT	 (-4)
#define CODE_AT	 (-16)
#define STACK_AT (-24)
/* and the block of register `i`. */
static int16_t seen_at(size_t i)
{
	return (int16_t)(-8 * ((int)i + 4));
}

static void put_region(struct code *code, int16_t of, int16_t at)
{
	put(code, BPF_LDX | BPF_MEM | BPF_DW, ARG1, CONTEXT, of, 0);
	put_number(code, BPF_RSH, ARG1, REGION_BITS);
	put(code, BPF_STX | BPF_MEM | BPF_DW, FRAME, ARG1, at, 0);
}

/*
 * Whether BLOCK could be a pointer: an address where nothing is mapped costs a fault of the
 * kernel's own, ten times what a read does. Regions of code, stack, and usual ones; of the lowest
 * one, where heaps of some runtimes are and small numbers look as if, what is above 4 GiB.
 */
static void put_filter(struct code *code)
{
	static const int32_t usual[] = REGIONS;
	uint32_t start = code->count;
	put(code, BPF_JMP | BPF_JLT | BPF_K, BLOCK, 0, TO_NEXT, LEAST_POINTER);
	put_move(code, ARG1, BLOCK);
	put_number(code, BPF_RSH, ARG1, REGION_BITS);
	for (int16_t at = CODE_AT; at >= STACK_AT; at = (int16_t)(at - 8)) {
		put(code, BPF_LDX | BPF_MEM | BPF_DW, ARG2, FRAME, at, 0);
		put(code, BPF_JMP | BPF_JEQ | BPF_X, ARG1, ARG2, TO_READ, 0);
	}
	for (size_t i = 0; i < COUNT_OF(usual); i++)
		put(code, BPF_JMP | BPF_JEQ | BPF_K, ARG1, 0, TO_READ, usual[i]);
	put(code, BPF_JMP | BPF_JNE | BPF_K, ARG1, 0, TO_NEXT, 0);
	put_move(code, ARG1, BLOCK);
	put_number(code, BPF_RSH, ARG1, 32);
	put(code, BPF_JMP | BPF_JEQ | BPF_K, ARG1, 0, TO_NEXT, 0);
	land(code, start, TO_READ);
}

/* The block that register `i` points into, unless an earlier one does. */
static void put_register(struct code *code, size_t i)
{
	uint32_t start = code->count;
	put(code, BPF_LDX | BPF_MEM | BPF_DW, BLOCK, CONTEXT, registers[i], 0);
	put_number(code, BPF_AND, BLOCK, -SAMPLE_MEMORY_LINE);
	put(code, BPF_STX | BPF_MEM | BPF_DW, FRAME, BLOCK, seen_at(i), 0);
	put_filter(code);
	for (size_t j = 0; j < i; j++) {
		put(code, BPF_LDX | BPF_MEM | BPF_DW, ARG1, FRAME, seen_at(j), 0);
		put(code, BPF_JMP | BPF_JEQ | BPF_X, BLOCK, ARG1, TO_NEXT, 0);
	}
	put_move(code, ARG1, BLOCKS);
	put(code, BPF_ALU64 | BPF_ADD | BPF_X, ARG1, USED, 0, 0);
	put(code, BPF_STX | BPF_MEM | BPF_DW, ARG1, BLOCK, 0, 0);
	put_number(code, BPF_ADD, ARG1, offsetof(struct sample_memory_block, bytes));
	put_number(code, BPF_MOV, ARG2, SAMPLE_MEMORY_BYTES);
	put_move(code, ARG3, BLOCK);
	put_call(code, BPF_FUNC_probe_read_user);
	put(code, BPF_JMP | BPF_JNE | BPF_K, RESULT, 0, TO_NEXT, 0);
	put_number(code, BPF_ADD, USED, sizeof(struct sample_memory_block));
	land(code, start, TO_NEXT);
}

static void put_program(struct code *code, const struct sample_memory *memory)
{
	put_move(code, CONTEXT, ARG1);
	put(code, BPF_LDX | BPF_MEM | BPF_DW, ARG1, CONTEXT, MODE, 0);
	put_number(code, BPF_AND, ARG1, MODE_MASK);
	put(code, BPF_JMP | BPF_JNE | BPF_K, ARG1, 0, TO_END, MODE_USER);
	put_region(code, PC, CODE_AT);
	put_region(code, SP, STACK_AT);
	put(code, BPF_ST | BPF_MEM | BPF_W, FRAME, 0, KEY_AT, 0); /* the only one */
	put_map(code, ARG1, memory->scratch_fd);
	put_move(code, ARG2, FRAME);
	put_number(code, BPF_ADD, ARG2, KEY_AT);
	put_call(code, BPF_FUNC_map_lookup_elem);
	put(code, BPF_JMP | BPF_JEQ | BPF_K, RESULT, 0, TO_END, 0);
	put_move(code, BLOCKS, RESULT);
	put_number(code, BPF_MOV, USED, 0);
	for (size_t i = 0; i < REGISTERS; i++)
		put_register(code, i);
	put(code, BPF_JMP | BPF_JEQ | BPF_K, USED, 0, TO_END, 0);
	put_move(code, ARG1, CONTEXT);
	put_map(code, ARG2, memory->outputs_fd);
	put(code, BPF_ALU | BPF_MOV | BPF_K, ARG3, 0, 0, -1); /* BPF_F_CURRENT_CPU */
	put_move(code, ARG4, BLOCKS);
	put_move(code, ARG5, USED);
	put_call(code, BPF_FUNC_perf_event_output);
	land(code, 0, TO_END);
	put_number(code, BPF_MOV, RESULT, 1); /* the sample itself is wanted */
	put(code, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
}

static int load_program(const struct sample_memory *memory)
{
	struct code code = { .count = 0 };
	put_program(&code, memory);
	if (code.count > INSTRUCTIONS_MOST) {
		errno = E2BIG;
		return -1;
	}
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_PERF_EVENT,
		.insns = (uint64_t)(uintptr_t)code.list,
		.insn_cnt = code.count,
		.license =
			(uint64_t)(uintptr_t) "GPL", /* the helpers are for such programs alone */
		.prog_name = "culprit_memory",
	};
	return (int)bpf(BPF_PROG_LOAD, &attr);
}

static int open_all(struct sample_memory *memory)
{
	if (!REGISTERS)
		return -EOPNOTSUPP;
	memory->scratch_fd = create_scratch();
	if (memory->scratch_fd < 0)
		return -errno;
	memory->outputs_fd = create_outputs();
	if (memory->outputs_fd < 0)
		return -errno;
	memory->program_fd = load_program(memory);
	return memory->program_fd < 0 ? -errno : 0;
}

int sample_memory_open(struct sample_memory *memory, struct error *err)
{
	*memory = SAMPLE_MEMORY_CLOSED;
	int ret = open_all(memory);
	if (ret == 0)
		return 0;
	sample_memory_close(memory);
	return error_set(err, ret,
			 ret == -EPERM
				 ? "memory at a sample's registers takes CAP_BPF and CAP_PERFMON"
				 : "this kernel does not let memory be read at a sample (%s; Linux "
				   "5.5 with BPF does)",
			 strerror(-ret));
}

void sample_memory_close(struct sample_memory *memory)
{
	/* The map first: it lets go of the output events. */
	if (memory->outputs_fd >= 0)
		close(memory->outputs_fd);
	if (memory->scratch_fd >= 0)
		close(memory->scratch_fd);
	if (memory->program_fd >= 0)
		close(memory->program_fd);
	*memory = SAMPLE_MEMORY_CLOSED;
}

void sample_memory_output_attr(struct perf_event_attr *attr)
{
	attr->type = PERF_TYPE_SOFTWARE;
	attr->config = PERF_COUNT_SW_BPF_OUTPUT;
	attr->sample_type |= PERF_SAMPLE_RAW;
	attr->sample_period = 1;
}

int sample_memory_set_output(struct sample_memory *memory, int cpu, int fd)
{
	uint32_t key = (uint32_t)cpu, value = (uint32_t)fd;
	union bpf_attr attr = { .map_fd = (uint32_t)memory->outputs_fd,
				.key = (uint64_t)(uintptr_t)&key,
				.value = (uint64_t)(uintptr_t)&value };
	return bpf(BPF_MAP_UPDATE_ELEM, &attr) < 0 ? -errno : 0;
}

int sample_memory_attach(const struct sample_memory *memory, int fd)
{
	return ioctl(fd, PERF_EVENT_IOC_SET_BPF, memory->program_fd) ? -errno : 0;
}
