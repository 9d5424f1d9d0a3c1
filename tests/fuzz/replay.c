/*
 * replay - runs a fuzz target without a fuzzer: every seed of a folder, then
 * cuts and single flipped bytes of each, spread evenly over the seed, and what the
 * target's own mutator makes of it, if it has one; with "seeds-only" no more than
 * the seeds. The same in every run. Ends by the target's own assert, a signal or a
 * sanitizer when something is wrong; with 1 when there is no seed to run.
 */
#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/random.h"
#include "support/long_form.h"

/* Of each kind and seed: all of a short seed, so many of a long one. */
#define SHORT_SEED    512u
#define CHANGES_MAX   (LONG_FORM ? 512 : 128)
#define MUTATIONS     256
#define MUTATED_BYTES 65536u
#define CROSSED_IN    4 /* mutations, one is with the seed before */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
__attribute__((weak)) size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size,
						     unsigned seed);
__attribute__((weak)) size_t LLVMFuzzerCustomCrossOver(const uint8_t *first, size_t first_size,
						       const uint8_t *second, size_t second_size,
						       uint8_t *out, size_t max_size,
						       unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);

static struct random_state chance; /* of LLVMFuzzerMutate() */

/* A simple one, for mutators that know more: a byte flipped, left out, or put in. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size)
{
	size_t at = size ? random_below(&chance, size) : 0;
	switch (random_below(&chance, 3)) {
	case 0:
		if (size)
			data[at] ^= (uint8_t)(1u << random_below(&chance, 8));
		return size;
	case 1:
		if (size < 2)
			return size;
		memmove(data + at, data + at + 1, size - at - 1);
		return size - 1;
	default:
		if (size >= max_size)
			return size;
		memmove(data + at + 1, data + at, size - at);
		data[at] = (uint8_t)random_u64(&chance);
		return size + 1;
	}
}

static void run(const uint8_t *data, size_t size)
{
	/* An allocation of just this size, so that a sanitizer sees the first byte past it. */
	CLEANUP(free_pointer) uint8_t *exact = malloc(size ? size : 1);
	if (!exact)
		abort();
	memcpy(exact, data, size);
	LLVMFuzzerTestOneInput(exact, size);
}

static void run_changes(uint8_t *data, size_t size)
{
	size_t step = size <= SHORT_SEED ? 1 : size / CHANGES_MAX + 1;
	run(data, size);
	for (size_t cut = 0; cut < size; cut += step)
		run(data, cut);
	for (size_t at = 0; at < size; at += step) {
		uint8_t kept = data[at];
		data[at] = kept ^ (uint8_t)(1u << at % 8);
		run(data, size);
		data[at] = (uint8_t)~kept;
		run(data, size);
		data[at] = kept;
	}
}

/* Each from the seed, or from the mutation before; `last` is the seed before this one. */
static void run_mutations(const uint8_t *data, size_t size, const struct buffer *last)
{
	static uint8_t mutated[MUTATED_BYTES], crossed[MUTATED_BYTES];
	size_t most = size < MUTATED_BYTES ? size : MUTATED_BYTES, now = most;
	if (!LLVMFuzzerCustomMutator)
		return;
	chance = random_seed(size);
	memcpy(mutated, data, most);
	for (unsigned i = 0; i < MUTATIONS; i++) {
		if (i % 8 == 0) {
			memcpy(mutated, data, most);
			now = most;
		}
		now = LLVMFuzzerCustomMutator(mutated, now, MUTATED_BYTES, i);
		run(mutated, now);
		if (LLVMFuzzerCustomCrossOver && last->size && i % CROSSED_IN == 0)
			run(crossed, LLVMFuzzerCustomCrossOver(mutated, now, last->data, last->size,
							       crossed, MUTATED_BYTES, i));
	}
}

static int replay(const char *path, bool seeds_only, struct buffer *last)
{
	CLEANUP(close_file) FILE *file = fopen(path, "rb");
	if (!file || fseek(file, 0, SEEK_END) != 0)
		return -errno;
	long size = ftell(file);
	if (size < 0 || fseek(file, 0, SEEK_SET) != 0)
		return -errno;
	CLEANUP(free_pointer) uint8_t *data = malloc((size_t)size + 1);
	if (!data)
		return -ENOMEM;
	if (fread(data, 1, (size_t)size, file) != (size_t)size)
		return -EIO;
	if (seeds_only) {
		run(data, (size_t)size);
		return 0;
	}
	run_changes(data, (size_t)size);
	run_mutations(data, (size_t)size, last);
	last->size = 0;
	buffer_append(last, data, (size_t)size);
	return buffer_failed(last) ? -ENOMEM : 0;
}

static int visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

int main(int argc, char **argv)
{
	bool seeds_only = argc == 3 && strcmp(argv[2], "seeds-only") == 0;
	if (argc != 2 && !seeds_only) {
		fprintf(stderr, "usage: %s SEEDS-FOLDER [seeds-only]\n", argv[0]);
		return 2;
	}
	struct dirent **entries;
	CLEANUP(buffer_release) struct buffer last = { 0 };
	int count = scandir(argv[1], &entries, visible, alphasort);
	if (count <= 0) {
		fprintf(stderr, "no seeds in '%s'\n", argv[1]);
		return 1;
	}
	for (int i = 0; i < count; i++) {
		char path[4096];
		snprintf(path, sizeof(path), "%s/%s", argv[1], entries[i]->d_name);
		int ret = replay(path, seeds_only, &last);
		if (ret < 0) {
			fprintf(stderr, "cannot read '%s': %s\n", path, strerror(-ret));
			return 1;
		}
		free(entries[i]);
	}
	free(entries);
	printf("%d seeds\n", count);
	return 0;
}
