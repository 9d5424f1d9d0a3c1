#include <errno.h>
#include <string.h>
#include <linux/perf_event.h>

#include "base/clock.h"
#include "count/kernel.h"
#include "count/sampler_file.h"
#include "count/sampler_private.h"
#include "count/sampler_ring.h"

/* Chains hold marks, which are no addresses, where the kernel's frames and the user's begin. */
static bool is_mark(uint64_t word)
{
	return word >= (uint64_t)PERF_CONTEXT_MAX;
}

/* The first frame is the sample itself; all others were called to return there. */
static size_t copy_calls(const struct perf_words *chain, uint64_t *calls)
{
	size_t count = 0;
	bool first = true;
	for (uint64_t i = 0; i < chain->count; i++) {
		uint64_t word = perf_word(chain, i);
		if (is_mark(word))
			continue;
		if (!first)
			calls[count++] = word;
		first = false;
	}
	return count;
}

static void hand_on(struct culprit_sampler *sampler, const struct perf_record *record)
{
	const struct perf_identity *identity = &record->identity;
	struct culprit_sample sample = {
		.address = record->sample.ip,
		.time_ns = identity->time,
		.period = record->sample.period,
		.pid = identity->pid,
		.tid = identity->tid,
		.cpu = identity->cpu,
		.kernel = (record->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL,
	};
	if (sampler->calls) {
		sample.calls = sampler->calls;
		sample.call_count = copy_calls(&record->sample.chain, sampler->calls);
	}
	sampler->function(sampler->context, &sample);
}

/* False: it is not for this sampler's user. */
static bool take_record(struct culprit_sampler *sampler, uint32_t type, const uint8_t *bytes,
			size_t size)
{
	struct perf_record record;
	bool sample = type == PERF_RECORD_SAMPLE;
	if (!sample && type != PERF_RECORD_LOST && type != PERF_RECORD_LOST_SAMPLES &&
	    type != PERF_RECORD_THROTTLE && type != PERF_RECORD_MMAP2)
		return true;
	if (perf_record_decode(bytes, size, &sampler->layout, &record) < 0) {
		sampler->damage = -EBADMSG;
		return false;
	}
	if (sample && sampler->inherits_processes &&
	    record.identity.pid != (uint32_t)sampler->own.pid)
		return false;
	sampler->counts.samples += sample;
	sampler->counts.throttled += type == PERF_RECORD_THROTTLE;
	if (type == PERF_RECORD_LOST || type == PERF_RECORD_LOST_SAMPLES)
		sampler->counts.lost += record.lost.lost;
	if (type == PERF_RECORD_LOST_SAMPLES)
		sampler->dropped += record.lost.lost;
	sampler->saw_mapping |= type == PERF_RECORD_MMAP2;
	if (sample && sampler->function)
		hand_on(sampler, &record);
	return true;
}

static void take_bytes(void *context, const uint8_t *bytes, size_t size)
{
	struct culprit_sampler *sampler = context;
	struct perf_event_header header;
	memcpy(&header, bytes, sizeof(header));
	if (!take_record(sampler, header.type, bytes, size) || !sampler->file)
		return;
	sampler_file_records(sampler->file, bytes, size);
	sampler->news = true;
}

int sampler_take(struct culprit_sampler *sampler)
{
	int ret = 0;
	sampler->damage = 0;
	for (size_t i = 0; i < sampler->lane_count; i++) {
		int status = sampler_ring_take(&sampler->lanes[i].ring, sampler->room, take_bytes,
					       sampler);
		ret = ret ? ret : status;
	}
	ret = ret ? ret : sampler->damage;
	if (!sampler->file)
		return ret;
	sampler_look_at_loads(sampler);
	if (sampler->news)
		sampler_file_round(sampler->file);
	sampler->news = false;
	return ret ? ret : sampler->file->stream.failure;
}

void sampler_look_at_loads(struct culprit_sampler *sampler)
{
	struct sampler_loads loads = sampler_loads_now();
	uint64_t now_ns = clock_monotonic_ns();
	if (loads.loaded != sampler->loads.loaded || loads.unloaded != sampler->loads.unloaded) {
		/* Threads that are not sampled report no mappings: one of theirs counts from when
		   it was not there yet, unless the sampled thread's own records say more. */
		bool theirs = sampler->running && !sampler->saw_mapping;
		sampler_maps_write(sampler->file, theirs ? sampler->looked_ns : now_ns);
		sampler->news = true;
	}
	sampler->loads = loads;
	sampler->looked_ns = now_ns;
	sampler->saw_mapping = false;
}

/* What a read(2) of an event with PERF_FORMAT_ID and PERF_FORMAT_LOST returns. */
struct lost_reading {
	uint64_t value, id, lost;
};

uint64_t sampler_lost(const struct culprit_sampler *sampler)
{
	uint64_t lost = sampler->dropped;
	for (size_t i = 0; sampler->reads_lost && i < sampler->lane_count; i++)
		for (size_t e = 0; e < sampler->event_count; e++) {
			struct lost_reading reading;
			int fd = sampler->lanes[i].fds[e];
			if (fd >= 0 &&
			    count_kernel_read(sampler->kernel, fd, &reading, sizeof(reading)) ==
				    (ssize_t)sizeof(reading))
				lost += reading.lost;
		}
	/* LOST records count what is no sample, too, and come late. */
	return sampler->reads_lost ? lost : sampler->counts.lost;
}
