/*
 * import - a file of any known format, packed by gzip or xz or not, read into a
 * profile. The format is recognised by its content.
 */
#pragma once

#include <stddef.h>

#include "base/buffer.h"
#include "import/importer.h"

/* Are these first bytes of a file, packed or not, of a format that import_read() takes? */
bool import_recognise(const void *head, size_t size);

/*
 * Reads the file whose first bytes are in `head` (emptied on the way) and whose
 * rest comes from `fd`. `format` NULL: by content. Stores a profile that the
 * caller frees. Returns 0; -EPROTO (of no known format); the importer's errors;
 * or what read(2) failed with. With options->force a file cut off or damaged
 * gives what comes before.
 */
int import_read(int fd, struct buffer *head, const struct importer *format,
		const struct import_options *options, struct profile **out, struct error *err);
