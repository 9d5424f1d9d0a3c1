#include "count/ticks.h"

#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "base/clock.h"
#include "count/kernel.h"

#define MEASURED_NS    5000000 /* a reading of both clocks is right to some 50 ns: 10 ppm */
#define TRIES	       10
#define READINGS       20   /* of both clocks, of which the fastest counts */
#define INTERRUPTED_NS 1000 /* that no reading takes by itself */

/* CLOCK_MONOTONIC by a system call: what the kernel maps for clock_gettime() reads the counter that
 * the process may not read. */
static uint64_t asked_ns(void)
{
	struct timespec now = { 0 };
	syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static bool is_forbidden(void)
{
#if defined(__x86_64__)
	int may_read = PR_TSC_SIGSEGV;
	return prctl(PR_GET_TSC, &may_read) != 0 || may_read != PR_TSC_ENABLE;
#else
	return false;
#endif
}

struct both_clocks {
	uint64_t ticks;
	uint64_t ns;
	uint64_t error_ns; /* how long reading them took */
};

static uint64_t raw_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC_RAW, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static struct both_clocks read_both(void)
{
	struct both_clocks best = { .error_ns = UINT64_MAX };
	for (int i = 0; i < READINGS; i++) {
		uint64_t before = raw_ns();
		uint64_t ticks = instruction_ticks();
		uint64_t after = raw_ns();
		if (after - before < best.error_ns)
			best = (struct both_clocks){
				.ticks = ticks,
				.ns = before + (after - before) / 2,
				.error_ns = after - before,
			};
	}
	return best;
}

/* 0 when the two do not go on together. */
static double measure_ns_per_tick(void)
{
	double ns_per_tick = 0;
	for (int i = 0; i < TRIES; i++) {
		struct both_clocks begin = read_both();
		nanosleep(&(struct timespec){ .tv_nsec = MEASURED_NS }, NULL);
		struct both_clocks end = read_both();
		if (end.ticks <= begin.ticks || end.ns <= begin.ns)
			return 0;
		ns_per_tick = (double)(end.ns - begin.ns) / (double)(end.ticks - begin.ticks);
		if (begin.error_ns < INTERRUPTED_NS && end.error_ns < INTERRUPTED_NS)
			break;
	}
	return ns_per_tick;
}

/* 0 where the instruction is no clock. */
static double instruction_ns_per_tick(void)
{
#if defined(__x86_64__)
	unsigned a, b, c, d;
	if (!__get_cpuid(0x80000007, &a, &b, &c, &d) || !(d & 1u << 8))
		return 0;
	return measure_ns_per_tick();
#elif defined(__aarch64__)
	uint64_t hz;
	__asm__ volatile("mrs %0, cntfrq_el0" : "=r"(hz));
	/* the firmware sets it; some forgot */
	return hz >= 1000000 && hz <= 10000000000u ? 1e9 / (double)hz : measure_ns_per_tick();
#else
	return 0;
#endif
}

void tick_source_find(const struct count_kernel *kernel, struct tick_source *source)
{
	*source = (struct tick_source){ .read = clock_monotonic_ns, .ns_per_tick = 1 };
	if (kernel->ticks) {
		source->read = kernel->ticks;
		return;
	}
	if (is_forbidden()) {
		source->read = asked_ns;
		return;
	}
	double ns_per_tick = instruction_ns_per_tick();
	if (ns_per_tick > 0)
		*source = (struct tick_source){ .read = NULL, .ns_per_tick = ns_per_tick };
}
