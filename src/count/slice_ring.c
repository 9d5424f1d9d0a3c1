#include "count/slice_ring.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <linux/perf_event.h>

#include "count/kernel.h"
#include "count/target.h"

/* The kernel takes turns every 4 ms by default (perf_event_mux_interval_ms). A slice is known from
 * its first sample to its last, so all of it but an eighth. */
#define SLICE_PERIOD_NS 500000

/* Data pages: 64 KiB of records of a group of 8 are a third of a second on the PMU, which is some
 * eighty turns; users may lock 516 KiB (kernel.perf_event_mlock_kb). */
#define SLICE_RING_PAGES 16

/* Enabled and not on the PMU for longer than this between two samples: it was taken off. What the
 * two times of one sample differ by for other reasons is far below. */
#define SLICE_GAP_NS 100000

int slice_ring_open(struct slice_ring *slices, const struct count_kernel *kernel, int leader_fd,
		    const struct perf_event_attr *leader, const struct count_target *target)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = SLICE_PERIOD_NS,
		.sample_type = PERF_SAMPLE_READ,
		.read_format = leader->read_format,
		.exclude_user = leader->exclude_user,
		.exclude_kernel = leader->exclude_kernel,
		.exclude_hv = leader->exclude_hv,
		.watermark = 1,
		.wakeup_watermark = UINT32_MAX, /* nobody waits */
	};
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	*slices = (struct slice_ring){ .map_bytes = (SLICE_RING_PAGES + 1) * page };
	slices->fd = kernel->open(&attr, target->pid, target->cpu, leader_fd, 0);
	if (slices->fd < 0)
		return slices->fd;
	struct perf_event_mmap_page *control = kernel->map(slices->fd, slices->map_bytes);
	if (!control) {
		kernel->close(slices->fd);
		slices->fd = -1;
		return -EPERM;
	}
	slices->ring =
		(struct perf_ring){ .control = control, .data_bytes = SLICE_RING_PAGES * page };
	return 0;
}

void slice_ring_close(struct slice_ring *slices, const struct count_kernel *kernel, bool mapped)
{
	if (slices->fd < 0)
		return;
	if (mapped)
		kernel->unmap(slices->ring.control, slices->map_bytes);
	kernel->close(slices->fd);
	slices->fd = -1;
}

void slice_ring_begin(struct slice_ring *slices)
{
	struct span parts[2];
	if (slices->fd < 0)
		return;
	if (perf_ring_written(&slices->ring, parts) == 0)
		perf_ring_take(&slices->ring, parts[0].size + parts[1].size);
	slices->last.known = slices->begin.known = false;
	memset(slices->slices, 0, sizeof(slices->slices));
}

/* A sample came after a time off the PMU: a slice has ended with the sample before, and another
 * begins. When the first one began is not known. */
static void end_slice(struct slice_ring *slices, const struct slice_mark *mark)
{
	const struct slice_mark *begin = &slices->begin, *last = &slices->last;
	for (size_t i = 0; begin->known && i < EVENT_GROUP_LIMIT; i++)
		slices_add(&slices->slices[i], (double)(last->counts[i] - begin->counts[i]),
			   (double)(last->running_ns - begin->running_ns));
	slices->begin = *mark;
}

static void add_mark(struct slice_ring *slices, const struct slice_mark *mark)
{
	const struct slice_mark *last = &slices->last;
	if (last->known) {
		uint64_t enabled = mark->enabled_ns - last->enabled_ns;
		uint64_t running = mark->running_ns - last->running_ns;
		if (enabled > running && enabled - running > SLICE_GAP_NS)
			end_slice(slices, mark);
	}
	slices->last = *mark;
}

/* struct read_format of a group with both times, as it stands behind the header of a sample. */
struct sample_reading {
	uint64_t size, enabled_ns, running_ns;
	uint64_t counts[EVENT_GROUP_LIMIT + 1]; /* the clock is the last */
};

static void read_sample(struct slice_ring *slices, const struct span parts[2], size_t at,
			size_t size, uint64_t until_ns)
{
	struct sample_reading reading = { .size = 0 };
	size_t times = offsetof(struct sample_reading, counts);
	if (size < times || size > sizeof(reading))
		return;
	perf_ring_copy(parts, at, &reading, size);
	if (reading.size > (size - times) / sizeof(uint64_t) || reading.enabled_ns > until_ns)
		return;
	struct slice_mark mark = { .known = true,
				   .enabled_ns = reading.enabled_ns,
				   .running_ns = reading.running_ns };
	memcpy(mark.counts, reading.counts, sizeof(mark.counts));
	add_mark(slices, &mark);
}

void slice_ring_take(struct slice_ring *slices, uint64_t until_ns)
{
	struct span parts[2];
	if (slices->fd < 0 || perf_ring_written(&slices->ring, parts))
		return;
	size_t written = parts[0].size + parts[1].size, at = 0;
	while (written - at >= sizeof(struct perf_event_header)) {
		struct perf_event_header header;
		perf_ring_copy(parts, at, &header, sizeof(header));
		if (header.size < sizeof(header) || header.size > written - at)
			break;
		if (header.type == PERF_RECORD_SAMPLE)
			read_sample(slices, parts, at + sizeof(header),
				    header.size - sizeof(header), until_ns);
		at += header.size;
	}
	perf_ring_take(&slices->ring, written);
}
