/* kernel_memory_page - what the program that reads the kernel's memory shares with its user
 * (kernel_memory.h). */
#pragma once

#include <stdint.h>

#define KERNEL_MEMORY_PAGE 4096u /* at addresses that are multiples of it: never across two pages */

struct kernel_memory_page {
	uint8_t bytes[KERNEL_MEMORY_PAGE];
};

struct kernel_memory_request {
	uint64_t address;
	int64_t result; /* 0, or a negative errno value */
};
