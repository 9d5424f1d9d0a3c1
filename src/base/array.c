#include "base/array.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* From here on arrays grow by a quarter: the C library moves such blocks by their pages, without
 * copying, and what is not used of them is memory that a limit counts. */
#define LARGE_BYTES (1u << 20)

int array_reserve(void *elements, size_t *capacity, size_t count, size_t element_size)
{
	if (count < *capacity)
		return 0;
	size_t wanted = *capacity ? *capacity : 8;
	while (wanted <= count) {
		size_t more = wanted < LARGE_BYTES / element_size ? wanted : wanted / 4;
		if (wanted > SIZE_MAX - more)
			return -ENOMEM;
		wanted += more;
	}
	void *old;
	memcpy(&old, elements, sizeof(old));
	void *grown = reallocarray(old, wanted, element_size);
	if (!grown)
		return -ENOMEM;
	memcpy(elements, &grown, sizeof(grown));
	*capacity = wanted;
	return 0;
}
