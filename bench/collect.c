/*
 * bench-collect [ROUNDS] - what a sample costs by each way to collect it, without the interrupt
 * that it comes with: page faults are sampled, every one, and a loop of them is timed with
 * each way and without any, in turn. Prints medians and quartiles of what a fault takes more. Ends
 * with 77 where that cannot be measured.
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
#include "bpf/sample_table.h"
#include "machine/perf_open.h"
#include "page_faults.h"

#define ROUNDS_MOST 201
#define RING_PAGES  64u

struct way {
	const char *name;
	bool table, ring;
	struct sample_table_options options;
	uint64_t sample_type;
	int fd;
	void *memory; /* of its ring */
	size_t size;
	struct sample_table *counts;
	double ns[ROUNDS_MOST];
};

static struct way ways[] = {
	{ .name = "nothing" },
	{ .name = "table, process and address",
	  .table = true,
	  .options = { .contexts = SAMPLE_TABLE_BY_PROCESS, .addresses = true } },
	{ .name = "table, process and file",
	  .table = true,
	  .options = { .contexts = SAMPLE_TABLE_BY_PROCESS } },
	{ .name = "table, name, group and file",
	  .table = true,
	  .options = { .contexts = SAMPLE_TABLE_BY_NAME } },
	{ .name = "perf ring", .ring = true, .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID },
	{ .name = "perf ring, as culprit record",
	  .ring = true,
	  .sample_type =
		  PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME },
	{ .name = "perf ring with call chain",
	  .ring = true,
	  .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_CALLCHAIN },
};

static bool open_way(struct way *way)
{
	struct perf_event_attr attr = { .size = sizeof(attr),
					.type = PERF_TYPE_SOFTWARE,
					.config = PERF_COUNT_SW_PAGE_FAULTS,
					.sample_period = 1,
					.sample_type = way->sample_type,
					.disabled = 1 };
	struct error err;
	if (!way->table && !way->ring)
		return true;
	way->fd = perf_open(&attr, 0, -1, -1, 0);
	if (way->fd < 0) {
		printf("%s: %s\n", way->name, strerror(-way->fd));
		return false;
	}
	if (way->ring) {
		way->size = (1 + RING_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
		way->memory = mmap(NULL, way->size, PROT_READ | PROT_WRITE, MAP_SHARED, way->fd, 0);
		return way->memory != MAP_FAILED;
	}
	if (sample_table_new(&way->options, &way->counts, &err) < 0) {
		printf("%s: %s\n", way->name, err.text);
		return false;
	}
	return sample_table_attach(way->counts, way->fd, 0) >= 0;
}

/* As the program in the kernel measured it. */
static void print_time(const char *what, const struct program_time *time)
{
	if (time->samples)
		printf("%s %.0f ns (at most %llu)", what, (double)time->ns / (double)time->samples,
		       (unsigned long long)time->most_ns);
}

static void print_way(struct way *way, const struct way *nothing, size_t rounds)
{
	page_faults_print(way->name, way->ns, nothing->ns, rounds);
	if (way->counts) {
		struct sample_table_sums sums = sample_table_sums(way->counts, -1, 0);
		printf("   %llu samples, %llu lost", (unsigned long long)sums.seen,
		       (unsigned long long)sums.lost);
	}
	if (way->counts) {
		struct sample_table_times times = sample_table_times(way->counts);
		print_time(", hit", &times.hits);
		print_time(", miss", &times.misses);
	}
	putchar('\n');
}

int main(int argc, char **argv)
{
	size_t rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 21;
	struct utsname machine;
	if (rounds < 1 || rounds > ROUNDS_MOST) {
		fprintf(stderr, "usage: bench-collect [ROUNDS], at most %d\n", ROUNDS_MOST);
		return 2;
	}
	uint8_t *pages = page_faults_room();
	if (!pages)
		return 77;
	for (size_t i = 0; i < COUNT_OF(ways); i++)
		if (!open_way(&ways[i]))
			return 77;
	for (size_t round = 0; round < rounds; round++)
		for (size_t i = 0; i < COUNT_OF(ways); i++)
			ways[i].ns[round] = page_faults_ns(pages, ways[i].fd, ways[i].memory);
	uname(&machine);
	printf("# %s %s; a page fault takes %.0f ns; %zu rounds of %u\n", machine.machine,
	       machine.release, ways[0].ns[rounds / 2], rounds, PAGE_FAULTS);
	for (size_t i = 1; i < COUNT_OF(ways); i++)
		print_way(&ways[i], &ways[0], rounds);
	return 0;
}
