/*
 * import_bytes - feeds a fuzzer's bytes to an importer. The first byte is the
 * size of the pieces and whether faults are overlooked.
 */
#pragma once

#include <stdint.h>
#include <stdlib.h>

#include "import/importer.h"
#include "profile/profile.h"

static inline void import_bytes(const struct importer *format, const uint8_t *data, size_t size)
{
	if (size == 0)
		return;
	const struct import_options options = { .force = data[0] & 1 };
	size_t piece = data[0] < 128 ? 1 + (size_t)data[0] / 2 : size;
	void *reader = NULL;
	if (format->open(&options, &reader) < 0)
		abort();
	format->recognise(data + 1, size - 1);
	int ret = 0;
	for (size_t at = 1; at < size && ret == 0; at += piece)
		ret = format->feed(reader, data + at, size - at < piece ? size - at : piece, NULL);
	struct profile *profile = NULL;
	struct profile *sorted = NULL;
	if (ret == 0 && format->finish(reader, &profile, NULL) == 0 &&
	    profile_canonical(profile, &sorted) < 0)
		abort();
	profile_free(sorted);
	profile_free(profile);
	format->close(reader);
}
