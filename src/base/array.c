#include "base/array.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/growth.h"

int array_reserve(void *elements, size_t *capacity, size_t count, size_t element_size)
{
	if (count < *capacity)
		return 0;
	if (count == SIZE_MAX)
		return -ENOMEM;
	size_t wanted = growth_capacity(*capacity, count + 1, 8, element_size);
	if (!wanted)
		return -ENOMEM;
	void *old;
	memcpy(&old, elements, sizeof(old));
	void *grown = reallocarray(old, wanted, element_size);
	if (!grown)
		return -ENOMEM;
	memcpy(elements, &grown, sizeof(grown));
	*capacity = wanted;
	return 0;
}
