#include "base/array.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int array_reserve(void *elements, size_t *capacity, size_t count, size_t element_size)
{
	if (count < *capacity)
		return 0;
	size_t wanted = *capacity ? *capacity : 8;
	while (wanted <= count) {
		if (wanted > SIZE_MAX / 2)
			return -ENOMEM;
		wanted *= 2;
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
