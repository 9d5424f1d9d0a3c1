#include "machine/kernel_memory.h"

#include <errno.h>
#include <linux/bpf.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/count_of.h"
#include "base/error.h"

#define NO_PAGE	   UINT64_MAX
#define READ_BYTES 4096u /* at addresses that are multiples of it: never across two pages */

/* What the program is given and gives back. */
struct context {
	uint64_t address;
	int64_t result;
};

static long bpf(enum bpf_cmd command, union bpf_attr *attr)
{
	return syscall(SYS_bpf, command, attr, sizeof(*attr));
}

/* An array of one element, which is a page that both sides see. */
static int create_map(void)
{
	union bpf_attr attr = { .map_type = BPF_MAP_TYPE_ARRAY,
				.key_size = sizeof(uint32_t),
				.value_size = READ_BYTES,
				.max_entries = 1,
				.map_flags = BPF_F_MMAPABLE,
				.map_name = "culprit_text" };
	return (int)bpf(BPF_MAP_CREATE, &attr);
}

/* context->result = bpf_probe_read_kernel(page, READ_BYTES, context->address) */
static int load_program(int map_fd)
{
	const struct bpf_insn program[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 6, .src_reg = 1 },
		{ .code = BPF_LDX | BPF_MEM | BPF_DW,
		  .dst_reg = 3,
		  .src_reg = 6,
		  .off = offsetof(struct context, address) },
		{ .code = BPF_LD | BPF_IMM | BPF_DW, /* the page's address, of two instructions */
		  .dst_reg = 1,
		  .src_reg = BPF_PSEUDO_MAP_VALUE,
		  .imm = map_fd },
		{ .code = 0 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 2, .imm = READ_BYTES },
		{ .code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_probe_read_kernel },
		{ .code = BPF_STX | BPF_MEM | BPF_DW,
		  .dst_reg = 6,
		  .src_reg = 0,
		  .off = offsetof(struct context, result) },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .imm = 0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	union bpf_attr attr = {
		.prog_type = BPF_PROG_TYPE_SYSCALL,
		.insns = (uint64_t)(uintptr_t)program,
		.insn_cnt = COUNT_OF(program),
		.license = (uint64_t)(uintptr_t) "GPL", /* the helper is for such programs alone */
		.prog_flags = BPF_F_SLEEPABLE,
		.prog_name = "culprit_text",
	};
	return (int)bpf(BPF_PROG_LOAD, &attr);
}

static int open_all(struct kernel_memory *memory)
{
	memory->map_fd = create_map();
	if (memory->map_fd < 0)
		return -errno;
	memory->program_fd = load_program(memory->map_fd);
	if (memory->program_fd < 0)
		return -errno;
	void *page = mmap(NULL, READ_BYTES, PROT_READ, MAP_SHARED, memory->map_fd, 0);
	if (page == MAP_FAILED)
		return -errno;
	memory->page = page;
	return 0;
}

int kernel_memory_open(struct kernel_memory *memory, struct error *err)
{
	*memory = (struct kernel_memory){ .program_fd = -1, .map_fd = -1, .page_address = NO_PAGE };
	int ret = open_all(memory);
	if (ret == 0)
		return 0;
	kernel_memory_close(memory);
	return error_set(err, ret,
			 ret == -EPERM
				 ? "reading the kernel's text takes CAP_BPF and CAP_PERFMON"
				 : "this kernel does not let its text be read (%s; Linux 5.14 with "
				   "BPF does)",
			 strerror(-ret));
}

void kernel_memory_close(struct kernel_memory *memory)
{
	if (memory->page)
		munmap((void *)(uintptr_t)memory->page, READ_BYTES);
	if (memory->program_fd >= 0)
		close(memory->program_fd);
	if (memory->map_fd >= 0)
		close(memory->map_fd);
	*memory = (struct kernel_memory){ .program_fd = -1, .map_fd = -1, .page_address = NO_PAGE };
}

void kernel_memory_forget(struct kernel_memory *memory)
{
	memory->page_address = NO_PAGE;
}

static int read_page(struct kernel_memory *memory, uint64_t address)
{
	struct context context = { address, -EFAULT };
	union bpf_attr attr = { .test = { .prog_fd = (uint32_t)memory->program_fd,
					  .ctx_in = (uint64_t)(uintptr_t)&context,
					  .ctx_size_in = sizeof(context) } };
	memory->page_address = NO_PAGE;
	if (bpf(BPF_PROG_TEST_RUN, &attr) < 0)
		return -errno;
	if (context.result < 0)
		return (int)context.result;
	memory->page_address = address;
	return 0;
}

int kernel_memory_read(struct kernel_memory *memory, uint64_t address, void *bytes, size_t size)
{
	uint8_t *to = bytes;
	if (!memory->page)
		return -EBADF;
	while (size > 0) {
		uint64_t page = address & ~(uint64_t)(READ_BYTES - 1);
		size_t from = (size_t)(address - page);
		size_t now = READ_BYTES - from < size ? READ_BYTES - from : size;
		int ret = memory->page_address == page ? 0 : read_page(memory, page);
		if (ret < 0)
			return ret;
		memcpy(to, memory->page + from, now);
		to += now;
		address += now;
		size -= now;
	}
	return 0;
}
