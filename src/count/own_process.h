/*
 * own_process - whether this is still the process in which something was set up, or a child that
 * fork(2) made of it.
 *
 * The pages of events are not in a child's memory (the kernel maps them so that fork(2) leaves them
 * out): a child must neither read them nor unmap what stands at their addresses by then. The mark
 * is a page that the kernel empties in children (MADV_WIPEONFORK, Linux 4.14), so that looking at
 * it takes a load. Without that it takes a system call.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct own_process {
	volatile unsigned char *mark; /* NULL: the kernel cannot empty it */
	size_t mark_bytes;
	pid_t pid;
};

void own_process_init(struct own_process *own);
void own_process_release(struct own_process *own); /* all zero: nothing */

bool own_process_asks_kernel(const struct own_process *own);

static inline bool own_process_is_this(const struct own_process *own)
{
	return own->mark ? *own->mark : own_process_asks_kernel(own);
}
