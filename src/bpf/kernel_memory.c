#include "bpf/kernel_memory.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "bpf/kernel_memory_page.h"
#include "bpf/program.h"

#define NO_PAGE UINT64_MAX

static const struct program_object_kind kind = {
	.name = "kernel_memory",
	.purpose = "reading the kernel's text",
	.linux_version = "5.14",
};

int kernel_memory_open(struct kernel_memory *memory, struct error *err)
{
	*memory = (struct kernel_memory){ .page_address = NO_PAGE };
	int ret = program_object_load(&kind, NULL, &memory->object, err);
	if (ret < 0)
		return ret;
	memory->program_fd = program_object_program(memory->object, "read_page");
	void *page = mmap(NULL, KERNEL_MEMORY_PAGE, PROT_READ, MAP_SHARED,
			  program_object_map(memory->object, "page"), 0);
	if (page == MAP_FAILED) {
		ret = program_object_refused(&kind, -errno, err);
		kernel_memory_close(memory);
		return ret;
	}
	memory->page = page;
	return 0;
}

void kernel_memory_close(struct kernel_memory *memory)
{
	if (memory->page)
		munmap((void *)(uintptr_t)memory->page, KERNEL_MEMORY_PAGE);
	program_object_close(memory->object);
	*memory = (struct kernel_memory){ .page_address = NO_PAGE };
}

void kernel_memory_forget(struct kernel_memory *memory)
{
	memory->page_address = NO_PAGE;
}

static int read_page(struct kernel_memory *memory, uint64_t address)
{
	struct kernel_memory_request request = { address, -EFAULT };
	memory->page_address = NO_PAGE;
	int ret = program_run(memory->program_fd, &request, sizeof(request));
	if (ret < 0)
		return ret;
	if (request.result < 0)
		return (int)request.result;
	memory->page_address = address;
	return 0;
}

int kernel_memory_read(struct kernel_memory *memory, uint64_t address, void *bytes, size_t size)
{
	uint8_t *to = bytes;
	if (!memory->page)
		return -EBADF;
	while (size > 0) {
		uint64_t page = address & ~(uint64_t)(KERNEL_MEMORY_PAGE - 1);
		size_t from = (size_t)(address - page);
		size_t now = KERNEL_MEMORY_PAGE - from < size ? KERNEL_MEMORY_PAGE - from : size;
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
