#include "image/libc_name.h"

#include <stddef.h>
#include <string.h>

#include "base/count_of.h"

bool libc_name_is(struct span image)
{
	static const char *const starts[] = { "libc.so.", "libc-2.", "libc.musl-", "ld-musl-" };
	if (span_equal(image, span_of_text("libc.so")))
		return true;
	for (size_t i = 0; i < COUNT_OF(starts); i++) {
		size_t size = strlen(starts[i]);
		if (image.size >= size && memcmp(image.data, starts[i], size) == 0)
			return true;
	}
	return false;
}
