#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/small_file.h"
#include "collect/cgroup.h"
#include "collect/proc_stat.h"
#include "collect/session.h"

#define MAPS_LIMIT	   (64u << 20) /* 65530 mappings of long paths */
#define STRANGE_MAPS_LIMIT (16u << 20)
#define SMALL_LIMIT	   65536
#define BUSY_PART	   50
#define PF_KTHREAD	   0x00200000 /* include/linux/sched.h */

static void close_directory(DIR **directory)
{
	if (*directory)
		closedir(*directory);
}

/* Whether it runs now, or took a fiftieth of its life or more in CPU time. */
static bool is_busy(const struct proc_stat *stat)
{
	uint64_t tick_ns = 1000000000u / (uint64_t)sysconf(_SC_CLK_TCK);
	uint64_t start_ns = stat->start_ticks * tick_ns, now_ns = clock_boot_ns();
	uint64_t taken_ns = (stat->user_ticks + stat->system_ticks) * tick_ns;
	return stat->state == 'R' ||
	       (start_ns < now_ns && taken_ns >= (now_ns - start_ns) / BUSY_PART);
}

/* Takes the name alone, of a process of which no more can be read: its samples have that. */
static int name_mute(struct session *session, uint32_t pid, struct process **found)
{
	char path[64];
	char comm[PROCESS_COMM_SIZE];
	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/comm", pid);
	if (small_file_read_line(path, comm, sizeof(comm)) < 0)
		return 0;
	struct process *process = process_need(&session->processes, pid);
	if (!process)
		return -ENOMEM;
	snprintf(process->comm, sizeof(process->comm), "%s", comm);
	*found = process;
	return 0;
}

static int read_stat(struct session *session, struct share *share, uint32_t pid,
		     struct process **found)
{
	CLEANUP(buffer_release) struct buffer buffer = { 0 };
	struct proc_stat stat;
	int ret = proc_ask(&session->ask, share, pid, 0, READER_PROCESS_STAT, SMALL_LIMIT, &buffer);
	if (ret == -ENOENT || ret == -ESRCH)
		return 0;
	if (ret < 0 || !proc_stat_parse((struct span){ buffer.data, buffer.size }, &stat)) {
		bool mute = ret == -ETIMEDOUT;
		ret = ret == -ENOMEM ? ret : name_mute(session, pid, found);
		if (ret == 0 && *found)
			(*found)->mute |= mute;
		return ret;
	}
	struct process *process = process_need(&session->processes, pid);
	if (!process)
		return -ENOMEM;
	snprintf(process->comm, sizeof(process->comm), "%.*s", (int)stat.name.size,
		 (const char *)stat.name.data);
	process->kernel = stat.flags & PF_KTHREAD;
	process->threads = stat.threads;
	process->busy = is_busy(&stat);
	process->start_ns = stat.start_ticks * (1000000000u / (uint64_t)sysconf(_SC_CLK_TCK));
	*found = process;
	return 0;
}

/* "start-end perms offset major:minor inode path" */
static int take_map_line(struct session *session, struct process *process, const char *line,
			 size_t length)
{
	uint64_t start, end, offset, inode;
	unsigned int major_number, minor_number;
	char protection[5];
	int path_at = 0;
	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 " %n", &start,
		   &end, protection, &offset, &major_number, &minor_number, &inode, &path_at) < 7)
		return 0;
	if (strlen(protection) < 3 || protection[2] != 'x')
		return 0;
	struct share *share = session_share(session, process);
	struct span path = { 0 };
	if (path_at > 0 && (size_t)path_at < length)
		path = (struct span){ line + path_at, length - (size_t)path_at };
	kept_processes_map(&session->kept, process, path);
	if (!session_may_map(session, process))
		return 0;
	struct file_hint hint = {
		.share = share,
		.payer = session_payer(session, process),
		.pid = process->pid,
		.start = start,
		.end = end,
		.major = major_number,
		.minor = minor_number,
		.inode = inode,
		.narrow = process->narrow,
		.path = path,
	};
	struct mapping mapping = { .start = start, .end = end, .offset = offset };
	int ret = file_table_find(&session->files, &hint, &mapping.file);
	if (ret == 0)
		ret = process_map(&session->processes, process->pid, &mapping);
	session_count_mappings(session, process);
	return ret == -E2BIG ? 0 : ret;
}

/* As many lines as the process's user has time for. */
static int take_map_lines(struct session *session, struct process *process, struct buffer *buffer,
			  uint64_t most_ns)
{
	char *text = (char *)buffer->data;
	char *end = text + buffer->size;
	uint64_t begin_ns = clock_monotonic_ns();
	int ret = 0;
	while (text < end && ret == 0 && clock_monotonic_ns() - begin_ns <= most_ns) {
		char *newline = memchr(text, '\n', (size_t)(end - text));
		if (!newline)
			break;
		*newline = 0;
		ret = take_map_line(session, process, text, (size_t)(newline - text));
		text = newline + 1;
	}
	return ret;
}

int session_scan_maps(struct session *session, struct process *process)
{
	CLEANUP(buffer_release) struct buffer buffer = { 0 };
	struct share *share = session_share(session, process);
	uint64_t left_ns = share_reading_left_ns(&session->shares, share);
	if (process->mute || !left_ns)
		return 0;
	int ret = proc_ask(&session->ask, share, process->pid, 0, READER_PROCESS_MAPS,
			   share->strange ? STRANGE_MAPS_LIMIT : MAPS_LIMIT, &buffer);
	process->mute |= ret == -ETIMEDOUT; /* once is enough */
	if (ret < 0 || !buffer.size)
		return ret == -ENOMEM ? ret : 0;
	process->known = true;
	uint64_t begin_ns = clock_monotonic_ns();
	ret = take_map_lines(session, process, &buffer, left_ns);
	share_spend(&session->shares, share, SHARE_READING, clock_monotonic_ns() - begin_ns);
	return ret;
}

/* Names of threads are wanted only where threads are kept apart. */
static int scan_threads(struct session *session, const struct process *process)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/task", process->pid);
	CLEANUP(close_directory) DIR *directory = opendir(path);
	if (!directory)
		return 0;
	for (struct dirent *entry; (entry = readdir(directory));) {
		uint32_t tid = (uint32_t)strtoul(entry->d_name, NULL, 10);
		if (!tid || tid == process->pid)
			continue;
		char comm_path[128];
		char comm[64];
		snprintf(comm_path, sizeof(comm_path), "%s/%" PRIu32 "/comm", path, tid);
		if (small_file_read_line(comm_path, comm, sizeof(comm)) < 0)
			continue;
		int ret = process_comm(&session->processes, process->pid, tid, span_of_text(comm),
				       false, 0);
		if (ret < 0)
			return ret;
	}
	return 0;
}

/* Reads what takes no lock of the process (collect/proc_ask.h), at the expense of `share`. */
static int scan_freely(struct session *session, struct share *share, struct process *process)
{
	uint64_t begin_ns = clock_monotonic_ns();
	int ret = session_read_group(session, process);
	if (ret == 0 && session->identity & COLLECT_PER_THREAD)
		ret = scan_threads(session, process);
	share_spend(&session->shares, share, SHARE_READING, clock_monotonic_ns() - begin_ns);
	return ret;
}

static int scan_process(struct session *session, struct share *share, uint32_t pid)
{
	struct process *process = NULL;
	int ret = read_stat(session, share, pid, &process);
	if (ret < 0 || !process)
		return ret;
	if (process->kernel) {
		process->known = true;
		return 0;
	}
	process->asked = true; /* scan_freely() reads its group, which children inherit */
	ret = scan_freely(session, share, process);
	return ret < 0 ? ret : session_scan_maps(session, process);
}

int session_scan_process(struct session *session, uint32_t pid)
{
	struct share *share = shares_of_process(&session->shares, pid);
	return share ? scan_process(session, share, pid) : 0;
}

/* A process whose user has no time left is scanned at its first sample. */
static int scan_one(struct session *session, uint32_t pid)
{
	uint64_t begin_ns = clock_monotonic_ns();
	struct share *share = shares_of_process(&session->shares, pid);
	if (!share)
		return 0;
	share_spend(&session->shares, share, SHARE_READING, clock_monotonic_ns() - begin_ns);
	if (share_reading_left_ns(&session->shares, share) < SHARE_LEAST_NS)
		return 0;
	return scan_process(session, share, pid);
}

int session_scan_all(struct session *session)
{
	/* The idle tasks share number 0 and have no folder. */
	struct process *idle = process_need(&session->processes, 0);
	if (!idle)
		return -ENOMEM;
	snprintf(idle->comm, sizeof(idle->comm), "swapper");
	idle->kernel = idle->known = idle->asked = true;
	CLEANUP(close_directory) DIR *directory = opendir("/proc");
	if (!directory)
		return 0;
	for (struct dirent *entry; (entry = readdir(directory));) {
		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		if (session_wish(session) != COLLECT_GO_ON)
			break;
		int ret = scan_one(session, (uint32_t)strtoul(entry->d_name, NULL, 10));
		if (ret < 0)
			return ret;
	}
	return 0;
}

int session_read_group(struct session *session, struct process *process)
{
	char path[64];
	CLEANUP(buffer_release) struct buffer buffer = { 0 };
	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/cgroup", process->pid);
	int ret = small_file_read(path, SMALL_LIMIT, &buffer);
	if (ret < 0)
		return ret == -ENOMEM ? ret : 0; /* it has gone: what its parent was in stands */
	struct span group = cgroup_path((struct span){ buffer.data, buffer.size });
	if (!group.data)
		return 0;
	if (groups_find(&session->groups, group, &process->group))
		return 0;
	return groups_add(&session->groups, &session->shares, session_share(session, process),
			  group, &process->group);
}
