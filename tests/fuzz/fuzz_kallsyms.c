#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "symbol/kallsyms.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Any text, as /proc/kallsyms and as /proc/modules. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct kallsyms kallsyms;
	struct kernel_modules modules;
	if (kallsyms_parse((struct span){ data, size }, &kallsyms) == 0) {
		for (size_t i = 0; i < kallsyms.count; i++) {
			const struct kernel_symbol *symbol = &kallsyms.symbols[i];
			assert(symbol->size_bytes > 0);
			assert(kallsyms_find(&kallsyms, symbol->address) == symbol);
		}
		assert(!kallsyms.hidden || kallsyms.count == 0);
		kallsyms_release(&kallsyms);
	}
	if (kernel_modules_parse((struct span){ data, size }, &modules) == 0) {
		for (size_t i = 1; i < modules.count; i++)
			assert(modules.list[i - 1].base <= modules.list[i].base);
		kernel_modules_release(&modules);
	}
	return 0;
}
