#include "collect/proc_ask.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/small_file.h"
#include "collect/left_out.h"
#include "collect/shares.h"

static const char *const names[] = {
	[READER_PROCESS_STAT] = "stat", [READER_PROCESS_MAPS] = "maps"
};

static void put_path(char *path, size_t size, uint32_t pid, uint32_t tid, enum reader_process what)
{
	if (tid)
		snprintf(path, size, "/proc/%" PRIu32 "/task/%" PRIu32 "/%s", pid, tid,
			 names[what]);
	else
		snprintf(path, size, "/proc/%" PRIu32 "/%s", pid, names[what]);
}

#define SILENT_NS UINT64_C(600000000000)

/* The inode of its folder below /proc, which takes no lock of the process; 0: it is gone. */
static uint64_t inode_of(uint32_t pid)
{
	char path[64];
	struct stat info;
	snprintf(path, sizeof(path), "/proc/%" PRIu32, pid);
	return stat(path, &info) == 0 ? info.st_ino : 0;
}

static bool is_silent(const struct proc_silent *silent, uint32_t pid, uint32_t tid)
{
	size_t known = silent->count < PROC_SILENT_MOST ? silent->count : PROC_SILENT_MOST;
	for (size_t i = 0; i < known; i++) {
		const struct proc_silent_one *one = &silent->list[i];
		if (one->pid == pid && one->tid == tid &&
		    clock_monotonic_ns() - one->since_ns < SILENT_NS && one->inode == inode_of(pid))
			return true;
	}
	return false;
}

static void remember_silent(struct proc_silent *silent, uint32_t pid, uint32_t tid)
{
	silent->list[silent->count++ % PROC_SILENT_MOST] =
		(struct proc_silent_one){ pid, tid, inode_of(pid), clock_monotonic_ns() };
}

int proc_ask(const struct proc_ask *ask, struct share *share, uint32_t pid, uint32_t tid,
	     enum reader_process what, size_t limit_bytes, struct buffer *out)
{
	char path[64];
	put_path(path, sizeof(path), pid, tid, what);
	if (!share && ask->shares)
		share = shares_of_process(ask->shares, pid);
	if (!share && ask->shares)
		return -ESRCH;
	if (!ask->reader)
		return share && share->strange ? -ENOSYS : small_file_read(path, limit_bytes, out);
	if (ask->silent && is_silent(ask->silent, pid, tid))
		return -ETIMEDOUT;
	struct share_visit visit = shares_begin_visit(ask->shares, share, ask->reader);
	int ret = reader_read_process(ask->reader, (pid_t)pid, (pid_t)tid, what, limit_bytes, out,
				      NULL);
	shares_end_visit(ask->shares, &visit, ask->reader);
	if (ret == -ETIMEDOUT && ask->silent)
		remember_silent(ask->silent, pid, tid);
	if (ret == -ETIMEDOUT && ask->left && share)
		left_out_add(ask->left, path, share, LEFT_OUT_UNANSWERED, LEFT_OUT_NAMES);
	return ret;
}
