#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "symbol/jitdump.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Any bytes: fed whole or in pieces, the same functions come out. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct jitdump whole = { 0 };
	struct jitdump pieces = { 0 };
	size_t step = size ? data[size - 1] % 64 + 1 : 1;
	jitdump_feed(&whole, data, size, NULL);
	for (size_t at = 0; at < size; at += step)
		jitdump_feed(&pieces, data + at, size - at < step ? size - at : step, NULL);
	assert(whole.count == pieces.count && whole.bad == pieces.bad);
	for (size_t i = 0; i < whole.count; i++) {
		const struct jit_function *function = &whole.functions[i];
		assert(function->size_bytes > 0);
		assert(span_equal(function->name, pieces.functions[i].name));
		assert(span_equal(function->code, pieces.functions[i].code));
		assert(jitdump_find(&whole, function->address));
	}
	jitdump_release(&whole);
	jitdump_release(&pieces);
	return 0;
}
