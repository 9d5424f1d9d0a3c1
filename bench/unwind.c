/*
 * bench-unwind [ROUNDS] - what the stack of a sample costs by each way to have it, at three depths,
 * without the interrupt (page_faults.h). This program keeps frame pointers, so that the kernel's
 * way follows the same frames. Ends with 77 where that cannot be measured.
 */
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/count_of.h"
#include "base/error.h"
#include "bpf/user_stack.h"
#include "machine/perf_record.h"
#include "page_faults.h"
#include "support/own_rules.h"
#include "support/own_samples.h"
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
	struct own_samples own;
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
	struct error err;
	bool by_rules = way == &ways[WAY_WALKED];
	struct perf_event_attr event = { .type = PERF_TYPE_SOFTWARE,
					 .config = PERF_COUNT_SW_PAGE_FAULTS,
					 .sample_period = 1,
					 .sample_type = way->sample_type,
					 .exclude_callchain_kernel = 1 };
	if (way->sample_type & PERF_SAMPLE_STACK_USER) {
		event.sample_regs_user = WALK_MASK;
		event.sample_stack_user = COPY_BYTES;
	}
	if (by_rules && user_stack_new(&walker, &err) < 0) {
		printf("%s: %s\n", way->name, err.text);
		return false;
	}
	int ret = own_samples_open(&way->own, cpu, &event, RING_PAGES,
				   by_rules ? user_stack_extra(walker) : NULL);
	if (ret < 0)
		printf("%s: %s\n", way->name, strerror(-ret));
	return ret == 0;
}

static void begin_walking(void)
{
	frame_pool_init(&pool, &(struct frame_pool_options){ .slabs = 16, .make = make_slab });
	user_stack_begin(walker, ways[WAY_WALKED].own.ring_bytes, 0);
}

static void learn_of(void *context, const struct perf_record *record, bool added)
{
	bool *all = context;
	struct user_stack_read read;
	if (!added || !user_stack_read(record->sample.raw, &read))
		return;
	if (read.head.kind == USER_STACK_FRAMES) {
		walks++;
		frames += read.head.count;
		return;
	}
	struct frame_pool_entry entry;
	bool has = own_rules_add(read.head.missing_address, &pool, &entry);
	user_stack_put(walker, &read.head.missing, has ? &entry.place : NULL);
	*all = false;
}

/* Reads what some faults have left in the ring; whether all stacks of them were walked. */
static bool learn(struct way *way)
{
	bool all = true;
	frames = walks = 0;
	all = own_samples_read(&way->own, learn_of, &all) && all;
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
	return page_faults_ns(pages, way->own.fd, way->own.ring);
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
	ioctl(way->own.fd, PERF_EVENT_IOC_ENABLE, 0);
	for (size_t i = 0; i < 4; i++)
		pages[i * (size_t)sysconf(_SC_PAGESIZE)] = 1;
	ioctl(way->own.fd, PERF_EVENT_IOC_DISABLE, 0);
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
	int cpu = own_samples_stay();
	if (rounds < 1 || rounds > ROUNDS_MOST) {
		fprintf(stderr, "usage: bench-unwind [ROUNDS], at most %d\n", ROUNDS_MOST);
		return 2;
	}
	uint8_t *pages = page_faults_room();
	if (!pages || cpu < 0)
		return 77;
	for (size_t i = WAY_PLAIN; i < WAYS; i++)
		if (!open_way(&ways[i], cpu))
			return 77;
	begin_walking();
	if (!learn_all(pages)) {
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
