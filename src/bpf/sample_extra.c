#include "bpf/sample_extra.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <sys/ioctl.h>

#include "bpf/program.h"

void sample_extra_output_attr(struct perf_event_attr *attr)
{
	attr->type = PERF_TYPE_SOFTWARE;
	attr->config = PERF_COUNT_SW_BPF_OUTPUT;
	attr->sample_type |= PERF_SAMPLE_RAW;
	attr->sample_period = 1;
}

int sample_extra_set_output(const struct sample_extra *extra, int cpu, int fd)
{
	return program_map_set(extra->outputs_fd, (uint32_t)cpu, (uint32_t)fd);
}

int sample_extra_attach(const struct sample_extra *extra, int fd)
{
	return ioctl(fd, PERF_EVENT_IOC_SET_BPF, extra->program_fd) ? -errno : 0;
}
