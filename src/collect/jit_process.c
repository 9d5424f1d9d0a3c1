#include "collect/jit_private.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/small_file.h"
#include "collect/file_ways.h"
#include "collect/proc_ask.h"
#include "collect/proc_stat.h"
#include "symbol/safe_open.h"

#define STATUS_LIMIT 65536
#define FILE_TIME_NS 1000000000 /* file systems round times, some to seconds */

/* The process's number as it sees itself: the last of "NSpid:" in its status. */
static uint32_t own_pid(const char *status, uint32_t pid)
{
	const char *line = strstr(status, "\nNSpid:");
	if (!line)
		return pid;
	size_t length = strcspn(line + 1, "\n");
	const char *at = line + 1 + length;
	while (at > line && at[-1] >= '0' && at[-1] <= '9')
		at--;
	uint32_t own = (uint32_t)strtoul(at, NULL, 10);
	return own ? own : pid;
}

/* Whose files are believed, by the process's status: nobody's when it runs with another's rights.
 */
static uint32_t user_of(const char *status)
{
	const char *line = strstr(status, "\nUid:");
	uint32_t real, effective;
	if (!line || sscanf(line, "\nUid: %" SCNu32 " %" SCNu32, &real, &effective) != 2)
		return SAFE_NO_USER;
	return real == effective ? effective : SAFE_NO_USER;
}

void jit_look_at_process(const struct jit_table *table, struct jit *jit)
{
	char path[64];
	CLEANUP(buffer_release) struct buffer status = { 0 };
	CLEANUP(buffer_release) struct buffer text = { 0 };
	struct proc_stat stat;
	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/status", jit->pid);
	if (small_file_read(path, STATUS_LIMIT, &status) < 0)
		return;
	/* second: if the number was given away in between, this tells */
	const struct proc_ask ask = { table->reader, table->shares, NULL, NULL, NULL };
	if (proc_ask(&ask, NULL, jit->pid, 0, READER_PROCESS_STAT, STATUS_LIMIT, &text) < 0 ||
	    !proc_stat_parse((struct span){ text.data, text.size }, &stat) ||
	    (jit->user_known && stat.start_ticks != jit->start_ticks))
		return;
	jit->start_ticks = stat.start_ticks;
	jit->user = user_of(buffer_text(&status));
	jit->own_pid = own_pid(buffer_text(&status), jit->pid);
	jit->user_known = true;
}

/* What to add to a time of the wall to get one of `clock`. */
static int64_t offset_of_wall(clockid_t clock)
{
	struct timespec other, real;
	clock_gettime(clock, &other);
	clock_gettime(CLOCK_REALTIME, &real);
	return ((int64_t)other.tv_sec - (int64_t)real.tv_sec) * 1000000000 + other.tv_nsec -
	       real.tv_nsec;
}

bool jit_is_recent(const struct jit *jit, const struct safe_file *file)
{
	int64_t written_ns = file->modified_ns + offset_of_wall(CLOCK_BOOTTIME);
	return jit->start_ns && written_ns >= (int64_t)jit->start_ns - FILE_TIME_NS;
}

bool jit_is_passing(int code)
{
	return file_ways_refused(code);
}

void jit_note_opening(struct jit *jit, uint32_t file, int code, const struct error *err)
{
	bool same = jit->refused_open && jit->refused_file == file;
	if (code == -ENOENT || code == -ESRCH)
		return; /* it may have been removed; what was there was not read */
	if (jit_is_passing(code)) {
		jit->cut = true;
	} else if (code < 0 && (same || !jit->refused.code)) {
		jit->refused = *err;
		jit->refused_open = true;
		jit->refused_file = file;
	} else if (code == 0 && same) {
		jit->refused = (struct error){ 0 };
		jit->refused_open = false;
	}
}

bool jit_has_ended(const struct jit *jit)
{
	return kill((pid_t)jit->pid, 0) < 0 && errno == ESRCH;
}

bool jit_examine(const struct safe_file *file, struct stat *info)
{
	if (fstat(file->fd, info) != 0)
		return false;
	if (file->copied) {
		info->st_dev = file->device;
		info->st_ino = file->inode;
		info->st_mtim = (struct timespec){ .tv_sec = file->modified_ns / 1000000000,
						   .tv_nsec = file->modified_ns % 1000000000 };
	}
	return true;
}

uint64_t jit_time_of_news(const struct jit *jit, const struct stat *info, uint64_t now_ns,
			  bool first)
{
	if (first && !jit->began)
		return 0;
	int64_t written_ns = (int64_t)info->st_mtim.tv_sec * 1000000000 + info->st_mtim.tv_nsec +
			     offset_of_wall(CLOCK_MONOTONIC);
	uint64_t time_ns = written_ns > 0 ? (uint64_t)written_ns : 0;
	if (time_ns > now_ns)
		time_ns = now_ns;
	return !first && time_ns < jit->read_ns ? jit->read_ns : time_ns;
}
