#include "daemon/command.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "collect/stepper.h"

#define EXIT_UNKNOWN 125 /* as env(1): culprit itself failed */
/* How long a keeper may take to report the end: it may be blocked. */
#define KEEPER_NS UINT64_C(1000000000)

static _Noreturn void run_child(char *const argv[], const sigset_t *mask, int release_fd,
				int failure_fd)
{
	char byte;
	ssize_t got;
	do {
		got = read(release_fd, &byte, 1);
	} while (got < 0 && errno == EINTR);
	if (got != 1)
		_exit(EXIT_UNKNOWN); /* our parent went away or gave up */
	sigprocmask(SIG_SETMASK, mask, NULL);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGXFSZ, SIG_DFL);
	execvp(argv[0], argv);
	int code = errno;
	if (write(failure_fd, &code, sizeof(code)) != sizeof(code))
		_exit(EXIT_UNKNOWN);
	_exit(command_exec_failure_status(-code));
}

int command_start(char *const argv[], const void *mask, struct stepper *keeper,
		  struct command *command)
{
	int release[2], failure[2];
	if (pipe2(release, O_CLOEXEC) < 0)
		return -errno;
	if (pipe2(failure, O_CLOEXEC) < 0) {
		int code = -errno;
		close(release[0]);
		close(release[1]);
		return code;
	}
	pid_t pid = keeper ? stepper_fork(keeper) : fork();
	if (pid == 0) {
		close(release[1]);
		run_child(argv, mask, release[0], failure[1]);
	}
	int code = pid < 0 ? -errno : 0;
	close(release[0]);
	close(failure[1]);
	if (code < 0) {
		close(release[1]);
		close(failure[0]);
		return code;
	}
	*command = (struct command){ .pid = pid,
				     .release_fd = release[1],
				     .failure_fd = failure[0],
				     .keeper = keeper,
				     .end_fd = keeper ? (int)syscall(SYS_pidfd_open, pid, 0) : -1 };
	return 0;
}

int command_release(struct command *command)
{
	int code = 0;
	ssize_t done;
	if (write(command->release_fd, "", 1) != 1)
		return -errno;
	close(command->release_fd);
	command->release_fd = -1;
	do {
		done = read(command->failure_fd, &code, sizeof(code));
	} while (done < 0 && errno == EINTR);
	close(command->failure_fd);
	command->failure_fd = -1;
	return done == sizeof(code) ? -code : 0;
}

static void note_times(struct command *command, uint64_t user_ns, uint64_t system_ns)
{
	command->times_known = true;
	command->ended_ns = clock_monotonic_ns();
	command->user_ns = user_ns;
	command->system_ns = system_ns;
}

/* Whether it has ended so long ago that its keeper will not report how any more. */
static bool ended_unreported(struct command *command)
{
	struct pollfd end = { command->end_fd, POLLIN, 0 };
	if (command->end_fd < 0 || poll(&end, 1, 0) <= 0)
		return false;
	uint64_t now_ns = clock_monotonic_ns();
	if (!command->gone_ns)
		command->gone_ns = now_ns;
	return now_ns - command->gone_ns >= KEEPER_NS;
}

bool command_reap(struct command *command)
{
	if (command->pid && !command->ended && command->keeper) {
		stepper_receive(command->keeper);
		/* When the keeper is gone nobody can report the end. */
		command->ended = command->keeper->ended || command->keeper->lost ||
				 ended_unreported(command);
		command->wait_status = command->keeper->ended ? command->keeper->wait_status
							      : W_EXITCODE(EXIT_UNKNOWN, 0);
		if (command->keeper->ended)
			note_times(command, command->keeper->user_ns, command->keeper->system_ns);
	} else if (command->pid && !command->ended) {
		struct rusage used;
		command->ended =
			wait4(command->pid, &command->wait_status, WNOHANG, &used) == command->pid;
		if (!command->ended)
			return false;
		note_times(command, clock_timeval_ns(&used.ru_utime),
			   clock_timeval_ns(&used.ru_stime));
		command->switches_known = true;
		command->voluntary_switches = (uint64_t)used.ru_nvcsw;
		command->involuntary_switches = (uint64_t)used.ru_nivcsw;
	}
	return command->ended;
}

void command_dispose(struct command *command)
{
	if (!command->pid)
		return;
	close_fd(&command->release_fd); /* an unreleased child reads the end of file and exits */
	close_fd(&command->failure_fd);
	close_fd(&command->end_fd);
	if (command->release_fd >= 0 && !command->ended && !command->keeper)
		waitpid(command->pid, &command->wait_status, 0);
	command->pid = 0;
}

int command_exit_status(const struct command *command)
{
	return WIFSIGNALED(command->wait_status) ? 128 + WTERMSIG(command->wait_status)
						 : WEXITSTATUS(command->wait_status);
}

int command_exec_failure_status(int code)
{
	return code == -ENOENT ? 127 : 126;
}
