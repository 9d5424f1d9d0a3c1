#include "collect/stepper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/only_fd.h"
#include "collect/step_code.h"
#include "confine/confinement.h"

#define STOP_TRIES 30 /* of a millisecond; a stretch takes about ten */

struct question {
	pid_t tid;
	uint32_t instructions;
};

enum message_kind { MESSAGE_CHILD, MESSAGE_ENDED, MESSAGE_STEPS };

/* A datagram to the owner; behind the last place of `steps` nothing is sent. */
struct answer {
	uint32_t kind;
	int32_t number;		     /* the child's pid or wait status */
	uint64_t user_ns, system_ns; /* of a child that ended */
	struct steps steps;
};

/* The state of the stepper process. */
struct keeper {
	int socket;
	pid_t child; /* 0: none, or ended */
	struct answer answer;
};

static void send_answer(struct keeper *keeper, enum message_kind kind, int number)
{
	size_t size = offsetof(struct answer, steps);
	keeper->answer.kind = kind;
	keeper->answer.number = number;
	if (kind == MESSAGE_STEPS)
		size += offsetof(struct steps, places) +
			(keeper->answer.steps.count + 1) * sizeof(struct step_place);
	/* Other failures do not matter: the owner is gone. */
	while (send(keeper->socket, &keeper->answer, size, MSG_NOSIGNAL) < 0 && errno == EINTR)
		;
}

static void child_ended(struct keeper *keeper, int status)
{
	struct answer answer = { .kind = MESSAGE_ENDED, .number = status };
	struct rusage used;
	if (getrusage(RUSAGE_CHILDREN, &used) == 0) { /* it is the only child */
		answer.user_ns = clock_timeval_ns(&used.ru_utime);
		answer.system_ns = clock_timeval_ns(&used.ru_stime);
	}
	keeper->child = 0;
	while (send(keeper->socket, &answer, offsetof(struct answer, steps), MSG_NOSIGNAL) < 0 &&
	       errno == EINTR)
		;
}

static void look_for_end(struct keeper *keeper)
{
	int status;
	if (keeper->child && waitpid(keeper->child, &status, WNOHANG) == keeper->child)
		child_ended(keeper, status);
}

/* Called while a step takes long. Does not wait for a child that is stepped now: that would consume
 * the stop that step.c waits for. */
static void look_while_stepping(void *context)
{
	struct keeper *keeper = context;
	if (keeper->answer.steps.tid != keeper->child)
		look_for_end(keeper);
}

static void serve_question(struct keeper *keeper, const struct question *question)
{
	struct steps *steps = &keeper->answer.steps;
	step_thread(question->tid, question->instructions, look_while_stepping, keeper, steps);
	if (steps->reaped && steps->tid == keeper->child)
		child_ended(keeper, steps->wait_status);
	send_answer(keeper, MESSAGE_STEPS, 0);
}

/* Blocks signals, such as the terminal's: this process ends in order, when its owner is gone.
 * Returns a signalfd for SIGCHLD. */
static int block_signals(void)
{
	sigset_t all;
	sigset_t child;
	sigfillset(&all);
	sigdelset(&all, SIGALRM);
	sigprocmask(SIG_SETMASK, &all, NULL);
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	return signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
}

static _Noreturn void serve(struct keeper *keeper)
{
	int signals = block_signals();
	uint32_t missing;
	prctl(PR_SET_NAME, "culprit-step");
	if (step_code_start() < 0 ||
	    confine(&(struct confinement){ .kind = CONFINEMENT_STEP, .socket = keeper->socket },
		    &missing) < 0)
		_exit(1);
	for (;;) {
		struct pollfd fds[] = { { keeper->socket, POLLIN, 0 }, { signals, POLLIN, 0 } };
		struct signalfd_siginfo info;
		struct question question;
		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			_exit(1);
		while (read(signals, &info, sizeof(info)) == sizeof(info))
			look_for_end(keeper);
		if (!fds[0].revents)
			continue;
		ssize_t got = recv(keeper->socket, &question, sizeof(question), MSG_DONTWAIT);
		if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
			_exit(0);
		if (got == sizeof(question))
			serve_question(keeper, &question);
	}
}

/* Runs the stepper and does not return, but in the child that `with_child` asks for: 0. */
static pid_t become_stepper(int socket, bool with_child)
{
	struct keeper *keeper = calloc(1, sizeof(*keeper));
	if (!keeper)
		_exit(1);
	keeper->socket = socket;
	if (with_child) {
		pid_t child = fork();
		if (child == 0) {
			close(socket);
			free(keeper);
			return 0;
		}
		keeper->child = child < 0 ? 0 : child;
		send_answer(keeper, MESSAGE_CHILD, child < 0 ? -errno : child);
		if (child < 0)
			_exit(1);
	}
	/* Above all the command's ends of its pipes, whose closing shows that it runs, do not stay.
	 */
	if (only_fd(socket) < 0)
		_exit(1);
	keeper->socket = ONLY_FD;
	serve(keeper);
}

/* Forks the stepper. 0 in its child, 1 here, or a negative errno. */
static int start(struct stepper *stepper, bool with_child)
{
	int sockets[2];
	*stepper = (struct stepper){ .socket = -1 };
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0)
		return -errno;
	pid_t pid = fork();
	if (pid == 0) {
		close(sockets[0]);
		return become_stepper(sockets[1], with_child);
	}
	int code = -errno;
	close(sockets[1]);
	if (pid < 0) {
		close(sockets[0]);
		return code;
	}
	stepper->socket = sockets[0];
	stepper->pid = pid;
	return 1;
}

int stepper_start(struct stepper *stepper, struct error *err)
{
	int ret = start(stepper, false);
	return ret < 0 ? error_set(err, ret, "cannot start a process that steps: %s",
				   strerror(-ret))
		       : 0;
}

pid_t stepper_fork(void *context)
{
	struct stepper *stepper = context;
	struct answer answer;
	int ret = start(stepper, true);
	if (ret <= 0) {
		errno = -ret;
		return ret < 0 ? -1 : 0;
	}
	ssize_t got;
	do {
		got = recv(stepper->socket, &answer, sizeof(answer), 0);
	} while (got < 0 && errno == EINTR);
	if (got < (ssize_t)offsetof(struct answer, steps) || answer.number < 0) {
		stepper_stop(stepper);
		errno = got > 0 ? -answer.number : ECHILD;
		return -1;
	}
	stepper->child = answer.number;
	return stepper->child;
}

void stepper_stop(struct stepper *stepper)
{
	if (!stepper->pid)
		return;
	close_fd(&stepper->socket);
	stepper->socket = -1;
	/* It ends at once, or after the stretch under way. When that takes long, init reaps it. */
	for (int i = 0; i < STOP_TRIES && waitpid(stepper->pid, NULL, WNOHANG) == 0; i++)
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	stepper->pid = 0;
}

int stepper_ask(struct stepper *stepper, pid_t tid, size_t instructions)
{
	struct question question = { tid, (uint32_t)instructions };
	stepper->answered = false;
	if (send(stepper->socket, &question, sizeof(question), MSG_NOSIGNAL | MSG_DONTWAIT) ==
	    (ssize_t)sizeof(question))
		return 0;
	stepper->lost = errno == EPIPE;
	return -errno;
}

static bool is_whole(const struct answer *answer, size_t size)
{
	size_t head = offsetof(struct answer, steps);
	if (answer->kind != MESSAGE_STEPS)
		return size == head;
	head += offsetof(struct steps, places);
	return size >= head && answer->steps.count <= STEP_LIMIT &&
	       size == head + (answer->steps.count + 1) * sizeof(struct step_place);
}

void stepper_receive(struct stepper *stepper)
{
	struct answer answer;
	while (stepper->pid && !stepper->lost) {
		ssize_t got = recv(stepper->socket, &answer, sizeof(answer), MSG_DONTWAIT);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0 && errno == EAGAIN)
			return;
		if (got < (ssize_t)offsetof(struct answer, steps) ||
		    !is_whole(&answer, (size_t)got)) {
			stepper->lost = true;
			return;
		}
		if (answer.kind == MESSAGE_ENDED) {
			stepper->ended = true;
			stepper->wait_status = answer.number;
			stepper->user_ns = answer.user_ns;
			stepper->system_ns = answer.system_ns;
		} else if (answer.kind == MESSAGE_STEPS) {
			stepper->steps = answer.steps;
			stepper->answered = true;
		}
	}
}
