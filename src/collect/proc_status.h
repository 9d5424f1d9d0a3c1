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

/* False when the text is none of such a file. In a name newlines are written otherwise. */
bool proc_status_parse(const char *text, struct proc_status *status);
/* 0, or the negative errno: -ENOENT or -ESRCH when it is gone; -EBADMSG. */
int proc_status_read(uint32_t pid, struct proc_status *status);
