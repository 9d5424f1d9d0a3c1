/*
 * file_writer - who can alter an open file, as the kernel knows it, in the terms of our own user
 * namespace. Owners are believed where no user could have made them up: not on FUSE, not on a mount
 * without set-user-ID programs that holds a disk's image (which is how the system lets users mount
 * theirs), not on an overlay that a user namespace of its own mounted.
 *
 * What is told holds when it is asked; a file that root owns now may have been handed to it by
 * somebody who still has it open for writing.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

struct stat;

/*
 * image/writer.h; 0: only root and we can. `info` is fstat()'s of `fd`, which was opened as
 * process `pid` sees it (0: as we do). May block where a FUSE server answers.
 */
uint64_t file_writer(int fd, pid_t pid, const struct stat *info);
