#include "collect/proc_ask.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/buffer.h"
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
	struct share_visit visit = shares_begin_visit(ask->shares, share, ask->reader);
	int ret = reader_read_process(ask->reader, (pid_t)pid, (pid_t)tid, what, limit_bytes, out,
				      NULL);
	shares_end_visit(ask->shares, &visit, ask->reader);
	if (ret == -ETIMEDOUT && ask->left && share)
		left_out_add(ask->left, path, share, LEFT_OUT_UNANSWERED, LEFT_OUT_NAMES);
	return ret;
}
