#include "symbol/helper_nursery.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/only_fd.h"
#include "machine/haste.h"
#include "symbol/reader_message.h"

#define NURSERY_NAME   "culprit-nursery"
#define ANSWER_NS      UINT64_C(500000000) /* it forks in less than a millisecond */

static struct {
	pthread_mutex_t lock;
	pid_t pid;   /* 0: there is none */
	pid_t owner; /* whose it is: not that of processes that this one forks otherwise */
	int socket;
} nursery = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* ---- the nursery's own side */

/* A child of our parent. It has one thread and no locks are held, so that nothing of what fork()
 * does beside the system call is missing. */
static pid_t fork_sibling(void)
{
	return (pid_t)syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0);
}

static void serve(struct message *request)
{
	struct message answer = { 0 };
	void (*run)(int);
	if (request->header.fd_count != 1 || request->payload.size != sizeof(run))
		_exit(1);
	memcpy(&run, request->payload.data, sizeof(run));
	pid_t child = fork_sibling();
	if (child == 0) {
		run(request->fds[0]);
		_exit(0);
	}
	answer.header.code = child < 0 ? -errno : child;
	if (message_send(ONLY_FD, &answer, MESSAGE_NO_DEADLINE) < 0)
		_exit(1);
}

/* The terminal's signals are not for it: it ends when its socket closes. */
static void keep_to_socket(int socket)
{
	sigset_t all;
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	prctl(PR_SET_NAME, NURSERY_NAME, 0, 0, 0);
	if (only_fd(socket) < 0 || chdir("/") != 0)
		_exit(1);
}

static void live(int socket)
{
	struct message request;
	keep_to_socket(socket);
	while (message_receive(ONLY_FD, &request, MESSAGE_NO_DEADLINE) == 0) {
		serve(&request);
		message_release(&request);
	}
	_exit(0);
}

/* ---- the process that has helpers */

static bool is_ours(void)
{
	return nursery.pid && nursery.owner == getpid();
}

void helper_nursery_start(void)
{
	int pair[2];
	if (is_ours() || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
		return;
	pid_t pid = fork();
	if (pid == 0)
		live(pair[1]);
	close(pair[1]);
	if (pid < 0 || atexit(helper_nursery_stop) != 0) {
		close(pair[0]);
		return;
	}
	nursery.pid = pid;
	nursery.owner = getpid();
	nursery.socket = pair[0];
}

static void end(void)
{
	if (!is_ours())
		return;
	close(nursery.socket);
	kill(nursery.pid, SIGKILL);
	waitpid(nursery.pid, NULL, 0);
	nursery.pid = 0;
}

/* Samples wait meanwhile, so it goes before others, where that is allowed. */
static int exchange(struct message *request, struct message *answer)
{
	uint64_t deadline_ns = clock_monotonic_ns() + ANSWER_NS;
	struct haste_usual usual = { 0 };
	haste_raise(nursery.pid, &usual);
	int ret = message_send(nursery.socket, request, deadline_ns);
	if (ret == 0)
		ret = message_receive(nursery.socket, answer, deadline_ns);
	haste_restore(nursery.pid, &usual);
	return ret;
}

static pid_t ask(void (*run)(int), int socket)
{
	struct message request = { .header.fd_count = 1, .fds = { socket } };
	struct message answer;
	if (!is_ours())
		return -ECHILD;
	buffer_append(&request.payload, &run, sizeof(run));
	int ret = buffer_failed(&request.payload) ? -ENOMEM : exchange(&request, &answer);
	buffer_release(&request.payload);
	if (ret < 0) {
		end(); /* it would answer late */
		return ret;
	}
	ret = answer.header.code;
	message_release(&answer);
	return ret;
}

pid_t helper_nursery_fork(void (*run)(int socket), int socket)
{
	pthread_mutex_lock(&nursery.lock);
	pid_t pid = ask(run, socket);
	pthread_mutex_unlock(&nursery.lock);
	return pid;
}

void helper_nursery_stop(void)
{
	pthread_mutex_lock(&nursery.lock);
	end();
	pthread_mutex_unlock(&nursery.lock);
}
