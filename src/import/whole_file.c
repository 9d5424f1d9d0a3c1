#include "import/whole_file.h"

#include <errno.h>

#include "base/buffer.h"
#include "base/error.h"

int whole_file_feed(struct buffer *file, const void *bytes, size_t size, struct error *err)
{
	if (size > WHOLE_FILE_MAX_BYTES - file->size)
		return error_set(err, -EPROTO, "it is larger than %llu GiB, unpacked",
				 WHOLE_FILE_MAX_BYTES >> 30);
	buffer_append(file, bytes, size);
	return buffer_failed(file)
		       ? error_set(err, -ENOMEM, "out of memory for %zu bytes", file->size)
		       : 0;
}
