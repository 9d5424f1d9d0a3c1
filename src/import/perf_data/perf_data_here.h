/*
 * perf_data_here - what a recording leaves unsaid of the files of this very machine.
 *
 * perf names no builds with -z, --no-buildid and -o -, but its records have each
 * file's device, inode and the time of its mapping. On the machine of the recording
 * (by host and kernel release) the file that is still there, unchanged, is that file,
 * and its build is the image's. So is the running kernel, when it lies where the
 * recording's did: each boot chooses another place.
 *
 * Everywhere else an import stays what the recording says. One thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "symbol/file_inode.h"

struct perf_data;
struct perf_here;

void perf_here_free(struct perf_here *here); /* NULL does nothing */

/* How the image's file is known here; inode 0: it is not. */
struct binary_inode perf_here_inode(const struct perf_data *data, uint32_t image);

/*
 * Gives the image its build-id, or the hash of its content, when it has none and is of
 * this machine. Once all records are read. 0 or -ENOMEM.
 */
int perf_here_identify(struct perf_data *data, uint32_t image);
/* Says which files are here no more as they were. */
void perf_here_tell(const struct perf_data *data);
