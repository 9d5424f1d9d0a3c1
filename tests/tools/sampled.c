/* usage: sampled EVENT FILE|- LIBRARY. Samples, with stacks, a segment in which it works in its own code,
 * in that of LIBRARY, which it loads between two parts of the segment, and in a thread; not what is
 * outside. Prints the number of samples, what was sampled, and how many were lost. */
#include <dlfcn.h>
#include <err.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <culprit/sampler.h>

#define PART_S 0.15 /* of CPU time */

static volatile uint64_t sink;

static double cpu_s(void)
{
	struct timespec now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

#define WORK(name)                                                                                 \
	__attribute__((noinline)) static void name(void)                                           \
	{                                                                                          \
		for (unsigned i = 0; i < 100000; i++)                                              \
			sink = sink * 3 + i;                                                       \
		sink++;                                                                            \
	}

WORK(work_in_program)
WORK(work_in_thread)
WORK(work_outside)

__attribute__((noinline)) static void repeat(void (*work)(void))
{
	for (double since = cpu_s(); cpu_s() - since < PART_S;)
		work();
	sink++; /* so that the call is no jump */
}

static void *thread(void *context)
{
	(void)context;
	repeat(work_in_thread);
	return NULL;
}

int main(int argc, char **argv)
{
	if (argc != 4)
		errx(2, "usage: sampled EVENT FILE|- LIBRARY");
	struct culprit_sampler_options options = {
		.period = 1000000,
		.stacks = 1,
		.threads = 1,
		.path = strcmp(argv[2], "-") ? argv[2] : NULL,
		.fd = strcmp(argv[2], "-") ? 0 : STDOUT_FILENO,
	};
	struct culprit_sampler *sampler;
	struct culprit_sampler_counts counts;
	struct culprit_error error;
	pthread_t other;
	if (culprit_sampler_open(argv[1], &options, &sampler, &error))
		errx(1, "%s", error.text);
	repeat(work_outside);
	culprit_sampler_start(sampler);
	repeat(work_in_program);
	culprit_sampler_stop(sampler);
	void *library = dlopen(argv[3], RTLD_NOW);
	void (*work)(void) = library ? (void (*)(void))dlsym(library, "work_in_library") : NULL;
	if (!work)
		errx(1, "%s", dlerror());
	repeat(work_outside);
	culprit_sampler_start(sampler);
	repeat(work);
	if (pthread_create(&other, NULL, thread, NULL) || pthread_join(other, NULL))
		errx(1, "no thread");
	culprit_sampler_stop(sampler);
	repeat(work_outside);
	culprit_sampler_counts(sampler, &counts);
	fprintf(stderr, "%llu %s %llu\n", (unsigned long long)counts.samples,
		culprit_sampler_event(sampler), (unsigned long long)counts.lost);
	if (culprit_sampler_close(sampler, &error))
		errx(1, "%s", error.text);
	return 0;
}
