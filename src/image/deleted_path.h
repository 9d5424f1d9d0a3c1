/*
 * deleted_path - the kernel's path of a file that is gone: "/usr/bin/x (deleted)".
 */
#pragma once

#include <string.h>

#include "base/span.h"

/* The path that the file had; any other path as it is. */
static inline struct span deleted_path_strip(struct span path)
{
	static const char mark[] = " (deleted)";
	size_t size = sizeof(mark) - 1;
	if (path.size > size && memcmp((const char *)path.data + path.size - size, mark, size) == 0)
		path.size -= size;
	return path;
}
