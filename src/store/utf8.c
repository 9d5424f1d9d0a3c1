#include "store/utf8.h"

#include <stdint.h>

/* Bytes of the character at the front, or 0 when it is none (Unicode 15, table 3-7). */
static size_t character_size(const uint8_t *at, size_t left)
{
	uint8_t lead = at[0];
	if (lead > 0 && lead < 0x80)
		return 1;
	size_t size = lead >= 0xc2 && lead < 0xe0   ? 2
		      : lead >= 0xe0 && lead < 0xf0 ? 3
		      : lead >= 0xf0 && lead < 0xf5 ? 4
						    : 0;
	if (size == 0 || size > left)
		return 0;
	for (size_t i = 1; i < size; i++)
		if ((at[i] & 0xc0) != 0x80)
			return 0;
	bool wrong = (lead == 0xe0 && at[1] < 0xa0) || (lead == 0xed && at[1] > 0x9f) ||
		     (lead == 0xf0 && at[1] < 0x90) || (lead == 0xf4 && at[1] > 0x8f);
	return wrong ? 0 : size;
}

bool utf8_is_plain(struct span text)
{
	const uint8_t *at = text.data;
	size_t left = text.size;
	while (left) {
		size_t size = character_size(at, left);
		if (!size)
			return false;
		at += size;
		left -= size;
	}
	return true;
}
