#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "symbol/debugdata.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Any bytes: never more than the limit comes out. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buffer out = { 0 };
	if (debugdata_unpack((struct span){ data, size }, &out) == 0)
		assert(out.size <= DEBUGDATA_MAX_BYTES);
	buffer_release(&out);
	return 0;
}
