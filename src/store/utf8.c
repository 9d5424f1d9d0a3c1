#include "store/utf8.h"

#include <stdint.h>

#include "base/utf8.h"

bool utf8_is_plain(struct span text)
{
	const uint8_t *at = text.data;
	size_t left = text.size;
	while (left) {
		size_t size = *at ? utf8_sequence(at, left) : 0;
		if (!size)
			return false;
		at += size;
		left -= size;
	}
	return true;
}
