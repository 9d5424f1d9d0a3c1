/*
 * file_mount - what an open file lies on: whose mount that is, and whether its file system answers
 * by itself or waits for somebody, a server or what a user mounted, who may never do so.
 *
 * Both may block where such a one is asked; a process that may be killed calls them.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/*
 * Whether nobody but who is root for us too can have mounted it: the mount is one of our own
 * namespace, or of that of `pid` (0: none), which is of our own users. `fd` was opened as `pid`
 * sees it.
 */
bool file_mount_is_ours(int fd, pid_t pid);

/*
 * Whether every call on the descriptor, close() too, ends without anybody's help. So it is on the
 * kernel's own file systems of disks and memory, which no user can mount; and on an overlay
 * that is our own root, or that is ours (file_mount_is_ours()) and has layers of such file systems
 * alone, in folders that only root and we can put something else in the place of. What is not known
 * to be so is not.
 */
bool file_mount_answers_itself(int fd, pid_t pid);
/* The same of an overlay by its options in mountinfo, where its layers are named. */
bool file_mount_layers_answer(const char *options);
