/*
 * file_writer - who can alter an open file, by its owner, mode and access lists, as user and group
 * IDs of our own user namespace. Owners are believed where no user could have made them up: not on
 * FUSE, not on an overlay that was mounted in another user namespace, and root is not believed to
 * own what is mounted nosuid (as the system lets users mount a disk's image of theirs).
 *
 * The answer is of the moment: whoever gave a file to root may still have it open for writing.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

struct stat;

/*
 * A number of image/writer.h; 0: only root and we can alter it. `info` is what fstat() says of
 * `fd`, which was opened as process `pid` sees it (0: as we do). May block where a FUSE server
 * answers.
 */
uint64_t file_writer(int fd, pid_t pid, const struct stat *info);
