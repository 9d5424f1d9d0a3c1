#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "symbol/demangle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Any name comes back in bounded time and space. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	free(demangle((struct span){ data, size }));
	return 0;
}
