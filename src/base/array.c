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

int array_reserve_zeroed(void *elements, size_t *capacity, size_t position, size_t element_size)
{
	size_t before = *capacity;
	int ret = array_reserve(elements, capacity, position, element_size);
	if (ret < 0 || *capacity == before)
		return ret;
	char *grown;
	memcpy(&grown, elements, sizeof(grown));
	memset(grown + before * element_size, 0, (*capacity - before) * element_size);
	return 0;
}
