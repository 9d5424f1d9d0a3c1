#include "support/made_up_collector.h"

#include <assert.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "collect/collector_private.h"
#include "machine/haste.h"

#define SAMPLE_ID 7u
#define PID	  1u
#define DEPTH	  8u
#define PERIOD_NS 100000u

struct made_up_sample {
	struct perf_event_header header;
	uint64_t id, ip;
	uint32_t pid, tid;
	uint64_t time, count;
	uint64_t words[DEPTH + 1]; /* a mark, then addresses from the sampled one outwards */
};

static void *must(void *made)
{
	if (!made)
		abort();
	return made;
}

static void must_do(bool done)
{
	if (!done)
		abort();
}

static void make_ring(struct ring *ring, size_t data_bytes)
{
	ring->fd = -1;
	ring->data_bytes = data_bytes;
	ring->memory = mmap(NULL, data_bytes + (size_t)sysconf(_SC_PAGESIZE),
			    PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	must_do(ring->memory != MAP_FAILED);
}

static void make_counters(struct session *session, size_t ring_bytes)
{
	struct counters *counters = &session->counters;
	const struct profile_event event = { .name = span_of_text("cpu-clock"),
					     .unit = span_of_text("ns"),
					     .clock = EVENT_CLOCK,
					     .policy = PERIOD_FIXED,
					     .period = PERIOD_NS,
					     .sampled = 1 };
	counters->sampler_count = counters->cpu_count = 1;
	counters->options.inherit = true; /* no CPU is watched for being taken offline */
	counters->samplers = must(calloc(1, sizeof(*counters->samplers)));
	counters->cpus = must(calloc(1, sizeof(*counters->cpus)));
	counters->lanes = must(calloc(1, sizeof(*counters->lanes)));
	counters->list = must(calloc(1, sizeof(*counters->list)));
	counters->rings = must(calloc(2, sizeof(*counters->rings)));
	counters->absences = must(calloc(1, sizeof(*counters->absences)));
	session->last_exit = must(calloc(2, sizeof(*session->last_exit)));
	counters->samplers[0] = (struct sampler){
		.layout = { .sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP |
					   PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
					   PERF_SAMPLE_CALLCHAIN },
		.group_size = 1,
		.clock = true,
		.sampled = true,
		.stacks = true,
		.policy = PERIOD_FIXED,
		.mean_period = PERIOD_NS,
	};
	must_do(profile_add_event(session->profile, &event, &counters->samplers[0].id) == 0);
	counters->list[0].id = SAMPLE_ID;
	must_do(number_map_put(&counters->by_id, SAMPLE_ID, (void *)1) == 0);
	period_log_add(&counters->lanes[0].periods, 0, PERIOD_NS);
	make_ring(&counters->rings[0], ring_bytes);
	must_do(ring_watch_open(&counters->watch, 2) == 0 &&
		ring_watch_open(&counters->sideband_watch, 2) == 0);
}

/* A world of one thread, of the kernel, whose code fills the address space. */
static void make_world(struct session *session)
{
	struct process *process = must(process_need(&session->processes, PID));
	struct kernel_range *all = must(calloc(1, sizeof(*all)));
	const struct profile_image image = { .kind = IMAGE_KERNEL,
					     .name = span_of_text("[kernel]") };
	process->kernel = process->known = process->asked = true;
	*all = (struct kernel_range){ .end = UINT64_MAX, .what = KERNEL_CORE };
	must_do(profile_add_image(session->profile, &image, &all->image) == 0);
	session->kernel = (struct kernel_map){
		.ranges = all, .count = 1, .capacity = 1, .session = session->profile
	};
	session->world = session_world(session);
	session->stacks = true;
	session->processes.forget_space = session_forget_space;
	session->processes.forget_context = session;
	shares_init(&session->shares, &(struct share_limits){ 0 });
}

struct collector *made_up_collector_new(size_t ring_bytes)
{
	struct collector *collector = must(calloc(1, sizeof(*collector)));
	struct session *session = &collector->session;
	struct epoll_event event = { .events = EPOLLIN };
	haste_prefer(); /* as collectors do */
	collector->options = (struct collect_options){ .target = COLLECT_TASKS, .stash = true };
	collector->hotplug = HOTPLUG_NONE;
	collector->source = must(source_new());
	session->options = &collector->options;
	session->sample_memory = SAMPLE_MEMORY_CLOSED;
	session->profile = must(profile_new());
	must_do(tally_init(&session->tally, session->profile) == 0);
	make_counters(session, ring_bytes);
	make_world(session);
	collector->poll_fd = epoll_create1(EPOLL_CLOEXEC);
	collector->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	collector->resume_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	must_do(epoll_ctl(collector->poll_fd, EPOLL_CTL_ADD, collector->timer_fd, &event) == 0);
	return collector;
}

static struct made_up_sample sample_of(uint64_t serial)
{
	struct made_up_sample sample = {
		.header = { PERF_RECORD_SAMPLE, PERF_RECORD_MISC_KERNEL, sizeof(sample) },
		.id = SAMPLE_ID,
		.ip = 0x1000000 + serial * 16,
		.pid = PID,
		.tid = PID,
		.time = clock_monotonic_ns(),
		.count = DEPTH + 1,
	};
	sample.words[0] = (uint64_t)PERF_CONTEXT_KERNEL;
	sample.words[1] = sample.ip;
	for (uint64_t i = 2; i <= DEPTH; i++)
		sample.words[i] = 0x1000 * i + (serial % 1000) * 8;
	return sample;
}

bool made_up_collector_sample(struct collector *collector)
{
	struct ring *ring = &collector->session.counters.rings[0];
	struct perf_event_mmap_page *control = ring->memory;
	uint8_t *data = (uint8_t *)ring->memory + (size_t)sysconf(_SC_PAGESIZE);
	uint64_t head = control->data_head;
	uint64_t tail = __atomic_load_n(&control->data_tail, __ATOMIC_ACQUIRE);
	const struct made_up_sample sample = sample_of(head / sizeof(sample));
	if (ring->data_bytes - (head - tail) < sizeof(sample))
		return false;
	for (size_t i = 0; i < sizeof(sample); i++)
		data[(head + i) & (ring->data_bytes - 1)] = ((const uint8_t *)&sample)[i];
	__atomic_store_n(&control->data_head, head + sizeof(sample), __ATOMIC_RELEASE);
	return true;
}

uint64_t made_up_collector_written(const struct collector *collector)
{
	const struct perf_event_mmap_page *control = collector->session.counters.rings[0].memory;
	return __atomic_load_n(&control->data_head, __ATOMIC_ACQUIRE);
}

uint64_t made_up_collector_served(const struct collector *collector)
{
	const struct perf_event_mmap_page *control = collector->session.counters.rings[0].memory;
	return __atomic_load_n(&control->data_tail, __ATOMIC_ACQUIRE);
}
