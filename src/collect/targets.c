#include "collect/targets.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "collect/cgroup.h"
#include "collect/plan.h"
#include "collect/proc_status.h"
#include "collect/session.h"

#define LISTINGS 16 /* of threads or processes, until none is new; a fork bomb takes more */

void targets_release(struct targets *targets)
{
	for (size_t i = 0; i < targets->pid_count; i++)
		if (targets->pid_fds[i] >= 0)
			close(targets->pid_fds[i]);
	if (targets->cgroup_fd > 0)
		close(targets->cgroup_fd);
	free(targets->pid_fds);
	free(targets->roots);
	descendants_release(&targets->before);
	free(targets->tids);
	*targets = (struct targets){ 0 };
}

/* A thread that nobody has waited for keeps its folder in /proc after its end. */
static bool thread_alive(pid_t tid)
{
	struct proc_status status;
	int ret = proc_status_read((uint32_t)tid, &status);
	if (ret == -ENOENT || ret == -ESRCH)
		return false;
	return ret < 0 || (status.state != 'Z' && status.state != 'X');
}

bool targets_alive(struct targets *targets)
{
	/* A group that was removed has no files in its folder any more. */
	if (targets->cgroup_fd > 0)
		return faccessat(targets->cgroup_fd, "cgroup.procs", F_OK, 0) == 0 ||
		       errno != ENOENT;
	if (!targets->watched)
		return true;
	bool alive = false;
	for (size_t i = 0; i < targets->pid_count; i++) {
		struct pollfd end = { targets->pid_fds[i], POLLIN, 0 };
		if (end.fd >= 0 && poll(&end, 1, 0) == 0)
			alive = true;
	}
	for (size_t i = 0; i < targets->tid_count; i++) {
		if (targets->tids[i] && !thread_alive(targets->tids[i]))
			targets->tids[i] = 0;
		alive |= targets->tids[i] != 0;
	}
	return alive;
}

struct tid_list {
	pid_t *tids;
	size_t count, capacity;
};

static void tid_list_release(struct tid_list *list)
{
	free(list->tids);
}

static bool listed(const struct tid_list *list, pid_t tid)
{
	for (size_t i = 0; i < list->count; i++)
		if (list->tids[i] == tid)
			return true;
	return false;
}

static int list_threads(pid_t pid, struct tid_list *list)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	DIR *directory = opendir(path);
	if (!directory)
		return errno == ENOENT ? -ESRCH : -errno;
	int ret = 0;
	for (struct dirent *entry; ret == 0 && (entry = readdir(directory));) {
		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		ret = array_reserve(&list->tids, &list->capacity, list->count, sizeof(pid_t));
		if (ret == 0)
			list->tids[list->count++] = (pid_t)strtol(entry->d_name, NULL, 10);
	}
	closedir(directory);
	return ret;
}

/* Whether a watched thread has created this one since: then it has inherited all events. */
static bool was_inherited(struct session *session, pid_t tid)
{
	struct counters *counters = &session->counters;
	for (size_t slot = 0; slot < counters->cpu_count; slot++) {
		struct ring *ring = counters_ring(counters, slot, true);
		if (ring_copy(ring, &counters->sideband_layout) < 0)
			return false;
		for (size_t i = ring->first; i < ring->count; i++) {
			struct perf_record record;
			if (perf_record_decode(ring_bytes(ring, &ring->entries[i]),
					       ring->entries[i].size_bytes,
					       &counters->sideband_layout, &record) < 0)
				continue;
			if (record.type == PERF_RECORD_FORK && record.task.tid == (uint32_t)tid)
				return true;
		}
	}
	return false;
}

/*
 * Opens the counters of all threads of a process. Threads may be created meanwhile: a thread that
 * is watched already passes its events on, other new threads are found by listing again.
 */
static int open_process(struct session *session, pid_t pid, struct error *err)
{
	struct tid_list known = { 0 };
	int ret = 0;
	for (int listing = 0; listing < LISTINGS && ret == 0; listing++) {
		struct tid_list now = { 0 };
		size_t fresh = 0;
		ret = list_threads(pid, &now);
		for (size_t i = 0; i < now.count && ret == 0; i++) {
			pid_t tid = now.tids[i];
			if (listed(&known, tid))
				continue;
			ret = array_reserve(&known.tids, &known.capacity, known.count, sizeof(tid));
			if (ret < 0)
				break;
			known.tids[known.count++] = tid;
			fresh++;
			if (listing && was_inherited(session, tid))
				continue;
			ret = counters_open(&session->counters, tid, 0, err);
			if (ret == -ESRCH)
				ret = 0; /* it ended meanwhile */
		}
		free(now.tids);
		if (!fresh)
			break;
	}
	free(known.tids);
	if (ret == -ESRCH)
		return error_set(err, ret, "there is no process %d", pid);
	if (ret == -ENOMEM)
		return error_set(err, ret, "out of memory");
	return ret;
}

static int watch_process(struct targets *targets, pid_t pid, struct error *err)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	/* EINVAL, as pidfd_open(2) has it, or ENOENT, as Linux 6.18 says of a number that is there.
	 */
	if (fd < 0 && (errno == EINVAL || errno == ENOENT))
		return error_set(err, -ESRCH, "%d is a thread, not a process; use --tid", pid);
	if (fd < 0)
		return error_set(
			err, -errno,
			errno == ESRCH ? "there is no process %d" : "cannot watch process %d", pid);
	int ret = array_reserve(&targets->pid_fds, &targets->pid_capacity, targets->pid_count,
				sizeof(*targets->pid_fds));
	if (ret < 0) {
		close(fd);
		return error_set(err, ret, "out of memory");
	}
	targets->pid_fds[targets->pid_count++] = fd;
	return 0;
}

static int open_child(struct targets *targets, struct session *session, pid_t pid,
		      struct error *err)
{
	int ret = watch_process(targets, pid, err);
	if (ret == 0)
		ret = open_process(session, pid, err);
	return ret == -ESRCH ? 0 : ret; /* it ended meanwhile */
}

/* Processes below the watched ones that could not be watched: an execve() of theirs does not end.
 */
struct left_children {
	pid_t first;
	size_t count;
};

static void report_left(const struct session *session, const struct left_children *left)
{
	const struct collect_options *options = session->options;
	char text[200];
	if (!left->count)
		return;
	size_t length = (size_t)snprintf(
		text, sizeof(text),
		"process %d below is not watched: the kernel waits for the end of an execve() of "
		"its, which does not come",
		left->first);
	if (left->count > 1)
		snprintf(text + length, sizeof(text) - length, "; %zu more like it",
			 left->count - 1);
	collect_note(options, COLLECT_WARNING, text);
}

static int open_or_leave(struct targets *targets, struct session *session, pid_t pid,
			 struct left_children *left, struct error *err)
{
	int ret = was_inherited(session, pid) ? 0 : open_child(targets, session, pid, err);
	if (ret != -ETIMEDOUT)
		return ret;
	left->first = left->count++ ? left->first : pid;
	return 0;
}

/* Opens the counters of all processes below the watched ones. As with threads: children of watched
 * processes inherit, those that others have made meanwhile are found by listing again. */
static int open_children(struct targets *targets, struct session *session, struct error *err)
{
	CLEANUP(tid_list_release) struct tid_list known = { 0 };
	struct left_children left = { 0 };
	for (int listing = 0; listing < LISTINGS; listing++) {
		CLEANUP(descendants_release) struct descendants now = { 0 };
		size_t fresh = 0;
		int ret = descendants_list(&now, targets->roots, targets->root_count,
					   session->ask.watch);
		for (size_t i = 0; i < now.count && ret == 0; i++) {
			pid_t pid = now.list[i].pid;
			if (!now.list[i].below || listed(&known, pid))
				continue;
			ret = array_reserve(&known.tids, &known.capacity, known.count, sizeof(pid));
			if (ret < 0)
				break;
			known.tids[known.count++] = pid;
			fresh++;
			ret = open_or_leave(targets, session, pid, &left, err);
			if (ret < 0)
				return ret;
		}
		if (ret < 0)
			return error_set(err, ret, "cannot list the processes below: %s",
					 strerror(-ret));
		if (!fresh)
			break;
	}
	report_left(session, &left);
	return 0;
}

static int keep_roots(struct targets *targets, const struct collect_options *options)
{
	targets->roots = calloc(options->pid_count + 1, sizeof(pid_t));
	if (!targets->roots)
		return -ENOMEM;
	for (size_t i = 0; i < options->pid_count; i++)
		targets->roots[targets->root_count++] = options->pids[i];
	return 0;
}

int targets_start(struct targets *targets, const struct proc_ask *ask, bool children)
{
	descendants_release(&targets->before);
	if (!targets->root_count || children)
		return 0;
	int ret =
		descendants_read(&targets->before, targets->roots, targets->root_count, NULL, ask);
	if (ret < 0)
		descendants_release(&targets->before);
	return ret == -ENOMEM ? ret : 0;
}

void targets_describe_below(const struct targets *targets, const struct proc_ask *ask,
			    uint64_t samples, char *text, size_t size)
{
	CLEANUP(descendants_release) struct descendants now = { 0 };
	text[0] = 0;
	if (!targets->before.count ||
	    descendants_read(&now, targets->roots, targets->root_count, &targets->before, ask) < 0)
		return;
	struct descendants_use use = descendants_compare(&targets->before, &now);
	descendants_describe(&use, samples, (uint64_t)sysconf(_SC_CLK_TCK), text, size);
}

static int open_tasks(struct targets *targets, struct session *session,
		      const struct collect_options *options, struct error *err)
{
	targets->watched = true;
	targets->tids = calloc(options->tid_count + 1, sizeof(pid_t));
	if (!targets->tids || keep_roots(targets, options) < 0)
		return error_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < options->pid_count; i++) {
		int ret = watch_process(targets, options->pids[i], err);
		if (ret == 0)
			ret = open_process(session, options->pids[i], err);
		if (ret < 0)
			return ret;
	}
	if (options->children) {
		int ret = open_children(targets, session, err);
		if (ret < 0)
			return ret;
	}
	for (size_t i = 0; i < options->tid_count; i++) {
		pid_t tid = options->tids[i];
		int ret = counters_open(&session->counters, tid, 0, err);
		if (ret == -ESRCH)
			return error_set(err, ret, "there is no thread %d", tid);
		if (ret < 0)
			return ret;
		targets->tids[targets->tid_count++] = tid;
	}
	if (!session->counters.count)
		return error_set(err, -ESRCH, "all that was to be watched has ended");
	/* What all processes have mapped: a watched thread's samples have the pid of its process.
	 */
	return session_scan_all(session) < 0 ? error_set(err, -ENOMEM, "out of memory") : 0;
}

static int open_command(struct session *session, const struct collect_options *options,
			const struct plan *plan, struct error *err)
{
	pid_t pid = options->command_pid;
	int ret = counters_open(&session->counters, plan->inherit ? pid : -1, 0, err);
	if (ret < 0)
		return ret == -ESRCH ? error_set(err, ret, "the command has ended") : ret;
	if (session_scan_process(session, (uint32_t)pid) < 0)
		return error_set(err, -ENOMEM, "out of memory");
	struct process *process = process_need(&session->processes, (uint32_t)pid);
	if (!process)
		return error_set(err, -ENOMEM, "out of memory");
	process->followed = true;
	return 0;
}

int targets_open(struct targets *targets, struct session *session,
		 const struct collect_options *options, const struct plan *plan, struct error *err)
{
	int ret;
	switch (options->target) {
	case COLLECT_TASKS:
		return open_tasks(targets, session, options, err);
	case COLLECT_COMMAND:
		return open_command(session, options, plan, err);
	case COLLECT_CGROUP:
		ret = cgroup_open(options->cgroup, err);
		if (ret < 0)
			return ret;
		targets->cgroup_fd = ret;
		ret = counters_open(&session->counters, ret, PERF_FLAG_PID_CGROUP, err);
		break;
	default:
		ret = counters_open(&session->counters, -1, 0, err);
	}
	/* The side-band counts already: what happens while /proc is read is not missed. */
	if (ret == 0 && session_scan_all(session) < 0)
		ret = error_set(err, -ENOMEM, "out of memory");
	return ret;
}
