#include "support/own_samples.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bpf/sample_extra.h"
#include "machine/perf_open.h"
#include "machine/perf_record.h"
#include "machine/perf_ring.h"

#define IDENTITY_FIELDS                                                                            \
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME)

int own_samples_stay(void)
{
	int cpu = sched_getcpu();
	cpu_set_t here;
	CPU_ZERO(&here);
	CPU_SET((unsigned)cpu, &here);
	return sched_setaffinity(0, sizeof(here), &here) ? -errno : cpu;
}

static size_t mapped_bytes(const struct own_samples *own)
{
	return (size_t)sysconf(_SC_PAGESIZE) + own->ring_bytes;
}

static int add_program(struct own_samples *own, int cpu, const struct sample_extra *extra)
{
	struct perf_event_attr attr = { .size = sizeof(attr), .sample_type = IDENTITY_FIELDS };
	sample_extra_output_attr(&attr);
	own->output_fd = perf_open(&attr, -1, cpu, -1, 0);
	if (own->output_fd < 0)
		return own->output_fd;
	if (ioctl(own->output_fd, PERF_EVENT_IOC_SET_OUTPUT, own->fd) ||
	    ioctl(own->output_fd, PERF_EVENT_IOC_ID, &own->output_id))
		return -errno;
	int ret = sample_extra_set_output(extra, cpu, own->output_fd);
	return ret < 0 ? ret : sample_extra_attach(extra, own->fd);
}

int own_samples_open(struct own_samples *own, int cpu, const struct perf_event_attr *event,
		     size_t ring_pages, const struct sample_extra *extra)
{
	struct perf_event_attr attr = *event;
	attr.size = sizeof(attr);
	attr.sample_type |= IDENTITY_FIELDS;
	attr.disabled = 1;
	*own = (struct own_samples){ .output_fd = -1,
				     .sample_type = attr.sample_type,
				     .ring_bytes = ring_pages * (size_t)sysconf(_SC_PAGESIZE) };
	own->fd = perf_open(&attr, 0, cpu, -1, 0);
	if (own->fd < 0)
		return own->fd;
	void *ring = mmap(NULL, mapped_bytes(own), PROT_READ | PROT_WRITE, MAP_SHARED, own->fd, 0);
	int ret = ring == MAP_FAILED ? -errno : 0;
	own->ring = ret < 0 ? NULL : ring;
	if (ret == 0 && extra)
		ret = add_program(own, cpu, extra);
	if (ret < 0)
		own_samples_close(own);
	return ret;
}

void own_samples_close(struct own_samples *own)
{
	if (own->ring)
		munmap(own->ring, mapped_bytes(own));
	close(own->fd);
	if (own->output_fd >= 0)
		close(own->output_fd);
	*own = (struct own_samples){ .fd = -1, .output_fd = -1 };
}

bool own_samples_read(struct own_samples *own, own_samples_take take, void *context)
{
	const struct perf_ring ring = { own->ring, own->ring_bytes };
	const struct perf_layout layout = { .sample_type = own->sample_type },
				 output = { .sample_type = IDENTITY_FIELDS | PERF_SAMPLE_RAW };
	static uint8_t bytes[1 << 16];
	struct span parts[2];
	struct perf_event_header header;
	if (perf_ring_written(&ring, parts) < 0)
		return false;
	size_t size = parts[0].size + parts[1].size;
	for (size_t at = 0; at < size; at += header.size) {
		struct perf_record record;
		uint64_t id;
		if (size - at < sizeof(header))
			return false;
		perf_ring_copy(parts, at, &header, sizeof(header));
		if (header.size < sizeof(header) || header.size > size - at)
			return false;
		if (header.type != PERF_RECORD_SAMPLE)
			continue;
		perf_ring_copy(parts, at, bytes, header.size);
		memcpy(&id, bytes + sizeof(header), sizeof(id));
		bool added = own->output_fd >= 0 && id == own->output_id;
		if (perf_record_decode(bytes, header.size, added ? &output : &layout, &record) <= 0)
			return false;
		take(context, &record, added);
	}
	perf_ring_take(&ring, size);
	return true;
}
