/*
 * bench-unwind [ROUNDS] - what the stack of a sample costs by each way to have it, at three depths,
 * without the interrupt (page_faults.h). This program keeps frame pointers, so that the kernel's
 * way follows the same frames. Ends with 77 where that cannot be measured.
 */
#include <linux/perf_event.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/count_of.h"
#include "base/error.h"
#include "bpf/user_stack.h"
#include "machine/perf_open.h"
#include "machine/perf_record.h"
#include "page_faults.h"
#include "support/own_rules.h"
#include "unwind/frame_pool.h"
#include "unwind/stack_walk.h"

#define ROUNDS_MOST   101
#define RING_PAGES    512u
#define COPY_BYTES    8192u
#define LEARNING_MOST 30 /* measurements until the kernel knows all rules */

enum { WAY_NOTHING, WAY_PLAIN, WAY_POINTERS, WAY_COPY, WAY_WALKED, WAYS };
static const unsigned depths[] = { 5, 15, 40 };

struct way {
	const char *name;
	uint64_t sample_type;
	int fd, output_fd;
	uint64_t output_id;
	void *ring;
	double ns[COUNT_OF(depths)][ROUNDS_MOST];
};

static struct way ways[WAYS] = {
	[WAY_NOTHING] = { .name = "nothing" },
	[WAY_PLAIN] = { .name = "no stack" },
	[WAY_POINTERS] = { .name = "perf, by frame pointers",
			   .sample_type = PERF_SAMPLE_CALLCHAIN },
	[WAY_COPY] = { .name = "perf, registers and 8 KiB",
		       .sample_type = PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER },
	[WAY_WALKED] = { .name = "walked by rules" },
};

static struct user_stack *walker;
static struct frame_pool pool;
static size_t frames, walks; /* of the last measurement */

static uint32_t *make_slab(void *context, uint32_t number)
{
	(void)context;
	return user_stack_slab(walker, number);
}

static bool open_way(struct way *way, int cpu)
{
	struct perf_event_attr attr = { .size = sizeof(attr),
					.type = PERF_TYPE_SOFTWARE,
					.config = PERF_COUNT_SW_PAGE_FAULTS,
					.sample_period = 1,
					.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP |
						       PERF_SAMPLE_TID | way->sample_type,
					.exclude_callchain_kernel = 1,
					.disabled = 1 };
	if (way->sample_type & PERF_SAMPLE_STACK_USER) {
		attr.sample_regs_user = WALK_MASK;
		attr.sample_stack_user = COPY_BYTES;
	}
	way->fd = perf_open(&attr, 0, cpu, -1, 0);
	if (way->fd < 0) {
		printf("%s: %s\n", way->name, strerror(-way->fd));
		return false;
	}
	way->ring = mmap(NULL, (1 + RING_PAGES) * (size_t)sysconf(_SC_PAGESIZE),
			 PROT_READ | PROT_WRITE, MAP_SHARED, way->fd, 0);
	return way->ring != MAP_FAILED;
}

/* Has stacks walked for the way's samples. */
static bool add_walker(struct way *way, int cpu)
{
	struct error err;
	struct perf_event_attr attr = { .size = sizeof(attr),
					.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP |
						       PERF_SAMPLE_TID };
	if (user_stack_new(&walker, &err) < 0) {
		printf("%s: %s\n", way->name, err.text);
		return false;
	}
	user_stack_begin(walker, RING_PAGES * (size_t)sysconf(_SC_PAGESIZE), 0);
	frame_pool_init(&pool, &(struct frame_pool_options){ .slabs = 16, .make = make_slab });
	const struct sample_extra *extra = user_stack_extra(walker);
	sample_extra_output_attr(&attr);
	way->output_fd = perf_open(&attr, -1, cpu, -1, 0);
	return way->output_fd >= 0 &&
	       ioctl(way->output_fd, PERF_EVENT_IOC_SET_OUTPUT, way->fd) == 0 &&
	       ioctl(way->output_fd, PERF_EVENT_IOC_ID, &way->output_id) == 0 &&
	       sample_extra_set_output(extra, cpu, way->output_fd) == 0 &&
	       sample_extra_attach(extra, way->fd) == 0;
}

static void tell(const struct user_stack_head *head)
{
	CLEANUP(buffer_release) struct buffer bytes = { 0 };
	struct frame_table table;
	struct frame_pool_entry entry;
	bool has = own_rules_table(head->missing_address, &bytes) &&
		   frame_table_read((struct span){ bytes.data, bytes.size }, &table) &&
		   frame_pool_add(&pool, &table, &entry) == 0;
	user_stack_put(walker, &head->missing, has ? &entry.place : NULL);
}

/* Reads what one loop of faults has left in the ring; whether all stacks of it were walked. */
static bool learn(struct way *way)
{
	static const struct perf_layout output = { .sample_type = PERF_SAMPLE_IDENTIFIER |
								  PERF_SAMPLE_IP | PERF_SAMPLE_TID |
								  PERF_SAMPLE_RAW };
	struct perf_event_mmap_page *head = way->ring;
	const uint8_t *data = (const uint8_t *)way->ring + sysconf(_SC_PAGESIZE);
	size_t size = RING_PAGES * (size_t)sysconf(_SC_PAGESIZE);
	bool all = true;
	frames = walks = 0;
	for (uint64_t at = head->data_tail; at < head->data_head && all;) {
		static uint8_t bytes[1 << 16];
		struct perf_event_header header;
		struct perf_record record;
		struct user_stack_read read;
		for (size_t i = 0; i < sizeof(header); i++)
			((uint8_t *)&header)[i] = data[(at + i) % size];
		for (size_t i = 0; i < header.size; i++)
			bytes[i] = data[(at + i) % size];
		uint64_t id;
		memcpy(&id, bytes + sizeof(header), sizeof(id));
		at += header.size;
		if (header.type != PERF_RECORD_SAMPLE || id != way->output_id ||
		    perf_record_decode(bytes, header.size, &output, &record) < 0 ||
		    !user_stack_read(record.sample.raw, &read))
			continue;
		if (read.head.kind == USER_STACK_COPY) {
			tell(&read.head);
			all = false;
		} else {
			walks++;
			frames += read.head.count;
		}
	}
	head->data_tail = head->data_head;
	user_stack_taken(walker);
	return all;
}

static __attribute__((noinline)) double at_depth(unsigned depth, uint8_t *pages, struct way *way)
{
	if (depth) {
		double ns = at_depth(depth - 1, pages, way);
		__asm__ volatile("");
		return ns;
	}
	return page_faults_ns(pages, way->fd, way->ring);
}

/* Some faults, whose records stay in the ring. */
static __attribute__((noinline)) void fault(unsigned depth, uint8_t *pages, const struct way *way)
{
	if (depth) {
		fault(depth - 1, pages, way);
		__asm__ volatile("");
		return;
	}
	madvise(pages, 4 * (size_t)sysconf(_SC_PAGESIZE), MADV_DONTNEED);
	ioctl(way->fd, PERF_EVENT_IOC_ENABLE, 0);
	for (size_t i = 0; i < 4; i++)
		pages[i * (size_t)sysconf(_SC_PAGESIZE)] = 1;
	ioctl(way->fd, PERF_EVENT_IOC_DISABLE, 0);
}

static bool learn_all(uint8_t *pages)
{
	for (int i = 0; i < LEARNING_MOST; i++) {
		fault(depths[0], pages, &ways[WAY_WALKED]);
		if (learn(&ways[WAY_WALKED]) && walks)
			return true;
	}
	return false;
}

int main(int argc, char **argv)
{
	size_t rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 11;
	struct utsname machine;
	cpu_set_t here;
	int cpu = sched_getcpu();
	if (rounds < 1 || rounds > ROUNDS_MOST) {
		fprintf(stderr, "usage: bench-unwind [ROUNDS], at most %d\n", ROUNDS_MOST);
		return 2;
	}
	CPU_ZERO(&here);
	CPU_SET((unsigned)cpu, &here);
	sched_setaffinity(0, sizeof(here), &here);
	uint8_t *pages = page_faults_room();
	if (!pages)
		return 77;
	for (size_t i = WAY_PLAIN; i < WAYS; i++)
		if (!open_way(&ways[i], cpu))
			return 77;
	if (!add_walker(&ways[WAY_WALKED], cpu) || !learn_all(pages)) {
		printf("stacks cannot be walked in the kernel here\n");
		return 77;
	}
	for (size_t round = 0; round < rounds; round++)
		for (size_t depth = 0; depth < COUNT_OF(depths); depth++)
			for (size_t i = 0; i < WAYS; i++)
				ways[i].ns[depth][round] = at_depth(depths[depth], pages, &ways[i]);
	uname(&machine);
	printf("# %s %s; what a sample takes more than one without its stack; %zu rounds of %u\n",
	       machine.machine, machine.release, rounds, PAGE_FAULTS);
	for (size_t depth = 0; depth < COUNT_OF(depths); depth++) {
		fault(depths[depth], pages, &ways[WAY_WALKED]);
		learn(&ways[WAY_WALKED]);
		printf("%zu frames\n", walks ? frames / walks : 0);
		for (size_t i = WAY_POINTERS; i < WAYS; i++) {
			page_faults_print(ways[i].name, ways[i].ns[depth],
					  ways[WAY_PLAIN].ns[depth], rounds);
			putchar('\n');
		}
	}
	return 0;
}
