/*
 * file_mount - what an open file lies on: whose mount that is, and whether its file system answers
 * by itself or waits for somebody else, such as a server, who may never answer.
 *
 * These calls may block on the latter: make them in a process that may be killed.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/*
 * Whether nobody but our own root can have mounted it: the mount is in our own mount namespace, or
 * in that of `pid` (0: none) where that belongs to our user namespace. `fd` was opened as `pid`
 * sees it.
 */
bool file_mount_is_ours(int fd, pid_t pid);

/*
 * Whether every call on the descriptor, close() too, ends without anybody's help. That holds on the
 * kernel's own file systems of disks and memory, which no user can mount; and on an overlay
 * that is our own root, or that is ours (file_mount_is_ours()) and has only layers of such file
 * systems, in folders that only root and we can replace. False where that is not known.
 */
bool file_mount_answers_itself(int fd, pid_t pid);
/* Whether it holds of the layers of an overlay, which its options in mountinfo name. */
bool file_mount_layers_answer(const char *options);
