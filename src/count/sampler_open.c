#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <linux/perf_event.h>

#include "base/error.h"
#include "base/number.h"
#include "base/small_file.h"
#include "count/kernel.h"
#include "count/refusal.h"
#include "count/sampler_private.h"
#include "count/sides.h"

#define DEFAULT_HZ    1000
#define DEFAULT_BYTES (512u << 10)
#define LEAST_PAGES   8
#define LONGEST_PAGES ((size_t)1 << 18)

#define SAMPLE_FIELDS                                                                              \
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |            \
	 PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD)

/* What the events of a sampler have in common, so that their records can share a ring and a file.
 */
static void set_common(struct perf_event_attr *attr, const struct culprit_sampler_options *options,
		       size_t ring_bytes)
{
	attr->size = sizeof(*attr);
	attr->sample_type = SAMPLE_FIELDS | (options->stacks ? PERF_SAMPLE_CALLCHAIN : 0);
	attr->sample_id_all = 1;
	attr->read_format = PERF_FORMAT_ID | PERF_FORMAT_LOST;
	attr->use_clockid = 1;
	attr->clockid = CLOCK_MONOTONIC;
	attr->inherit = options->threads != 0;
	attr->inherit_thread = options->threads != 0;
	attr->watermark = 1; /* nobody waits for the ring */
	attr->wakeup_watermark = (uint32_t)(ring_bytes / 2);
	if (options->user_only && !attr->exclude_user)
		attr->exclude_kernel = attr->exclude_hv = 1;
	attr->exclude_callchain_kernel = attr->exclude_kernel;
}

static void set_dummy(struct culprit_sampler *sampler,
		      const struct culprit_sampler_options *options, size_t ring_bytes)
{
	sampler->dummy = (struct perf_event_attr){
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.mmap = 1,
		.mmap2 = 1,
		.comm = 1,
		.comm_exec = 1,
		.task = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	set_common(&sampler->dummy, options, ring_bytes);
}

static void set_sampled(struct perf_event_attr *attr, const struct culprit_sampler_options *options,
			size_t ring_bytes)
{
	set_common(attr, options, ring_bytes);
	attr->disabled = 1;
	if (options->period) {
		attr->freq = 0;
		attr->sample_period = options->period;
	} else if (options->frequency_hz || !attr->sample_period) {
		attr->freq = 1;
		attr->sample_freq = options->frequency_hz ? options->frequency_hz : DEFAULT_HZ;
	}
}

static bool refused_for_rights(int code)
{
	return code == -EACCES || code == -EPERM;
}

static bool refused_for_hardware(int code)
{
	return code == -ENOENT || code == -ENODEV || code == -ENXIO || code == -EOPNOTSUPP;
}

static int open_attr(const struct culprit_sampler *sampler, const struct perf_event_attr *attr,
		     int cpu, int leader)
{
	/* A clock stands alone: of one that is enabled in a group that counts already, the kernel
	   forgets how much of a period had passed (Linux 6.18), and segments shorter than a period
	   would have hardly a sample. */
	bool clock = attr->type == PERF_TYPE_SOFTWARE;
	return sampler->kernel->open(attr, 0, cpu, clock ? -1 : leader, 0);
}

/* Settles by the first event of all what this kernel knows: PERF_FORMAT_LOST is of Linux 6.0,
 * inherit_thread of 5.13. */
static int open_dummy(struct culprit_sampler *sampler, int cpu)
{
	struct perf_event_attr *attr = &sampler->dummy;
	int fd = open_attr(sampler, attr, cpu, -1);
	if (fd == -EINVAL && attr->read_format & PERF_FORMAT_LOST) {
		attr->read_format &= ~(uint64_t)PERF_FORMAT_LOST;
		fd = open_attr(sampler, attr, cpu, -1);
	}
	if (fd == -EINVAL && attr->inherit_thread) {
		attr->inherit_thread = 0;
		fd = open_attr(sampler, attr, cpu, -1);
	}
	sampler->reads_lost = attr->read_format & PERF_FORMAT_LOST;
	sampler->inherits_processes = attr->inherit && !attr->inherit_thread;
	return fd;
}

static bool has_substitute(const struct event *event)
{
	return event->kind == EVENT_HARDWARE && event->cycles != EVENT_NO_CYCLES;
}

/* The clock in place of cycles that nothing counts here. */
static void become_clock(struct culprit_sampler *sampler, struct perf_event_attr *attr)
{
	attr->type = PERF_TYPE_SOFTWARE;
	attr->config = PERF_COUNT_SW_CPU_CLOCK;
	attr->config1 = attr->config2 = 0;
	attr->precise_ip = 0;
	sampler->event_count = 1;
	snprintf(sampler->name, sizeof(sampler->name), "cpu-clock%s",
		 attr->exclude_kernel ? ":u"
		 : attr->exclude_user ? ":k"
				      : "");
}

/* Opens a sampled event as it was asked for, else what comes nearest; attrs[] say what. */
static int open_sampled(struct culprit_sampler *sampler, size_t index, int cpu, int leader)
{
	const struct event *event = &sampler->list.events[index];
	struct perf_event_attr *attr = &sampler->attrs[index];
	attr->read_format = sampler->dummy.read_format;
	attr->inherit_thread = sampler->dummy.inherit_thread;
	int fd = open_attr(sampler, attr, cpu, leader);
	while (event->max_precise && attr->precise_ip &&
	       (fd == -EINVAL || fd == -EOPNOTSUPP || fd == -ENOENT)) {
		attr->precise_ip--;
		fd = open_attr(sampler, attr, cpu, leader);
	}
	if (refused_for_hardware(fd) && has_substitute(event) && index == 0) {
		become_clock(sampler, attr);
		fd = open_attr(sampler, attr, cpu, leader);
	}
	if (refused_for_rights(fd) && !attr->exclude_kernel && !attr->exclude_user) {
		struct perf_event_attr user = *attr;
		user.exclude_kernel = user.exclude_hv = user.exclude_callchain_kernel = 1;
		int user_fd = open_attr(sampler, &user, cpu, leader);
		if (refused_for_rights(user_fd))
			return fd;
		fd = user_fd;
		*attr = user;
		if (fd >= 0 && index == 0)
			name_user_side(sampler->name, sizeof(sampler->name));
		else if (fd < 0) /* a right may be asked for before the PMU: try the clock, too */
			return open_sampled(sampler, index, cpu, leader);
	}
	return fd;
}

/* 0: not known. */
static uint64_t most_frequency(void)
{
	char line[32];
	uint64_t hz;
	if (small_file_read_line("/proc/sys/kernel/perf_event_max_sample_rate", line,
				 sizeof(line)) < 0)
		return 0;
	return number_parse_u64(line, &hz) ? hz : 0;
}

static int refuse(const struct culprit_sampler *sampler, size_t index, int code, struct error *err)
{
	char cause[512];
	const struct perf_event_attr *attr = &sampler->attrs[index];
	uint64_t most_hz = 0;
	if (code == -EINVAL)
		most_hz = most_frequency();
	if (most_hz && attr->freq && attr->sample_freq > most_hz)
		return error_set(
			err, code,
			"cannot sample '%s': %llu samples a second are more than the %llu of "
			"kernel.perf_event_max_sample_rate",
			sampler->name, (unsigned long long)attr->sample_freq,
			(unsigned long long)most_hz);
	refusal_explain(&sampler->list.events[index], &sampler->pmus, code, cause, sizeof(cause));
	return error_set(err, code, "cannot sample '%s': %s", sampler->name, cause);
}

/* A ring of the size that was asked for; of the default one as much as this user may lock. */
static int map_ring(struct culprit_sampler *sampler, struct sampler_lane *lane, size_t *pages,
		    size_t least_pages, struct error *err)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	for (;;) {
		lane->ring.control = sampler->kernel->map(lane->dummy, (*pages + 1) * page);
		lane->ring.data_bytes = *pages * page;
		if (lane->ring.control)
			return 0;
		if (*pages / 2 < least_pages)
			return error_set(err, -EPERM,
					 "cannot map a buffer of %zu KiB for samples: it is more "
					 "than this user may lock (kernel.perf_event_mlock_kb and "
					 "'ulimit -l')",
					 *pages * page / 1024);
		*pages /= 2;
	}
}

static int open_lane(struct culprit_sampler *sampler, struct sampler_lane *lane, struct error *err)
{
	lane->dummy = open_dummy(sampler, lane->cpu);
	if (lane->dummy < 0)
		return refuse(sampler, 0, lane->dummy, err);
	int ret = sampler->kernel->control(lane->dummy, PERF_EVENT_IOC_ID,
					   (unsigned long)&lane->dummy_id);
	for (size_t i = 0; ret == 0 && i < sampler->event_count; i++) {
		const struct event *event = &sampler->list.events[i];
		if (lane->cpu >= 0 && event->has_cpus &&
		    !cpu_set_has(&event->cpus, (size_t)lane->cpu))
			continue;
		/* Types of cores are PMUs of their own, which share no group. */
		lane->fds[i] = open_sampled(sampler, i, lane->cpu, i ? -1 : lane->dummy);
		if (lane->fds[i] < 0)
			return refuse(sampler, i, lane->fds[i], err);
		ret = sampler->kernel->control(lane->fds[i], PERF_EVENT_IOC_ID,
					       (unsigned long)&lane->ids[i]);
	}
	return ret < 0 ? error_set(err, ret, "cannot tell the number of '%s': %s", sampler->name,
				   strerror(-ret))
		       : 0;
}

static int share_ring(struct culprit_sampler *sampler, struct sampler_lane *lane, struct error *err)
{
	for (size_t i = 0; i < sampler->event_count; i++) {
		int ret = lane->fds[i] < 0 ? 0
					   : sampler->kernel->control(lane->fds[i],
								      PERF_EVENT_IOC_SET_OUTPUT,
								      (unsigned long)lane->dummy);
		if (ret < 0)
			return error_set(err, ret, "cannot share a buffer for samples of '%s': %s",
					 sampler->name, strerror(-ret));
	}
	return 0;
}

static int make_lanes(struct culprit_sampler *sampler, bool each_cpu, struct error *err)
{
	long cpus = each_cpu ? sysconf(_SC_NPROCESSORS_CONF) : 1;
	sampler->lanes = calloc(cpus > 0 ? (size_t)cpus : 1, sizeof(*sampler->lanes));
	if (!sampler->lanes)
		return error_set(err, -ENOMEM, "out of memory opening a sampler");
	sampler->lane_count = cpus > 0 ? (size_t)cpus : 1;
	for (size_t i = 0; i < sampler->lane_count; i++) {
		struct sampler_lane *lane = &sampler->lanes[i];
		lane->cpu = each_cpu ? (int)i : -1;
		lane->dummy = -1;
		memset(lane->fds, -1, sizeof(lane->fds));
	}
	return 0;
}

/* In pages, a power of two; 0 for more than makes sense. */
static size_t ring_pages(size_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t wanted = bytes / page + (bytes % page != 0);
	size_t pages = 1;
	while (pages < wanted && pages <= LONGEST_PAGES)
		pages *= 2;
	return pages > LONGEST_PAGES ? 0 : pages;
}

int sampler_open_events(struct culprit_sampler *sampler,
			const struct culprit_sampler_options *options, struct error *err)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t pages = ring_pages(options->buffer_bytes ? options->buffer_bytes : DEFAULT_BYTES);
	size_t least = options->buffer_bytes ? pages : LEAST_PAGES;
	if (!pages)
		return error_set(err, -EINVAL, "a buffer of %zu bytes for samples is too large",
				 options->buffer_bytes);
	set_dummy(sampler, options, pages * page);
	for (size_t i = 0; i < sampler->event_count; i++) {
		sampler->attrs[i] = sampler->list.events[i].attr;
		set_sampled(&sampler->attrs[i], options, pages * page);
	}
	int ret = make_lanes(sampler, options->threads != 0, err);
	size_t opened = 0;
	for (size_t i = 0; ret == 0 && i < sampler->lane_count; i++) {
		struct sampler_lane *lane = &sampler->lanes[opened];
		lane->cpu = options->threads ? (int)i : -1;
		ret = open_lane(sampler, lane, err);
		if (ret == -ENODEV && lane->dummy < 0 && options->threads) {
			ret = 0; /* the CPU is offline */
			continue;
		}
		if (ret == 0)
			ret = map_ring(sampler, lane, &pages, least, err);
		if (ret == 0)
			ret = share_ring(sampler, lane, err);
		opened++;
	}
	sampler->lane_count = opened;
	sampler->layout = (struct perf_layout){ .sample_type = sampler->dummy.sample_type,
						.read_format = sampler->dummy.read_format,
						.sample_id_all = true,
						.never_build_id = true };
	return ret;
}

void sampler_close_events(struct culprit_sampler *sampler)
{
	bool ours = own_process_is_this(&sampler->own);
	for (size_t i = 0; i < sampler->lane_count; i++) {
		struct sampler_lane *lane = &sampler->lanes[i];
		/* A child has not inherited the mapping: at that address may be something else. */
		if (lane->ring.control && ours)
			sampler->kernel->unmap(lane->ring.control,
					       lane->ring.data_bytes +
						       (size_t)sysconf(_SC_PAGESIZE));
		for (size_t e = 0; e < CPU_MAX_TYPES; e++)
			if (lane->fds[e] >= 0)
				sampler->kernel->close(lane->fds[e]);
		if (lane->dummy >= 0)
			sampler->kernel->close(lane->dummy);
	}
	free(sampler->lanes);
	sampler->lanes = NULL;
	sampler->lane_count = 0;
}
