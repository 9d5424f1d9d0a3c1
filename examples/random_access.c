/*
 * random_access - counts around the access loop alone: the benchmark of "Profiling Specific Code
 * Segments of Applications" (docs/segments.md).
 *
 *	random_access [--size LINES] [--events LIST]
 *
 * An array of indices, in random order, is read from begin to end, and for each the cache line of a
 * second array that it names. To fill both takes longer than that, and is no part of the question:
 * what does one access cost? So the counters are started behind it.
 *
 * On a CPU with a PMU expect two L1 loads per access (the index and the line), and a little more
 * than one miss: each line is one, and eight indices share another. Without a PMU, as in most
 * virtual machines, the same program says so: cycles are then counted as time in ns, the other
 * events of the hardware print as `-` with the reason, and page faults, which the kernel counts,
 * show that initialisation is outside.
 */
#include <err.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <culprit/counter.h>
#include <culprit/culprit.h>
#include <culprit/print.h>

#define LINE_BYTES 64
#define MOST	   16

struct line {
	uint64_t value;
	char rest[LINE_BYTES - sizeof(uint64_t)];
};

static uint64_t state = 88172645463325252;

static uint64_t draw(void) /* xorshift64: Marsaglia, "Xorshift RNGs", 2003 */
{
	state ^= state << 13;
	state ^= state >> 7;
	return state ^= state << 17;
}

static void fill(struct line *lines, uint64_t *indices, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		lines[i].value = i;
		indices[i] = i;
	}
	for (size_t i = count - 1; i > 0; i--) {
		size_t other = draw() % (i + 1);
		uint64_t moved = indices[i];
		indices[i] = indices[other];
		indices[other] = moved;
	}
}

int main(int argc, char **argv)
{
	const char *events = "instructions,cycles,L1-dcache-loads,L1-dcache-load-misses,task-clock,"
			     "page-faults";
	size_t size = 1 << 20;
	for (int i = 1; i < argc; i++) {
		if (i + 1 < argc && !strcmp(argv[i], "--size"))
			size = strtoull(argv[++i], NULL, 10);
		else if (i + 1 < argc && !strcmp(argv[i], "--events"))
			events = argv[++i];
		else
			errx(2, "usage: random_access [--size LINES] [--events LIST]");
	}
	if (size < 1 || size > SIZE_MAX / sizeof(struct line))
		errx(2, "--size: a number of cache lines, at least 1");

	struct culprit_counters *counters;
	struct culprit_error error;
	if (culprit_counters_open(events, NULL, &counters, &error))
		errx(1, "%s", error.text);

	struct line *lines = aligned_alloc(LINE_BYTES, size * sizeof(*lines));
	uint64_t *indices = malloc(size * sizeof(*indices));
	if (!lines || !indices)
		errx(1, "no memory for %zu cache lines", size);
	fill(lines, indices, size);

	uint64_t sum = 0;
	culprit_counters_start(counters);
	for (size_t i = 0; i < size; i++)
		sum += lines[indices[i]].value; /* the access in question */
	CULPRIT_KEEP(sum);
	int status = culprit_counters_stop(counters);
	if (status)
		errx(1, "the counters could not be read: %s", strerror(-status));

	struct culprit_value values[MOST];
	size_t count = culprit_counters_count(counters);
	if (count > MOST)
		errx(1, "more than %d events", MOST);
	culprit_counters_values(counters, values, count);
	culprit_counters_print(
		counters, values, count,
		&(struct culprit_print_options){ .units = (double)size, .unit = "access" }, stdout);
	culprit_counters_close(counters);
	free(indices);
	free(lines);
	return 0;
}
