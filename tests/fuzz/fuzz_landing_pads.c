#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "image/landing_pads.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Width, then the language-specific data: pads rise, and there are no more than bytes. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 1)
		return 0;
	const struct frame_base base = { 0x5000, data[0] & 2 ? 0x9000 : 0, data[0] & 1 };
	struct landing_pads pads;
	if (landing_pads_read((struct span){ data + 1, size - 1 }, &base, 0x1000, &pads) < 0)
		return 0;
	assert(pads.count <= size / 4);
	for (size_t i = 0; i < pads.count; i++) {
		assert(i == 0 || pads.list[i] > pads.list[i - 1]);
		assert(base.wide || pads.list[i] <= UINT32_MAX);
	}
	landing_pads_release(&pads);
	return 0;
}
