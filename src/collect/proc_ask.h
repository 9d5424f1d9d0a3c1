/*
 * proc_ask - reads files of /proc/PID for which the kernel takes locks that the process can hold as
 * long as it likes: `stat` waits for an execve() that is under way, `maps` for the lock of its
 * memory, and a file system of the process's user (FUSE) decides how long that lasts. So the
 * recorder has the process that opens files read them (symbol/reader.h), within a deadline, at the
 * expense of the user whose process that is. It reads itself what takes no such lock: status,
 * cgroup, comm, the folder of threads.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "symbol/reader.h"

struct buffer;
struct left_out;
struct share;
struct shares;

/* Processes and threads that did not answer: for ten minutes their files are not read again, unless
 * another process has the number by then. */
#define PROC_SILENT_MOST 256u
struct proc_silent {
	struct proc_silent_one {
		uint32_t pid, tid;
		uint64_t inode; /* of its folder below /proc: another process's has another one */
		uint64_t since_ns;
	} list[PROC_SILENT_MOST];
	size_t count; /* so far; the list has the last PROC_SILENT_MOST */
};

struct proc_ask {
	struct reader *reader; /* NULL: we read ourselves, of who is trusted alone */
	struct shares *shares; /* NULL: nobody pays */
	struct left_out *left; /* gets those that did not answer; or NULL */
	/* Called now and then by who goes through many processes: whether to go on. Or NULL. */
	const struct helper_watch *watch;
	struct proc_silent *silent; /* NULL: nobody is known to be silent */
};

/*
 * Appends up to `limit_bytes` of the process's file; of its thread's where `tid` is not 0. `share`:
 * whose the process is; NULL: it is looked up. 0; -ESRCH or -ENOENT: it is gone; -ENOMEM;
 * -ETIMEDOUT: it does not answer; -ENOSYS: there is no reader, and it is a stranger's; or another
 * code of the reader's.
 */
int proc_ask(const struct proc_ask *ask, struct share *share, uint32_t pid, uint32_t tid,
	     enum reader_process what, size_t limit_bytes, struct buffer *out);
