#include "bpf/program_barrier.h"

#include <bpf/bpf.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "bpf/program.h"

int program_barrier_open(struct program_barrier *barrier)
{
	barrier->inner_fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "culprit_inner", sizeof(uint32_t),
					   sizeof(uint32_t), 1, NULL);
	if (barrier->inner_fd < 0)
		return barrier->inner_fd;
	LIBBPF_OPTS(bpf_map_create_opts, options, .inner_map_fd = (uint32_t)barrier->inner_fd);
	barrier->outer_fd = bpf_map_create(BPF_MAP_TYPE_ARRAY_OF_MAPS, "culprit_barrier",
					   sizeof(uint32_t), sizeof(uint32_t), 1, &options);
	return barrier->outer_fd < 0 ? barrier->outer_fd : 0;
}

void program_barrier_close(struct program_barrier *barrier)
{
	close_fd(&barrier->outer_fd);
	close_fd(&barrier->inner_fd);
	*barrier = PROGRAM_BARRIER_CLOSED;
}

int program_barrier_wait(const struct program_barrier *barrier)
{
	return program_map_set(barrier->outer_fd, 0, (uint32_t)barrier->inner_fd);
}
