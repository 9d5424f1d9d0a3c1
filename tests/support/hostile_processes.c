/*
 * Attempts on other processes: to trace, read, write, signal or make one.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/count_of.h"
#include "support/hostile_acts_private.h"

static long trace(const struct hostile_scene *scene)
{
	long ret = syscall(SYS_ptrace, PTRACE_SEIZE, scene->victim, 0, 0);
	int number = errno;
	if (ret == 0)
		syscall(SYS_ptrace, PTRACE_DETACH, scene->victim, 0, 0);
	return ret < 0 ? -number : 0;
}

static long read_process(const struct hostile_scene *scene)
{
	long word;
	struct iovec here = { &word, sizeof(word) };
	struct iovec there = { scene->victim_word, sizeof(word) };
	return hostile_result(syscall(SYS_process_vm_readv, scene->victim, &here, 1, &there, 1, 0));
}

static long write_process(const struct hostile_scene *scene)
{
	long word = 4711;
	struct iovec here = { &word, sizeof(word) };
	struct iovec there = { scene->victim_word, sizeof(word) };
	return hostile_result(
		syscall(SYS_process_vm_writev, scene->victim, &here, 1, &there, 1, 0));
}

static long read_process_file(const struct hostile_scene *scene)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/mem", scene->victim);
	return hostile_opened(open(path, O_RDONLY));
}

static long write_process_file(const struct hostile_scene *scene)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/mem", scene->victim);
	return hostile_opened(open(path, O_RDWR));
}

static long signal_process(const struct hostile_scene *scene)
{
	return hostile_result(syscall(SYS_kill, scene->victim, SIGCONT));
}

static long signal_thread(const struct hostile_scene *scene)
{
	return hostile_result(syscall(SYS_tgkill, scene->victim, scene->victim, SIGCONT));
}

static long signal_starter(const struct hostile_scene *scene)
{
	return hostile_result(syscall(SYS_kill, scene->starter, SIGCONT));
}

static long open_process(const struct hostile_scene *scene)
{
	return hostile_opened((int)syscall(SYS_pidfd_open, scene->victim, 0));
}

static long limit_process(const struct hostile_scene *scene)
{
	struct rlimit limit;
	return hostile_result(syscall(SYS_prlimit64, scene->victim, RLIMIT_CORE, NULL, &limit));
}

static long move_process(const struct hostile_scene *scene)
{
	cpu_set_t all;
	memset(&all, 0xff, sizeof(all));
	return hostile_result(syscall(SYS_sched_setaffinity, scene->victim, sizeof(all), &all));
}

static long slow_process(const struct hostile_scene *scene)
{
	return hostile_result(syscall(SYS_setpriority, PRIO_PROCESS, scene->victim, 19));
}

static long make_process(const struct hostile_scene *scene)
{
	(void)scene;
	long pid = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (pid == 0)
		_exit(0);
	if (pid < 0)
		return -errno;
	waitpid((pid_t)pid, NULL, 0);
	return 0;
}

#ifdef SYS_fork
static long fork_the_old_way(const struct hostile_scene *scene)
{
	(void)scene;
	long pid = syscall(SYS_fork);
	if (pid == 0)
		_exit(0);
	if (pid < 0)
		return -errno;
	waitpid((pid_t)pid, NULL, 0);
	return 0;
}
#endif

static long execute(const struct hostile_scene *scene)
{
	(void)scene;
	char *const arguments[] = { (char *)"true", NULL };
	execve("/bin/true", arguments, arguments + 1); /* its exit status is 0 */
	return -errno;
}

static const struct hostile_act acts[] = {
	{ "trace a process", HOSTILE_MAY_STEP | HOSTILE_WORKS, trace },
	{ "read a process's memory", HOSTILE_WORKS, read_process },
	{ "write a process's memory", HOSTILE_WORKS, write_process },
	{ "read a process's memory by /proc", HOSTILE_MAY_OPEN | HOSTILE_MAY_STEP | HOSTILE_WORKS,
	  read_process_file },
	{ "write a process's memory by /proc", HOSTILE_WORKS, write_process_file },
	{ "signal a process", HOSTILE_WORKS, signal_process },
	{ "signal a thread", HOSTILE_WORKS, signal_thread },
	{ "signal its starter", HOSTILE_WORKS, signal_starter },
	{ "open a process", HOSTILE_WORKS, open_process },
	{ "limit a process", HOSTILE_WORKS, limit_process },
	{ "move a process", HOSTILE_WORKS, move_process },
	{ "slow a process", HOSTILE_WORKS, slow_process },
	{ "make a process", HOSTILE_WORKS, make_process },
#ifdef SYS_fork
	{ "fork the old way", HOSTILE_WORKS, fork_the_old_way },
#endif
	{ "execute", HOSTILE_WORKS, execute },
};

const struct hostile_group hostile_processes = { acts, COUNT_OF(acts) };
