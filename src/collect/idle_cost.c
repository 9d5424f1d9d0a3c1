#include "collect/idle_cost.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "collect/cpu_time.h"
#include "machine/cpu_set.h"
#include "machine/perf_open.h"

#define WANTED_RATE_HZ 20000u
#define LOOK_NS	       30000000u /* to see which CPU idles most */
#define WINDOW_NS      40000000u
#define WINDOWS	       5
#define LEAST_WINDOWS  3
#define POLL_NS	       200000u
#define PATIENCE_NS    40000000u /* without a tick of idle time so long: the CPU is busy */
#define LEAST_IDLE     0.3
#define RING_PAGES     8 /* samples are 8 bytes: 0.2 s of a CPU that is all busy */

bool idle_cost_of_window(const struct idle_window *window, double *ns)
{
	double wall = (double)window->wall_ns;
	double idle = (double)window->idle_ns;
	double work = (double)window->samples * (double)window->period_ns;
	if (!(wall > 0) || idle < LEAST_IDLE * wall || idle + work > wall)
		return false;
	/* What is neither idle nor work is the interrupts' time. They came once a period, while
	 * the CPU idled and while they were handled themselves. */
	double interrupts = wall - idle - work;
	*ns = interrupts * (double)window->period_ns / (idle + interrupts);
	return true;
}

static int compare(const void *left, const void *right)
{
	double a = *(const double *)left;
	double b = *(const double *)right;
	return (a > b) - (a < b);
}

bool idle_cost_of_windows(double *ns, size_t count, struct idle_cost *cost)
{
	if (count < LEAST_WINDOWS)
		return false;
	qsort(ns, count, sizeof(*ns), compare);
	*cost = (struct idle_cost){ ns[count / 2], ns[0], ns[count - 1] };
	return true;
}

static void sleep_ns(uint64_t ns)
{
	struct timespec time = { .tv_nsec = (long)ns };
	nanosleep(&time, NULL);
}

/* The position of the CPU that idles most, or -EAGAIN. */
static int find_idle(const int *cpus, size_t count)
{
	CLEANUP(free_pointer) struct cpu_time *before = calloc(count + 1, sizeof(*before));
	CLEANUP(free_pointer) struct cpu_time *after = calloc(count + 1, sizeof(*after));
	if (!before || !after)
		return -ENOMEM;
	int ret = cpu_time_read(cpus, count, before);
	sleep_ns(LOOK_NS);
	if (ret == 0)
		ret = cpu_time_read(cpus, count, after);
	int found = -EAGAIN;
	uint64_t most = 0;
	for (size_t i = 0; i < count && ret == 0; i++) {
		if (!before[i].known || !after[i].known)
			continue;
		uint64_t idle = cpu_time_idle_ns(&before[i], &after[i]);
		if (idle > most) {
			most = idle;
			found = (int)i;
		}
	}
	return ret < 0 ? ret : found;
}

struct timer {
	int fd;
	struct perf_event_mmap_page *ring;
	size_t ring_bytes;
	uint64_t period_ns;
};

static void timer_close(struct timer *timer)
{
	if (timer->ring)
		munmap(timer->ring, timer->ring_bytes);
	if (timer->fd >= 0)
		close(timer->fd);
}

static int timer_open(struct timer *timer, const struct perf_event_attr *clock, int cpu,
		      uint64_t rate_hz)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = clock->type,
		.config = clock->config,
		.sample_period = 1000000000u / rate_hz,
		.exclude_idle = 1,
		.disabled = 1,
	};
	timer->period_ns = attr.sample_period;
	timer->fd = perf_open(&attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (timer->fd < 0)
		return timer->fd;
	timer->ring_bytes = (1 + RING_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
	void *ring =
		mmap(NULL, timer->ring_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, timer->fd, 0);
	if (ring == MAP_FAILED)
		return -errno;
	timer->ring = ring;
	return 0;
}

static uint64_t samples_of(const struct timer *timer)
{
	return __atomic_load_n(&timer->ring->data_head, __ATOMIC_ACQUIRE) /
	       sizeof(struct perf_event_header);
}

/* Waits until the CPU's idle time grows by a tick, and stores that reading. False: it does not. */
static bool next_tick(int cpu, struct cpu_time *tick)
{
	struct cpu_time first;
	if (cpu_time_read(&cpu, 1, &first) < 0 || !first.known)
		return false;
	do {
		sleep_ns(POLL_NS);
		if (cpu_time_read(&cpu, 1, tick) < 0 || !tick->known)
			return false;
		if (tick->idle_ns != first.idle_ns)
			return true;
	} while (tick->wall_ns - first.wall_ns < PATIENCE_NS);
	return false;
}

static int measure_windows(const struct timer *timer, int cpu, struct idle_cost *cost)
{
	double ns[WINDOWS];
	size_t count = 0;
	struct cpu_time from, to;
	if (ioctl(timer->fd, PERF_EVENT_IOC_ENABLE, 0))
		return -errno;
	if (!next_tick(cpu, &from))
		return -EAGAIN;
	uint64_t samples = samples_of(timer);
	for (size_t i = 0; i < WINDOWS; i++) {
		sleep_ns(WINDOW_NS);
		if (!next_tick(cpu, &to))
			break;
		uint64_t now = samples_of(timer);
		struct idle_window window = { to.wall_ns - from.wall_ns,
					      cpu_time_idle_ns(&from, &to), timer->period_ns,
					      now - samples };
		size_t room = timer->ring_bytes - (size_t)sysconf(_SC_PAGESIZE);
		/* A full ring does not count further samples. */
		if ((now + 2) * sizeof(struct perf_event_header) < room &&
		    idle_cost_of_window(&window, &ns[count]))
			count++;
		from = to;
		samples = now;
	}
	return idle_cost_of_windows(ns, count, cost) ? 0 : -EAGAIN;
}

/* Moves this thread to other CPUs, so that it does not keep that one from idling. False: there is
 * no other CPU. */
static bool stay_away(int cpu, struct cpu_set *before)
{
	struct cpu_set others;
	if (sched_getaffinity(0, sizeof(*before), (cpu_set_t *)before->words))
		return false;
	others = *before;
	others.words[cpu / 64] &= ~(UINT64_C(1) << (cpu % 64));
	return !cpu_set_empty(&others) &&
	       sched_setaffinity(0, sizeof(others), (cpu_set_t *)others.words) == 0;
}

int idle_cost_measure(const struct perf_event_attr *attr, const int *cpus, size_t count,
		      uint64_t max_sample_rate, struct idle_cost *cost)
{
	CLEANUP(timer_close) struct timer timer = { .fd = -1 };
	uint64_t rate_hz = WANTED_RATE_HZ;
	/* Above the limit the kernel throttles; half of it is safe. */
	if (max_sample_rate > 1 && max_sample_rate / 2 < rate_hz)
		rate_hz = max_sample_rate / 2;
	int slot = find_idle(cpus, count);
	if (slot < 0)
		return slot;
	int ret = timer_open(&timer, attr, cpus[slot], rate_hz);
	if (ret < 0)
		return ret;
	struct cpu_set before = { 0 };
	bool moved = stay_away(cpus[slot], &before);
	ret = measure_windows(&timer, cpus[slot], cost);
	if (moved)
		sched_setaffinity(0, sizeof(before), (cpu_set_t *)before.words);
	return ret;
}
