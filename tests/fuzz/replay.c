/*
 * replay - runs a fuzz target without a fuzzer: every seed of a folder, then
 * cuts and single flipped bytes of each, spread evenly over the seed and the
 * same in every run. Ends by the target's own assert, a signal or a sanitizer
 * when something is wrong; with 1 when there is no seed to run.
 */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/* Of each kind and seed: enough to meet every length of a short seed, and quick for a long one. */
#define CHANGES_MAX 512

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

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
	size_t step = size / CHANGES_MAX + 1;
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

static int replay(const char *path)
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
	run_changes(data, (size_t)size);
	return 0;
}

static int visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: %s SEEDS-FOLDER\n", argv[0]);
		return 2;
	}
	struct dirent **entries;
	int count = scandir(argv[1], &entries, visible, alphasort);
	if (count <= 0) {
		fprintf(stderr, "no seeds in '%s'\n", argv[1]);
		return 1;
	}
	for (int i = 0; i < count; i++) {
		char path[4096];
		snprintf(path, sizeof(path), "%s/%s", argv[1], entries[i]->d_name);
		int ret = replay(path);
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
