#include "advice/sample_cost.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "bpf/sample_extra.h"
#include "machine/event.h"
#include "machine/perf_open.h"

#define LEAST_ROUNDS   2
#define MOST_ROUNDS    10
#define ON_NS	       32000000u
#define OFF_NS	       8000000u
#define WANTED_RATE_HZ 4999 /* prime, so that it does not lock to the timer tick */
#define GAPS_MAX       16384
#define RING_PAGES     32 /* 80 ms of samples are 13 KiB, with registers 110 */
#define LEAST_SAMPLES  40
#define ENOUGH_SAMPLES 250 /* more rounds would not tell the median much better */

static inline uint64_t time_stamp(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
	uint64_t ticks;
	__asm__ volatile("isb; mrs %0, cntvct_el0" : "=r"(ticks));
	return ticks;
#else
	return clock_monotonic_ns();
#endif
}

struct gap {
	uint64_t start; /* time stamps, from the beginning of the measurement */
	uint64_t ticks;
};

struct gaps {
	struct gap *all;
	size_t count;
	uint64_t stolen, total; /* ticks */
};

/* Both clocks at the beginning and the end of a spin: between them one is linear in the other. */
struct span_of_time {
	uint64_t start_ticks, end_ticks;
	uint64_t start_ns, end_ns;
};

/* Reads both clocks together; of three tries the quickest is the least disturbed. */
static void read_clocks(uint64_t *ticks, uint64_t *ns)
{
	uint64_t least = UINT64_MAX;
	for (int i = 0; i < 3; i++) {
		uint64_t before = time_stamp(), now_ns = clock_monotonic_ns(), after = time_stamp();
		if (after - before < least) {
			least = after - before;
			*ticks = before + least / 2;
			*ns = now_ns;
		}
	}
}

/* Spins for `ns` and keeps each gap longer than `threshold` ticks. */
static struct span_of_time spin(uint64_t ns, uint64_t threshold, struct gaps *gaps)
{
	struct span_of_time span = { 0 };
	read_clocks(&span.start_ticks, &span.start_ns);
	uint64_t last = time_stamp();
	do {
		/* The clock itself is read rarely: it is slower than what is measured. */
		for (int i = 0; i < 4096; i++) {
			uint64_t now = time_stamp();
			uint64_t gap = now - last;
			if (gap >= threshold) {
				gaps->stolen += gap;
				if (gaps->count < GAPS_MAX)
					gaps->all[gaps->count++] = (struct gap){ last, gap };
			}
			last = now;
		}
		span.end_ns = clock_monotonic_ns();
	} while (span.end_ns < span.start_ns + ns);
	read_clocks(&span.end_ticks, &span.end_ns);
	gaps->total += span.end_ticks - span.start_ticks;
	return span;
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/*
 * A gap of the loop that nothing interrupts is a few ns; a timer tick or a
 * sample takes 300 ns on the fastest machines.
 */
static uint64_t find_threshold(void)
{
	double gaps[1001];
	uint64_t ticks[2] = { 0 }, ns[2] = { 0 };
	read_clocks(&ticks[0], &ns[0]);
	do
		read_clocks(&ticks[1], &ns[1]);
	while (ns[1] - ns[0] < 1000000);
	double ticks_per_ns = (double)(ticks[1] - ticks[0]) / (double)(ns[1] - ns[0]);
	uint64_t last = time_stamp();
	for (size_t i = 0; i < 1001; i++) {
		uint64_t now = time_stamp();
		gaps[i] = (double)(now - last);
		last = now;
	}
	qsort(gaps, 1001, sizeof(gaps[0]), compare_doubles);
	double least = 200 * ticks_per_ns + 1, loop = gaps[500] * 8;
	return (uint64_t)(loop > least ? loop : least);
}

/* Cycles come at some 1 to 5 GHz; at 3 GHz the period gives the wanted rate, else one nearby. */
static uint64_t choose_period(const struct event *event, uint64_t rate_hz)
{
	return (event->clock ? UINT64_C(1000000000) : UINT64_C(3000000000)) / rate_hz;
}

struct sampler {
	int fd;
	void *ring;
	size_t ring_size;
	int output_fd; /* of what samples point to; -1: not measured */
	void *output;  /* its ring, of the same size, where the oldest is overwritten */
};

static void sampler_close(struct sampler *sampler)
{
	if (sampler->ring)
		munmap(sampler->ring, sampler->ring_size);
	if (sampler->fd >= 0)
		close(sampler->fd);
	if (sampler->output)
		munmap(sampler->output, sampler->ring_size);
	if (sampler->output_fd >= 0)
		close(sampler->output_fd);
}

/* Has what is added to samples on `cpu` written into a ring that nobody reads. */
static int add_extra(struct sampler *sampler, const struct sample_extra *extra, int cpu)
{
	struct perf_event_attr attr = { .size = sizeof(attr),
					.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP |
						       PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
					.use_clockid = 1,
					.clockid = CLOCK_MONOTONIC };
	sample_extra_output_attr(&attr);
	sampler->output_fd = perf_open(&attr, -1, cpu, -1, 0);
	if (sampler->output_fd < 0)
		return sampler->output_fd;
	void *ring = mmap(NULL, sampler->ring_size, PROT_READ, MAP_SHARED, sampler->output_fd, 0);
	if (ring == MAP_FAILED)
		return -errno;
	sampler->output = ring;
	int ret = sample_extra_set_output(extra, cpu, sampler->output_fd);
	return ret < 0 ? ret : sample_extra_attach(extra, sampler->fd);
}

static int sampler_open(const struct event *event, uint64_t rate_hz, struct sampler *sampler,
			struct error *err)
{
	struct perf_event_attr attr = event->attr;
	attr.freq = 0;
	attr.sample_period = choose_period(event, rate_hz);
	attr.sample_type |= PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
	attr.use_clockid = 1;
	attr.clockid = CLOCK_MONOTONIC;
	attr.disabled = 1;
	attr.pinned = 0;
	*sampler = (struct sampler){ .fd = perf_open(&attr, 0, -1, -1, 0), .output_fd = -1 };
	if (sampler->fd < 0)
		return error_set(err, sampler->fd, "cannot sample '%s' to see what it costs: %s",
				 event->name, strerror(-sampler->fd));
	sampler->ring_size = (1 + RING_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
	sampler->ring =
		mmap(NULL, sampler->ring_size, PROT_READ | PROT_WRITE, MAP_SHARED, sampler->fd, 0);
	if (sampler->ring != MAP_FAILED)
		return 0;
	sampler->ring = NULL;
	return error_set(err, -errno,
			 "no memory for a ring of %d pages to see what a sample costs: %s",
			 RING_PAGES, strerror(errno));
}

struct record { /* what comes first, in every kind of sample that is measured */
	struct perf_event_header header;
	uint64_t ip;
	uint32_t pid, tid;
	uint64_t time_ns;
};

/* The next record's time; false when the ring is empty. Other kinds of record are passed over. */
static bool take_sample(struct sampler *sampler, uint64_t *tail, uint64_t head, uint64_t *time_ns)
{
	const uint8_t *data = (const uint8_t *)sampler->ring + (size_t)sysconf(_SC_PAGESIZE);
	uint64_t size = sampler->ring_size - (size_t)sysconf(_SC_PAGESIZE);
	while (head - *tail >= sizeof(struct perf_event_header)) {
		struct record record;
		uint64_t left = head - *tail;
		size_t part = left < sizeof(record) ? (size_t)left : sizeof(record);
		memset(&record, 0, sizeof(record));
		for (size_t i = 0; i < part; i++)
			((uint8_t *)&record)[i] = data[(*tail + i) & (size - 1)];
		if (record.header.size == 0 || record.header.size > left)
			return false;
		*tail += record.header.size;
		if (record.header.type == PERF_RECORD_SAMPLE &&
		    record.header.size >= sizeof(record)) {
			*time_ns = record.time_ns;
			return true;
		}
	}
	return false;
}

struct costs {
	double ns[GAPS_MAX];
	size_t count;
};

/* Both samples and gaps rise in time: the gap in which a sample's time lies is what it cost. */
static void match_samples(struct sampler *sampler, const struct gaps *gaps, size_t first,
			  const struct span_of_time *span, struct costs *costs)
{
	struct perf_event_mmap_page *page = sampler->ring;
	uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = page->data_tail, time_ns;
	double ticks_per_ns = (double)(span->end_ticks - span->start_ticks) /
			      (double)(span->end_ns - span->start_ns);
	while (take_sample(sampler, &tail, head, &time_ns)) {
		if (time_ns < span->start_ns || time_ns > span->end_ns)
			continue;
		uint64_t at = span->start_ticks +
			      (uint64_t)((double)(time_ns - span->start_ns) * ticks_per_ns);
		while (first < gaps->count && gaps->all[first].start + gaps->all[first].ticks < at)
			first++;
		if (first == gaps->count || gaps->all[first].start > at || costs->count == GAPS_MAX)
			continue;
		costs->ns[costs->count++] = (double)gaps->all[first].ticks / ticks_per_ns;
		first++;
	}
	__atomic_store_n(&page->data_tail, head, __ATOMIC_RELEASE);
}

/*
 * An event of one core type counts on its own CPUs only: stay on them meanwhile. The
 * kernel's mask has the layout of struct cpu_set on little-endian machines, the only ones that
 * culprit runs on. Without such a CPU in our own mask nothing is changed, and too few samples come.
 */
static void stay_on(const struct event *event, struct cpu_set *before, bool *changed)
{
	struct cpu_set both = { 0 };
	*changed = false;
	if (!event->has_cpus || sched_getaffinity(0, sizeof(*before), (cpu_set_t *)before->words))
		return;
	for (size_t i = 0; i < CPU_SET_LIMIT / 64; i++)
		both.words[i] = before->words[i] & event->cpus.words[i];
	if (!cpu_set_empty(&both) && !cpu_set_equal(&both, before))
		*changed = sched_setaffinity(0, sizeof(both), (cpu_set_t *)both.words) == 0;
}

/* Binds the thread to the CPU where it runs now. */
static void stay_here(struct cpu_set *before, bool *changed)
{
	struct cpu_set here = { 0 };
	int cpu = sched_getcpu();
	if (cpu < 0 ||
	    (!*changed && sched_getaffinity(0, sizeof(*before), (cpu_set_t *)before->words)))
		return;
	cpu_set_add(&here, (size_t)cpu);
	if (sched_setaffinity(0, sizeof(here), (cpu_set_t *)here.words) == 0)
		*changed = true;
}

struct measuring {
	struct gap on[GAPS_MAX], off[GAPS_MAX];
	struct costs costs;
};

static int measure_rounds(const struct event *event, struct sampler *sampler, struct gaps *on,
			  struct gaps *off, struct costs *costs, struct error *err)
{
	uint64_t threshold = find_threshold();
	for (int round = 0;
	     round < LEAST_ROUNDS || (round < MOST_ROUNDS && costs->count < ENOUGH_SAMPLES);
	     round++) {
		size_t first = on->count;
		spin(OFF_NS, threshold, off);
		if (ioctl(sampler->fd, PERF_EVENT_IOC_ENABLE, 0))
			return error_set(err, -errno, "cannot start sampling '%s': %s", event->name,
					 strerror(errno));
		struct span_of_time span = spin(ON_NS, threshold, on);
		ioctl(sampler->fd, PERF_EVENT_IOC_DISABLE, 0);
		match_samples(sampler, on, first, &span, costs);
	}
	return 0;
}

int sample_cost_measure(const struct event *event, int64_t max_sample_rate,
			const struct sample_extra *extra, struct sample_cost *cost, struct error *err)
{
	CLEANUP(free_pointer) struct measuring *room = calloc(1, sizeof(*room));
	if (!room)
		return error_set(err, -ENOMEM, "out of memory while measuring a sample's cost");
	struct gaps on = { .all = room->on }, off = { .all = room->off };
	struct costs *costs = &room->costs;
	uint64_t rate_hz = WANTED_RATE_HZ;
	/* Above the limit the kernel throttles; half of it is safe. */
	if (max_sample_rate > 1 && (uint64_t)max_sample_rate / 2 < rate_hz)
		rate_hz = (uint64_t)max_sample_rate / 2;
	*cost = (struct sample_cost){ 0 };
	CLEANUP(sampler_close) struct sampler sampler;
	int status = sampler_open(event, rate_hz, &sampler, err);
	if (status)
		return status;
	struct cpu_set before = { 0 };
	bool moved;
	stay_on(event, &before, &moved);
	if (extra) {
		stay_here(&before, &moved);
		status = add_extra(&sampler, extra, sched_getcpu());
		if (status)
			error_set(err, status,
				  "cannot add to samples what would be, to see what they cost: %s",
				  strerror(-status));
	}
	if (status == 0)
		status = measure_rounds(event, &sampler, &on, &off, costs, err);
	if (moved)
		sched_setaffinity(0, sizeof(before), (cpu_set_t *)before.words);
	if (status)
		return status;
	if (costs->count < LEAST_SAMPLES)
		return error_set(err, -EAGAIN,
				 "too few samples of '%s' came to see what one costs (%zu)",
				 event->name, costs->count);
	qsort(costs->ns, costs->count, sizeof(costs->ns[0]), compare_doubles);
	cost->ns = costs->ns[costs->count / 2];
	cost->low_ns = costs->ns[costs->count / 10];
	cost->high_ns = costs->ns[costs->count - 1 - costs->count / 10];
	cost->samples = costs->count;
	cost->busy_ratio = (double)off.stolen / (double)off.total;
	return 0;
}

uint64_t sample_cost_rate(const struct sample_cost *cost, double ratio)
{
	double rate = cost->ns > 0 ? ratio * 1e9 / cost->ns : 1;
	return rate < 1 ? 1 : rate > 1e9 ? 1000000000 : (uint64_t)rate;
}
