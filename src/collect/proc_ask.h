/*
 * proc_ask - what /proc says of processes, where reading it takes locks that the process can hold
 * as long as it likes: of `stat`, `maps` and what lies in them the kernel wants that no execve() is
 * under way, or the lock of its memory, and a file system of the process's user (FUSE) decides how
 * long that lasts. So the recorder never reads these itself. It asks the process that opens files
 * (symbol/reader.h), within a deadline, at the expense of the user whose process that is. It reads
 * itself what takes no such lock: status, cgroup, comm, the folder of threads.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "symbol/reader.h"

struct buffer;
struct left_out;
struct share;
struct shares;

/* Who did not answer: not asked again for ten minutes, unless the number is another's by then. */
#define PROC_SILENT_MOST 256u
struct proc_silent {
	struct proc_silent_one {
		uint32_t pid, tid;
		uint64_t inode; /* of its folder, which another of that number does not share */
		uint64_t since_ns;
	} list[PROC_SILENT_MOST];
	size_t count; /* ever; the last ones are known */
};

struct proc_ask {
	struct reader *reader; /* NULL: we read ourselves, of who is trusted alone */
	struct shares *shares; /* NULL: nobody pays */
	struct left_out *left; /* told here who did not answer; NULL: nowhere */
	/* Asked now and then where many processes are gone through; NULL: nobody. */
	const struct helper_watch *watch;
	struct proc_silent *silent; /* NULL: everybody is asked each time */
};

/*
 * Appends up to `limit_bytes` of the process's file (with `tid`: that thread's). `share` is whose
 * the process is; NULL: it is looked up. 0; -ESRCH or -ENOENT: it is gone; -ENOMEM: we have none;
 * -ETIMEDOUT: it does not answer; or another code of the reader's.
 */
int proc_ask(const struct proc_ask *ask, struct share *share, uint32_t pid, uint32_t tid,
	     enum reader_process what, size_t limit_bytes, struct buffer *out);
