#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "import/folded.h"
#include "profile/profile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The first byte is the size of the pieces, and whether the last number always is the count. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	const struct folded_options options = { .one_count = data[0] & 1 };
	size_t piece = 1 + data[0] / 2;
	struct folded_reader *reader = NULL;
	if (folded_reader_new(&options, &reader) < 0)
		abort();
	folded_recognise(data + 1, size - 1);
	int ret = 0;
	for (size_t at = 1; at < size && ret == 0; at += piece)
		ret = folded_reader_feed(reader, data + at, size - at < piece ? size - at : piece,
					 NULL);
	struct profile *profile = NULL;
	struct folded_counts counts;
	if (ret == 0 && folded_reader_finish(reader, &profile, &counts, NULL) == 0) {
		assert(counts.lines == counts.taken + counts.comments + counts.blank + counts.bad);
		assert(profile_table(profile, PROFILE_STACK)->count <= counts.taken);
		assert(profile_table(profile, PROFILE_STACK)->count >= 1);
		profile_free(profile);
	}
	folded_reader_free(reader);
	return 0;
}
