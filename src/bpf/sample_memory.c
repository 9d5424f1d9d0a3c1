#include "bpf/sample_memory.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stddef.h>
#include <sys/ioctl.h>

#include "bpf/program.h"

static const struct program_object_kind kind = {
	.name = "sample_memory",
	.purpose = "memory at a sample's registers",
	.linux_version = "5.5",
};

int sample_memory_open(struct sample_memory *memory, struct error *err)
{
	*memory = SAMPLE_MEMORY_CLOSED;
	int ret = program_object_load(&kind, NULL, &memory->object, err);
	if (ret < 0)
		return ret;
	memory->program_fd = program_object_program(memory->object, "read_blocks");
	memory->outputs_fd = program_object_map(memory->object, "outputs");
	return 0;
}

void sample_memory_close(struct sample_memory *memory)
{
	program_object_close(memory->object);
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
	return program_map_set(memory->outputs_fd, (uint32_t)cpu, (uint32_t)fd);
}

int sample_memory_attach(const struct sample_memory *memory, int fd)
{
	return ioctl(fd, PERF_EVENT_IOC_SET_BPF, memory->program_fd) ? -errno : 0;
}
