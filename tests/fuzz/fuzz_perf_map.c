#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "symbol/perf_map.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Any text: what is found has a name, rises, and does not overlap. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct perf_map map;
	if (perf_map_parse((struct span){ data, size }, &map) < 0)
		return 0;
	for (size_t i = 0; i < map.count; i++) {
		const struct jit_symbol *symbol = &map.symbols[i];
		assert(symbol->size_bytes > 0 && symbol->name.size > 0);
		assert(i == 0 || symbol->start - symbol[-1].start >= symbol[-1].size_bytes);
		assert(perf_map_find(&map, symbol->start) == symbol);
	}
	perf_map_release(&map);
	return 0;
}
