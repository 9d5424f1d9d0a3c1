/*
 * pid_namespace - whether processes have the numbers here by which the kernel, and programs that run in
 * it, know them.
 */
#pragma once

#include <stdbool.h>
#include <sys/stat.h>

#define PID_NAMESPACE_FIRST 0xeffffffcu /* PROC_PID_INIT_INO of Linux */

static inline bool pid_namespace_is_first(void)
{
	struct stat own;
	return stat("/proc/self/ns/pid", &own) == 0 && own.st_ino == PID_NAMESPACE_FIRST;
}
