#include <assert.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/number.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Any text: a number that is accepted is one, and has no space or stray sign in it. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char text[64];
	if (size >= sizeof(text))
		return 0;
	memcpy(text, data, size);
	text[size] = 0;

	uint64_t whole = 0;
	if (number_parse_u64(text, &whole))
		assert(strspn(text, "0123456789abcdefABCDEFxX") == strlen(text));
	uint64_t ns = 0;
	if (number_parse_duration_ns(text, &ns))
		assert(text[0] == '.' || (text[0] >= '0' && text[0] <= '9'));
	double value = 0;
	if (number_parse_double(text, &value))
		assert(isfinite(value));
	return 0;
}
