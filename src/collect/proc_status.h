/*
 * proc_status - what /proc/PID/status says of a process or a thread. Unlike `stat` it can be read
 * whatever the process does (collect/proc_ask.h).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct proc_status {
	uint32_t pid, parent;
	char state; /* as in proc_stat.h */
};

/* False when the text is not that of such a file. The kernel escapes newlines in a name. */
bool proc_status_parse(const char *text, struct proc_status *status);
/* 0, or a negative errno: -ENOENT or -ESRCH when it is gone; -EBADMSG: the text makes no sense. */
int proc_status_read(uint32_t pid, struct proc_status *status);
