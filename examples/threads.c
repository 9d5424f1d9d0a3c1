/*
 * threads - one region per thread and per kind of work: who waits for whom?
 *
 *	threads [THREADS [BLOCKS]]
 *
 * Threads take blocks from a common pile, under a lock, and add up the bits of each. "take" is the
 * time that getting a block took, the wait for the lock included; "work" is what is done with it.
 * Every thread keeps its own numbers without a lock, so measuring does not make threads wait for
 * each other. The table has a row for all threads together, and one for each of them.
 *
 * Read the medians and the maxima: a "take" whose median is some 20 ns and whose maximum is
 * milliseconds is a thread that lost its CPU while it waited. Context switches, which the kernel
 * counts also where there is no PMU, name that cause; without the right to count them there are
 * times alone.
 */
#include <err.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <culprit/culprit.h>
#include <culprit/print.h>
#include <culprit/region.h>

#define BLOCK_WORDS 4096
#define MOST	    64

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned long blocks = 20000;
static uint64_t words[BLOCK_WORDS];

static struct culprit_regions *regions;
static struct culprit_region *take, *work;

static int take_block(void)
{
	CULPRIT_SCOPE(take); /* ends at return */
	pthread_mutex_lock(&lock);
	int taken = blocks > 0;
	blocks -= taken;
	pthread_mutex_unlock(&lock);
	return taken;
}

static void *work_on_blocks(void *bits)
{
	struct culprit_error error;
	if (culprit_regions_join(regions, &error))
		errx(1, "%s", error.text);
	uint64_t sum = 0;
	while (take_block()) {
		culprit_region_begin(work);
		for (size_t i = 0; i < BLOCK_WORDS; i++)
			sum += (uint64_t)__builtin_popcountll(words[i]);
		CULPRIT_KEEP(sum);
		culprit_region_end(work);
	}
	*(uint64_t *)bits = sum;
	culprit_regions_leave(regions);
	return NULL;
}

int main(int argc, char **argv)
{
	int count = argc > 1 ? atoi(argv[1]) : 4;
	if (argc > 2)
		blocks = strtoul(argv[2], NULL, 10);
	if (count < 1 || count > MOST)
		errx(2, "usage: threads [THREADS [BLOCKS]]; at most %d threads", MOST);
	for (size_t i = 0; i < BLOCK_WORDS; i++)
		words[i] = i * UINT64_C(0x9e3779b97f4a7c15);

	struct culprit_error error;
	if (culprit_regions_open("context-switches", NULL, &regions, &error)) {
		printf("times alone: %s\n", error.text);
		if (culprit_regions_open(NULL, NULL, &regions, &error))
			errx(1, "%s", error.text);
	}
	take = culprit_region_named(regions, "take");
	work = culprit_region_named(regions, "work");
	if (!take || !work)
		errx(1, "no memory for two regions");

	pthread_t threads[MOST];
	uint64_t bits[MOST], sum = 0;
	for (int i = 0; i < count; i++)
		if (pthread_create(&threads[i], NULL, work_on_blocks, &bits[i]))
			errx(1, "cannot start thread %d", i + 1);
	for (int i = 0; i < count; i++) {
		pthread_join(threads[i], NULL);
		sum += bits[i];
	}
	printf("%d threads counted %llu bits\n", count, (unsigned long long)sum);
	int status = culprit_regions_print(regions, NULL, stdout);
	culprit_regions_close(regions);
	return status ? 1 : 0;
}
