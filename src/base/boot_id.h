/*
 * boot_id - which start of the machine this is: /proc/sys/kernel/random/boot_id, random(4).
 */
#pragma once

#include "base/small_file.h"

#define BOOT_ID_SIZE 40 /* 36 characters, with the final NUL and some room */

/* "" where the kernel does not say. */
static inline void boot_id_read(char boot_id[BOOT_ID_SIZE])
{
	if (small_file_read_line("/proc/sys/kernel/random/boot_id", boot_id, BOOT_ID_SIZE) < 0)
		boot_id[0] = 0;
}
