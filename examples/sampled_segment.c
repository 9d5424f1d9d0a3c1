/*
 * sampled_segment - where does the time of one phase go? Samples are taken while it runs, and only
 * then.
 *
 *	sampled_segment [--out FILE] [--size NUMBERS] [--rounds ROUNDS]
 *
 * Each round fills an array with random numbers, sorts it, and adds up gaps between neighbours. The
 * question is about sorting and adding up; filling is outside, and has no samples. The kernel
 * keeps samples in a buffer that is emptied when the segment stops, so the program is not
 * interrupted by anybody who handles them.
 *
 * FILE (sampled_segment.data) is a perf.data file with names and call chains:
 *
 *	culprit report sampled_segment.data		or	perf report -i sampled_segment.data
 *
 * "sort" and what it calls have nearly all of it, "add_gaps" a little, "fill" none. Without a PMU,
 * as in most virtual machines, the line that this program prints says cpu-clock in place of cycles:
 * the shares are shares of time then, which is as good for this question.
 */
#include <err.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <culprit/culprit.h>
#include <culprit/sampler.h>

static uint64_t state = 88172645463325252;

static uint64_t draw(void) /* xorshift64: Marsaglia, "Xorshift RNGs", 2003 */
{
	state ^= state << 13;
	state ^= state >> 7;
	return state ^= state << 17;
}

__attribute__((noinline)) static void fill(uint64_t *numbers, size_t count)
{
	for (size_t i = 0; i < count; i++)
		numbers[i] = draw();
}

static void swap(uint64_t *a, uint64_t *b)
{
	uint64_t kept = *a;
	*a = *b;
	*b = kept;
}

__attribute__((noinline)) static size_t split(uint64_t *numbers, size_t count)
{
	size_t small = 0;
	swap(&numbers[count / 2], &numbers[count - 1]);
	for (size_t i = 0; i + 1 < count; i++)
		if (numbers[i] < numbers[count - 1])
			swap(&numbers[i], &numbers[small++]);
	swap(&numbers[small], &numbers[count - 1]);
	return small;
}

__attribute__((noinline)) static void sort(uint64_t *numbers, size_t count)
{
	while (count > 1) {
		size_t middle = split(numbers, count);
		sort(numbers, middle);
		numbers += middle + 1;
		count -= middle + 1;
	}
}

__attribute__((noinline)) static uint64_t add_gaps(const uint64_t *numbers, size_t count)
{
	uint64_t sum = 0;
	for (size_t i = 1; i < count; i++)
		sum += (numbers[i] - numbers[i - 1]) >> 32;
	return sum;
}

int main(int argc, char **argv)
{
	const char *path = "sampled_segment.data";
	size_t size = 1 << 18, rounds = 20;
	for (int i = 1; i < argc; i++) {
		if (i + 1 < argc && !strcmp(argv[i], "--out"))
			path = argv[++i];
		else if (i + 1 < argc && !strcmp(argv[i], "--size"))
			size = strtoull(argv[++i], NULL, 10);
		else if (i + 1 < argc && !strcmp(argv[i], "--rounds"))
			rounds = strtoull(argv[++i], NULL, 10);
		else
			errx(2, "usage: sampled_segment [--out FILE] [--size NUMBERS] [--rounds "
				"ROUNDS]");
	}

	struct culprit_sampler_options options = {
		.frequency_hz = 2000,
		.stacks = 1,
		.path = path,
	};
	struct culprit_sampler *sampler;
	struct culprit_error error;
	if (culprit_sampler_open("cycles", &options, &sampler, &error))
		errx(1, "%s", error.text);

	uint64_t *numbers = calloc(size ? size : 1, sizeof(*numbers));
	if (!numbers)
		errx(1, "no memory for %zu numbers", size);
	uint64_t sum = 0;
	for (size_t round = 0; round < rounds; round++) {
		fill(numbers, size);
		culprit_sampler_start(sampler);
		sort(numbers, size);
		sum += add_gaps(numbers, size);
		int status = culprit_sampler_stop(sampler);
		if (status)
			errx(1, "samples could not be taken: %s", strerror(-status));
	}
	CULPRIT_KEEP(sum);

	struct culprit_sampler_counts counts;
	culprit_sampler_counts(sampler, &counts);
	printf("%llu samples of %s in %s, %llu lost\n", (unsigned long long)counts.samples,
	       culprit_sampler_event(sampler), path, (unsigned long long)counts.lost);
	if (culprit_sampler_close(sampler, &error))
		errx(1, "%s", error.text);
	free(numbers);
	return 0;
}
