#include "bpf/sample_memory.h"

#include <stddef.h>

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
	memory->extra.program_fd = program_object_program(memory->object, "read_blocks");
	memory->extra.outputs_fd = program_object_map(memory->object, "outputs");
	return 0;
}

void sample_memory_close(struct sample_memory *memory)
{
	program_object_close(memory->object);
	*memory = SAMPLE_MEMORY_CLOSED;
}
