/*
 * bench epoch-end - what the end of an epoch keeps the recorder from, and how long rings wait
 * meanwhile: samples that are made up, each at a place and with calls of its own, fill an epoch,
 * and go on at 10,000 a second while it ends and is written.
 *
 *     bench-epoch-end [PLACES...]      (default: 10000 100000 250000 500000)
 *
 * A place is a row of samples, one of stacks, and a node. Wall time, on the machine as it is.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "collect/collector.h"
#include "daemon/closing.h"
#include "profile/profile.h"
#include "store/epoch.h"
#include "support/made_up_collector.h"
#include "support/temporary_folder.h"

#define RING_BYTES (2u << 20)
#define RATE_HZ	   10000u
#define TICK_NS	   1000000u

static void must(int ret, const struct error *err)
{
	if (ret >= 0)
		return;
	fprintf(stderr, "bench-epoch-end: %s\n", err->text);
	exit(1);
}

struct sampling {
	struct collector *collector;
	uint64_t made, lost, longest_ns; /* that the ring was not emptied */
	atomic_bool stop;
};

static void *sample(void *context)
{
	struct sampling *sampling = context;
	const struct timespec tick = { .tv_nsec = TICK_NS };
	uint64_t due_ns = clock_monotonic_ns(), served_ns = due_ns;
	uint64_t served = made_up_collector_served(sampling->collector);
	while (!atomic_load(&sampling->stop)) {
		for (; due_ns <= clock_monotonic_ns(); due_ns += 1000000000u / RATE_HZ) {
			bool fits = made_up_collector_sample(sampling->collector);
			sampling->made += fits;
			sampling->lost += !fits;
		}
		nanosleep(&tick, NULL);
		uint64_t now_ns = clock_monotonic_ns();
		uint64_t now = made_up_collector_served(sampling->collector);
		if (now_ns - served_ns > sampling->longest_ns)
			sampling->longest_ns = now_ns - served_ns;
		if (now != served)
			served_ns = now_ns;
		served = now;
	}
	return NULL;
}

static void fill(struct collector *collector, uint64_t places)
{
	struct error err;
	for (uint64_t i = 0; i < places; i++)
		while (!made_up_collector_sample(collector))
			must(collector_service(collector, &err), &err);
}

static double ms_of(uint64_t ns)
{
	return (double)ns / 1e6;
}

static void end_one(uint64_t places)
{
	CLEANUP(temporary_folder_remove) struct temporary_folder folder = temporary_folder_make();
	const char *path = temporary_folder_path(&folder, "a.prof");
	struct sampling sampling = { .collector = made_up_collector_new(RING_BYTES) };
	struct collector *collector = sampling.collector;
	struct closing closing = { 0 };
	struct epoch *epoch;
	struct profile *delta;
	struct error err;
	pthread_t kernel;
	must(collector_start(collector, &err), &err);
	fill(collector, places);
	must(epoch_open(path, EPOCH_KEEP_OLD, &epoch, &err), &err);
	if (pthread_create(&kernel, NULL, sample, &sampling))
		exit(1);
	uint64_t begin_ns = clock_monotonic_ns();
	must(collector_end_epoch(collector, &delta, &err), &err);
	uint64_t ended_ns = clock_monotonic_ns();
	must(closing_start(&closing, epoch, delta, &err), &err);
	while (!closing_is_over(&closing)) {
		const struct timespec usual = { .tv_nsec = 100000000 };
		nanosleep(&usual, NULL);
		must(collector_service(collector, &err), &err);
	}
	must(closing_join(&closing, &err), &err);
	uint64_t written_ns = clock_monotonic_ns();
	atomic_store(&sampling.stop, true);
	pthread_join(kernel, NULL);
	printf("%8" PRIu64 "  %10.1f  %10.1f  %10.1f  %8" PRIu64 "  %6" PRIu64 "\n", places,
	       ms_of(ended_ns - begin_ns), ms_of(written_ns - ended_ns), ms_of(sampling.longest_ns),
	       sampling.made, sampling.lost);
	collector_free(collector);
}

int main(int argc, char **argv)
{
	static const uint64_t usual[] = { 10000, 100000, 250000, 500000 };
	printf("  places   ending ms  writing ms  longest ms   samples    lost\n");
	for (int i = 1; i < argc; i++)
		end_one(strtoull(argv[i], NULL, 10));
	for (size_t i = 0; argc < 2 && i < sizeof(usual) / sizeof(usual[0]); i++)
		end_one(usual[i]);
	return 0;
}
