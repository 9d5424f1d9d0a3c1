/*
 * pmu_proof ICOUNT - shows that the machine's hardware counters do what the lab
 * promises, on loops of known length: exact counts, exact numbers of samples in
 * the right places, groups read with each sample, reads from user space, and a
 * ring loss counted to the last sample. ICOUNT is the lab's: an instruction
 * takes 2^ICOUNT cycles. Prints a line a check; ends with 1 when one failed.
 */
#include <errno.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "loops.h"

#define TURNS  UINT64_C(5000000)
#define ROUNDS 20
#define PERIOD UINT64_C(100000)
/* What the calls around a loop add, in instructions: 14 was seen. */
#define AROUND UINT64_C(64)

static unsigned failures;

__attribute__((format(printf, 2, 3))) static void check(bool ok, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	printf("%s: ", ok ? "ok" : "FAILED");
	vprintf(format, args);
	putchar('\n');
	va_end(args);
	failures += !ok;
}

static void must(bool ok, const char *what)
{
	if (ok)
		return;
	printf("FAILED: %s: %s\n", what, strerror(errno));
	exit(1);
}

static int event_open(uint64_t config, uint64_t period, uint64_t sample_type, uint64_t read_format,
		      int leader)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = config,
		.sample_period = period,
		.sample_type = sample_type,
		.read_format = read_format,
		.disabled = leader < 0,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, leader, PERF_FLAG_FD_CLOEXEC);
	must(fd >= 0, config == PERF_COUNT_HW_CPU_CYCLES ? "cycles" : "instructions");
	return fd;
}

static uint64_t count_of(int fd)
{
	uint64_t values[2] = { 0 };
	must(read(fd, values, sizeof(values)) >= (ssize_t)sizeof(values[0]), "read");
	return values[0];
}

struct ring {
	struct perf_event_mmap_page *page;
	size_t size_bytes; /* of the data, a power of two */
};

static struct ring ring_map(int fd, size_t pages)
{
	size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	struct ring ring = { .size_bytes = pages * page_bytes };
	ring.page =
		mmap(NULL, page_bytes + ring.size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	must(ring.page != MAP_FAILED, "mmap");
	return ring;
}

/* Calls take() for each record, whole and aligned. */
static void ring_drain(struct ring *ring, void (*take)(const struct perf_event_header *, void *),
		       void *context)
{
	const char *data = (const char *)ring->page + sysconf(_SC_PAGESIZE);
	uint64_t head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = ring->page->data_tail;
	while (tail < head) {
		static uint64_t record[65536 / sizeof(uint64_t)];
		struct perf_event_header header;
		for (size_t i = 0; i < sizeof(header); i++)
			((char *)&header)[i] = data[(tail + i) & (ring->size_bytes - 1)];
		for (size_t i = 0; i < header.size; i++)
			((char *)record)[i] = data[(tail + i) & (ring->size_bytes - 1)];
		take((const struct perf_event_header *)record, context);
		tail += header.size;
	}
	__atomic_store_n(&ring->page->data_tail, tail, __ATOMIC_RELEASE);
}

struct seen {
	uint64_t in_4, in_8, elsewhere, lost;
	uint64_t cycles, instructions; /* of the last group read */
};

static void take_sample(const struct perf_event_header *header, void *context)
{
	struct seen *seen = context;
	const uint64_t *field = (const uint64_t *)(header + 1);
	if (header->type == PERF_RECORD_LOST)
		seen->lost += field[1];
	if (header->type != PERF_RECORD_SAMPLE)
		return;
	if (field[0] >= (uintptr_t)loop_4 && field[0] < (uintptr_t)loop_4_end)
		seen->in_4++;
	else if (field[0] >= (uintptr_t)loop_8 && field[0] < (uintptr_t)loop_8_end)
		seen->in_8++;
	else
		seen->elsewhere++;
	/* a group of two: number, then the leader's value and the member's */
	if (header->size >= sizeof(*header) + 4 * sizeof(uint64_t) && field[1] == 2) {
		seen->cycles = field[2];
		seen->instructions = field[3];
	}
}

static void check_count(uint64_t config, const char *name, uint64_t each)
{
	int fd = event_open(config, 0, 0, 0, -1);
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	loop_4(TURNS);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	uint64_t counted = count_of(fd), wanted = TURNS * LOOP_4_INSTRUCTIONS * each;

	check(counted >= wanted && counted - wanted < AROUND * each, "%" PRIu64 " %s for %" PRIu64,
	      counted, name, wanted);
	close(fd);
}

static struct seen sample_loops(int leader, struct ring *ring)
{
	struct seen seen = { 0 };
	ioctl(leader, PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP);
	for (int i = 0; i < ROUNDS; i++) {
		loop_4(TURNS / ROUNDS);
		loop_8(TURNS / ROUNDS);
	}
	ioctl(leader, PERF_EVENT_IOC_DISABLE, PERF_IOC_FLAG_GROUP);
	ring_drain(ring, take_sample, &seen);
	return seen;
}

static void check_samples(unsigned icount)
{
	uint64_t period = PERIOD << icount;
	int cycles = event_open(PERF_COUNT_HW_CPU_CYCLES, period, PERF_SAMPLE_IP, 0, -1);
	struct ring ring = ring_map(cycles, 256);
	struct seen seen = sample_loops(cycles, &ring);
	uint64_t due = count_of(cycles) / period, all = seen.in_4 + seen.in_8 + seen.elsewhere;

	check(all == due && seen.lost == 0,
	      "%" PRIu64 " samples for %" PRIu64 " due, %" PRIu64 " lost", all, due, seen.lost);
	check(seen.elsewhere == 0 && llabs((long long)(seen.in_8 - 2 * seen.in_4)) <= 3,
	      "%" PRIu64 " and %" PRIu64 " samples in loops of length 1:2, %" PRIu64 " elsewhere",
	      seen.in_4, seen.in_8, seen.elsewhere);
	close(cycles);
}

static void check_group(unsigned icount)
{
	int cycles = event_open(PERF_COUNT_HW_CPU_CYCLES, PERIOD << icount,
				PERF_SAMPLE_IP | PERF_SAMPLE_READ, PERF_FORMAT_GROUP, -1);
	int instructions = event_open(PERF_COUNT_HW_INSTRUCTIONS, 0, 0, PERF_FORMAT_GROUP, cycles);
	struct ring ring = ring_map(cycles, 256);
	struct seen seen = sample_loops(cycles, &ring);
	double cpi = seen.instructions ? (double)seen.cycles / (double)seen.instructions : 0;
	double wanted = (double)(1u << icount);

	check(cpi > wanted * 0.9999 && cpi < wanted * 1.0001, "CPI %.5f in the last sample's group",
	      cpi);
	close(instructions);
	close(cycles);
}

/* A ring of one page that is drained too seldom: what is missing is known exactly. */
static void check_loss(unsigned icount)
{
	/* 20,000 stays below the rate at which the kernel throttles */
	uint64_t period = (PERIOD / 5) << icount, values[2] = { 0 };
	int cycles =
		event_open(PERF_COUNT_HW_CPU_CYCLES, period, PERF_SAMPLE_IP, PERF_FORMAT_LOST, -1);
	struct ring ring = ring_map(cycles, 1);
	struct seen seen = { 0 };
	ioctl(cycles, PERF_EVENT_IOC_ENABLE, 0);
	loop_8(TURNS);
	ioctl(cycles, PERF_EVENT_IOC_DISABLE, 0);
	must(read(cycles, values, sizeof(values)) == sizeof(values), "read");
	ring_drain(&ring, take_sample, &seen);
	uint64_t due = values[0] / period, all = seen.in_4 + seen.in_8 + seen.elsewhere;

	check(values[1] > 0 && all + values[1] == due,
	      "%" PRIu64 " samples and %" PRIu64 " lost make %" PRIu64 " due", all, values[1], due);
	close(cycles);
}

static void check_user_read(unsigned icount)
{
#ifdef __aarch64__
	FILE *allowed = fopen("/proc/sys/kernel/perf_user_access", "w");
	must(allowed && fputs("1", allowed) >= 0 && fclose(allowed) == 0, "perf_user_access");
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_HW_CPU_CYCLES,
		.config1 = 3, /* 64 bits wide, readable from user space */
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	must(fd >= 0, "cycles for user space");
	struct ring ring = ring_map(fd, 0);
	check(ring.page->cap_user_rdpmc && ring.page->index == 32, "user space may read counter %u",
	      ring.page->index);
	if (ring.page->cap_user_rdpmc && ring.page->index == 32) {
		uint64_t before, after, wanted = (TURNS * LOOP_4_INSTRUCTIONS) << icount;
		__asm__ volatile("isb; mrs %0, pmccntr_el0" : "=r"(before));
		loop_4(TURNS);
		__asm__ volatile("isb; mrs %0, pmccntr_el0" : "=r"(after));
		check(after - before >= wanted && after - before - wanted < AROUND << icount,
		      "%" PRIu64 " cycles read from user space for %" PRIu64, after - before,
		      wanted);
	}
	close(fd);
#else
	(void)icount;
	printf("not checked: user-space reads are written for arm64 only\n");
#endif
}

int main(int argc, char **argv)
{
	if (argc != 2 || argv[1][0] < '0' || argv[1][0] > '9' || argv[1][1]) {
		fprintf(stderr, "usage: %s ICOUNT\n", argv[0]);
		return 2;
	}
	unsigned icount = (unsigned)(argv[1][0] - '0');
	setvbuf(stdout, NULL, _IOLBF, 0);
	check_count(PERF_COUNT_HW_INSTRUCTIONS, "instructions", 1);
	check_count(PERF_COUNT_HW_CPU_CYCLES, "cycles", UINT64_C(1) << icount);
	check_samples(icount);
	check_group(icount);
	check_loss(icount);
	check_user_read(icount);
	return failures ? 1 : 0;
}
