/*
 * bench-parts PROFILE - what a profile's file consists of: its bytes as written,
 * and as they would be without the stash (names and code of what was sampled).
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "profile/profile.h"
#include "store/profile_file.h"

static uint64_t total_samples(const struct profile *profile)
{
	const struct table *flat = profile_table(profile, PROFILE_FLAT);
	uint64_t samples = 0;
	for (size_t row = 0; row < flat->count; row++)
		samples += table_values(flat, row)[CELL_SAMPLES];
	return samples;
}

int main(int argc, char **argv)
{
	CLEANUP(profile_freep) struct profile *profile = NULL;
	CLEANUP(buffer_release) struct buffer whole = { 0 };
	CLEANUP(buffer_release) struct buffer bare = { 0 };
	struct error err;
	if (argc != 2) {
		fprintf(stderr, "usage: bench-parts PROFILE\n");
		return 2;
	}
	int ret = profile_file_read(argv[1], &profile, NULL, &err);
	if (ret == 0)
		ret = profile_file_encode(profile, &whole, &err);
	if (ret == 0) {
		profile->tables[PROFILE_STASH]->count = 0; /* the writer only walks the rows */
		ret = profile_file_encode(profile, &bare, &err);
	}
	if (ret < 0) {
		fprintf(stderr, "bench-parts: %s\n", err.text);
		return 1;
	}
	double samples = (double)total_samples(profile);
	printf("%.0f samples, %zu distinct cells\n", samples,
	       profile_table(profile, PROFILE_FLAT)->count);
	printf("without stash %9zu bytes = %.3f MB per million samples\n", bare.size,
	       (double)bare.size / samples);
	printf("with stash    %9zu bytes = %.3f MB per million samples\n", whole.size,
	       (double)whole.size / samples);
	return 0;
}
