/*
 * import_bytes - feeds a fuzzer's bytes to an importer. The first byte is the
 * size of the pieces and whether faults are overlooked. A piece is gone once it
 * was fed, so that whoever kept a pointer into it is caught.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "import/importer.h"
#include "profile/profile.h"

static inline int feed_piece(const struct importer *format, void *reader, const uint8_t *bytes,
			     size_t size)
{
	uint8_t *piece = malloc(size);
	if (!piece)
		abort();
	memcpy(piece, bytes, size);
	int ret = format->feed(reader, piece, size, NULL);
	free(piece);
	return ret;
}

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
		ret = feed_piece(format, reader, data + at, size - at < piece ? size - at : piece);
	struct profile *profile = NULL;
	struct profile *sorted = NULL;
	/* what sorting costs, a third of the time, goes into more inputs: one in four is sorted */
	bool made = ret == 0 && format->finish(reader, &profile, NULL) == 0;
	if (made &&
	    (profile_fault(profile) || (size % 4 == 0 && profile_canonical(profile, &sorted) < 0)))
		abort();
	profile_free(sorted);
	profile_free(profile);
	format->close(reader);
}
