#include "machine/probe.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/number.h"
#include "base/small_file.h"
#include "machine/event.h"
#include "machine/perf_open.h"

int probe_open(const struct perf_event_attr *attr, int cpu)
{
	int fd = perf_open(attr, cpu >= 0 ? -1 : 0, cpu, -1, 0);
	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

/* The attr of an event that every process may open, so that a refusal is about the feature. */
static struct perf_event_attr harmless(void)
{
	return (struct perf_event_attr){ .type = PERF_TYPE_SOFTWARE,
					 .size = sizeof(struct perf_event_attr),
					 .config = PERF_COUNT_SW_CPU_CLOCK,
					 .sample_period = 1000000000,
					 .disabled = 1,
					 .exclude_kernel = 1,
					 .exclude_hv = 1 };
}

static enum fact ask(const struct perf_event_attr *attr)
{
	switch (-probe_open(attr, -1)) {
	case 0:
		return FACT_YES;
	case EINVAL:
	case E2BIG:
	case EOPNOTSUPP:
	case ENOENT:
	case ENODEV:
		return FACT_NO;
	default:
		return FACT_UNKNOWN;
	}
}

void perf_features_probe(struct perf_features *features)
{
	*features = (struct perf_features){ 0 };
	struct perf_event_attr attr = harmless();
	if (ask(&attr) != FACT_YES)
		return;

	attr.read_format = PERF_FORMAT_LOST;
	features->format_lost = ask(&attr);

	attr = harmless();
	attr.inherit = 1;
	attr.read_format = PERF_FORMAT_ID | PERF_FORMAT_GROUP;
	attr.sample_type = PERF_SAMPLE_READ | PERF_SAMPLE_TID;
	features->inherit_read_tid = ask(&attr);

	attr = harmless();
	attr.mmap = attr.mmap2 = attr.build_id = 1;
	features->build_id = ask(&attr);

	attr = harmless();
	attr.ksymbol = 1;
	features->ksymbol = ask(&attr);

	attr = harmless();
	attr.text_poke = 1;
	features->text_poke = ask(&attr);

	attr = harmless();
	attr.type = PERF_TYPE_HARDWARE;
	attr.config = PERF_COUNT_HW_CPU_CYCLES;
	attr.sample_type = PERF_SAMPLE_BRANCH_STACK;
	attr.branch_sample_type = PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_ANY;
	features->branch_stack = ask(&attr);
}

unsigned probe_branch_depth(const char *pmu)
{
	char path[256], line[32];
	uint64_t depth = 0;
	int length = pmu ? snprintf(path, sizeof(path),
				    "/sys/bus/event_source/devices/%s/caps/branches", pmu)
			 : 0;
	if (length <= 0 || (size_t)length >= sizeof(path) || strchr(pmu, '/') ||
	    small_file_read_line(path, line, sizeof(line)) < 0 || !number_parse_u64(line, &depth) ||
	    depth > UINT16_MAX)
		return 0;
	return (unsigned)depth;
}

/*
 * A group may open and yet never run: the kernel checks it against all
 * counters, not against those that the NMI watchdog left. So let it count for a moment.
 */
static bool group_runs(int leader)
{
	struct {
		uint64_t count, enabled, running;
	} now = { 0 };
	if (ioctl(leader, PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP))
		return false;
	uint64_t end = clock_monotonic_ns() + 200000;
	while (clock_monotonic_ns() < end)
		;
	if (read(leader, &now, sizeof(now)) != sizeof(now))
		return false;
	return now.running > 0 && now.running == now.enabled;
}

int probe_group(const struct event_list *list, size_t leader)
{
	int fds[EVENT_GROUP_LIMIT];
	size_t size = event_list_group_size(list, leader), opened = 0;
	int status = 0;
	for (; opened < size; opened++) {
		struct perf_event_attr attr = list->events[leader + opened].attr;
		attr.disabled = opened == 0;
		if (opened == 0)
			attr.read_format =
				PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
		fds[opened] = perf_open(&attr, 0, -1, opened ? fds[0] : -1, 0);
		if (fds[opened] < 0) {
			status = fds[opened];
			break;
		}
	}
	const struct event *first = &list->events[leader];
	int before = sched_getcpu();
	if (!status && !group_runs(fds[0])) {
		/* Of another core type than the CPU we are on: it need not run here. */
		int after = sched_getcpu();
		bool elsewhere = first->has_cpus && before >= 0 && after >= 0 &&
				 (!cpu_set_has(&first->cpus, (size_t)before) ||
				  !cpu_set_has(&first->cpus, (size_t)after));
		if (!elsewhere)
			status = -EBUSY;
	}
	while (opened-- > 0)
		close(fds[opened]);
	return status;
}
