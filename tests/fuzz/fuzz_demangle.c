#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "symbol/demangle.h"
#include "symbol/plain_name.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Any plain name comes back in bounded time and space; what others may do, they do elsewhere. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct demangler demangler;
	struct span name = { data, size };
	if (!name_is_plain(name))
		return 0;
	demangler_init(&demangler);
	free(demangle(&demangler, name));
	assert(!demangler_trouble(&demangler));
	demangler_release(&demangler);
	return 0;
}
