/*
 * bench-intake [ENTRIES [PLACES]] - what it costs to add up what an engine hands
 * over: 10,000,000 entries (context, image, offset, event, count) of 100,000
 * places, half of which go to a hundredth of them, in batches of 4,096 as a table in the
 * kernel is emptied; then the rows of the profile.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/random.h"
#include "intake/cells.h"
#include "intake/cells_write.h"
#include "profile/profile.h"

#define BATCH	 4096u
#define IMAGES	 200u
#define CONTEXTS 60u

static void must(int ret)
{
	if (ret >= 0)
		return;
	fprintf(stderr, "bench-intake: %s\n", strerror(-ret));
	exit(1);
}

static int image_row(void *owner, uint32_t number, uint32_t *row, bool *is_new)
{
	struct profile *profile = owner;
	const size_t before = profile_table(profile, PROFILE_IMAGE)->count;
	const uint64_t id[3] = { number };
	const struct profile_image image = { .kind = IMAGE_FILE, .build_id = { id, 20 } };
	int ret = profile_add_image(profile, &image, row);
	*is_new = profile_table(profile, PROFILE_IMAGE)->count != before;
	return ret;
}

static bool calls_exact(const void *owner, uint32_t number)
{
	(void)owner;
	(void)number;
	return false;
}

static struct cell measured(const void *owner, uint32_t event, const struct cell *cell,
			    uint64_t *before)
{
	(void)owner;
	(void)event;
	(void)before;
	return *cell;
}

static struct cell_key some_place(struct random_state *random, uint64_t places)
{
	uint64_t most = random_below(random, 2) ? places : places / 100 + 1;
	uint64_t place = random_below(random, most);
	return (struct cell_key){ .vaddr = place * 4,
				  .image = 1 + (uint32_t)(place % IMAGES),
				  .context = 1 + (uint32_t)(place % CONTEXTS) };
}

static double seconds_since(uint64_t begin_ns)
{
	return (double)(clock_monotonic_ns() - begin_ns) / 1e9;
}

static long resident_kib(void)
{
	struct rusage used;
	getrusage(RUSAGE_SELF, &used);
	return used.ru_maxrss;
}

int main(int argc, char **argv)
{
	uint64_t entries = argc > 1 ? strtoull(argv[1], NULL, 10) : 10000000;
	uint64_t places = argc > 2 ? strtoull(argv[2], NULL, 10) : 100000;
	struct random_state random = random_seed(1);
	static struct cell_key batch[BATCH];
	uint32_t contexts[CONTEXTS + 1] = { 0 };
	uint32_t event;
	CLEANUP(cells_release) struct cells cells;
	CLEANUP(profile_freep) struct profile *profile = profile_new();
	const struct profile_event cycles = { .name = span_of_text("cycles"), .sampled = 1 };
	must(profile ? cells_init(&cells) : -12);
	must(profile_add_event(profile, &cycles, &event));
	for (uint32_t i = 1; i <= CONTEXTS; i++) {
		char comm[16];
		snprintf(comm, sizeof(comm), "program-%u", i);
		const struct profile_context context = { .comm = span_of_text(comm) };
		must(profile_add_context(profile, &context, &contexts[i]));
	}
	long before_kib = resident_kib();
	double adding = 0;
	for (uint64_t done = 0; done < entries;) {
		size_t count = entries - done < BATCH ? (size_t)(entries - done) : BATCH;
		for (size_t i = 0; i < count; i++)
			batch[i] = some_place(&random, places);
		uint64_t begin = clock_monotonic_ns();
		for (size_t i = 0; i < count; i++) {
			const struct cell sum = { 3, 3000, 3000000 };
			must(cells_add(&cells, &batch[i], &sum));
		}
		must(cells_settle(&cells));
		adding += seconds_since(begin);
		done += count;
	}
	long added_kib = resident_kib();
	const struct cells_rows rows = { .owner = profile,
					 .image = image_row,
					 .calls_exact = calls_exact,
					 .measured = measured,
					 .contexts = contexts,
					 .events = &event,
					 .event_count = 1 };
	uint64_t begin = clock_monotonic_ns();
	size_t kept = cells.count;
	must(cells_write(&cells, &rows, profile));
	printf("%" PRIu64 " entries of %zu places: %.1f ns an entry, %.1f MiB; rows in %.0f ms, "
	       "%.1f MiB\n",
	       entries, kept, adding / (double)entries * 1e9,
	       (double)(added_kib - before_kib) / 1024, seconds_since(begin) * 1e3,
	       (double)(resident_kib() - before_kib) / 1024);
	return 0;
}
