#include "base/heap.h"

#include <malloc.h>

void heap_trim(void)
{
#ifdef __GLIBC__
	malloc_trim(0);
#endif
}
