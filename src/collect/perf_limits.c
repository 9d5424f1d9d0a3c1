#include "collect/perf_limits.h"

#include <stdlib.h>

#include "base/small_file.h"

static uint64_t read_number(const char *path)
{
	char line[32];
	return small_file_read_line(path, line, sizeof(line)) < 0 ? 0 : strtoull(line, NULL, 10);
}

uint64_t perf_limit_sample_rate(void)
{
	return read_number("/proc/sys/kernel/perf_event_max_sample_rate");
}

uint64_t perf_limit_stack(void)
{
	return read_number("/proc/sys/kernel/perf_event_max_stack");
}

uint64_t perf_limit_ring_kb(void)
{
	return read_number("/proc/sys/kernel/perf_event_mlock_kb");
}
