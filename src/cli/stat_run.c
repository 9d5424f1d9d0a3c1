#include "cli/stat_run.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "cli/message.h"
#include "cli/stat_control.h"
#include "cli/stat_idle.h"
#include "daemon/command.h"
#include "daemon/recording_process.h"

/* How long a slice is while events take turns, each for some ms (perf_event_mux_interval_ms):
 * reading takes a microsecond or two for each group and target. Without turns it is looked for
 * them now and then. */
#define SLICE_NS	UINT64_C(20000000)
#define SLICE_SELDOM_NS UINT64_C(1000000000)
#define SLICE_TARGETS	16  /* with more of them reading would take too much */
#define TURN_COMMANDS	100 /* of --control, before other sources have their turn */
#define LOOK_MS		50  /* how often it is looked whether what is watched still runs */
#ifndef PIDFD_THREAD
#define PIDFD_THREAD O_EXCL /* Linux 6.9 */
#endif

enum { SIGNALS, INTERVAL, DELAY, DURATION, CONTROL, SLICES, SOURCES };

struct running {
	const struct stat_task *task;
	struct stat_counting *counting;
	struct stat_result *result;
	struct command command;
	struct pollfd sources[SOURCES];
	struct stat_idle idle;
	uint64_t start_ns, last_ns;
	int last_signal;
	bool passed_on; /* a signal, to the command */
	bool end;
};

int stat_signals_take(struct stat_signals *signals)
{
	signals->fd = recording_process_signals(&signals->before);
	if (signals->fd >= 0)
		return 0;
	message_error("cannot wait for signals: %s", strerror(errno));
	return 1;
}

/* A timer that expires after `first_ns`, and every `every_ns` if that is not 0. */
static int open_timer(uint64_t first_ns, uint64_t every_ns, int *fd)
{
	const uint64_t second = 1000000000;
	struct itimerspec times = {
		.it_value = { (time_t)(first_ns / second), (long)(first_ns % second) },
		.it_interval = { (time_t)(every_ns / second), (long)(every_ns % second) },
	};
	*fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (*fd >= 0 && timerfd_settime(*fd, 0, &times, NULL) == 0)
		return 0;
	message_error("cannot set a timer: %s", strerror(errno));
	return 1;
}

/* Intervals, slices and the duration are of the time from now on. 0 or the exit status. */
static int start_times(struct running *running)
{
	const struct stat_task *task = running->task;
	struct pollfd *sources = running->sources;
	int status = 0;
	if (task->interval_ns)
		status = open_timer(task->interval_ns, task->interval_ns, &sources[INTERVAL].fd);
	if (status == 0 && task->slices && task->targets->count <= SLICE_TARGETS)
		status = open_timer(SLICE_NS, 0, &sources[SLICES].fd);
	if (status == 0 && task->options->has_duration)
		status = open_timer(task->options->duration_ns, 0, &sources[DURATION].fd);
	return status;
}

/* What is waited for; without a delay times start now. 0 or the exit status. */
static int open_sources(struct running *running)
{
	const struct stat_task *task = running->task;
	struct pollfd *sources = running->sources;
	sources[SIGNALS].fd = task->signals->fd;
	sources[CONTROL].fd = task->control ? task->control->fd : -1;
	return task->options->delay_ns ? open_timer(task->options->delay_ns, 0, &sources[DELAY].fd)
				       : start_times(running);
}

/* The command's standard input and output are empty for as long as it is started. */
static int start_hidden(struct running *running)
{
	CLEANUP(close_fd) int in = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
	CLEANUP(close_fd) int out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	CLEANUP(close_fd) int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (nothing < 0)
		return -errno;
	fflush(stdout);
	dup2(nothing, STDIN_FILENO);
	dup2(nothing, STDOUT_FILENO);
	int ret = command_start(running->task->command, &running->task->signals->before, NULL,
				&running->command);
	if (in >= 0)
		dup2(in, STDIN_FILENO);
	else
		close(STDIN_FILENO);
	if (out >= 0)
		dup2(out, STDOUT_FILENO);
	else
		close(STDOUT_FILENO);
	return ret;
}

/* Whether it is the command that is counted. */
static bool is_counted(const struct running *running)
{
	return running->command.pid && !running->task->targets->system_wide &&
	       !running->task->targets->task_count;
}

static int start_command(struct running *running)
{
	const struct stat_task *task = running->task;
	if (!task->command)
		return 0;
	int ret = task->hide_output ? start_hidden(running)
				    : command_start(task->command, &task->signals->before, NULL,
						    &running->command);
	if (ret < 0) {
		message_error("cannot start a process: %s", strerror(-ret));
		return 1;
	}
	if (is_counted(running))
		task->targets->list[0].pid = running->command.pid;
	return 0;
}

/* Lets the command go. 0, or the exit status after a message. */
static int release_command(struct running *running)
{
	if (!running->command.pid)
		return 0;
	int ret = command_release(&running->command);
	if (ret == 0)
		return 0;
	message_error("cannot run '%s': %s", running->task->command[0], strerror(-ret));
	return command_exec_failure_status(ret);
}

/* The kernel lets us wait while a task executes a program, as long as its file system likes: what
 * would end counting ends us there. */
static int open_counters(struct running *running, enum stat_begin begin)
{
	const struct stat_task *task = running->task;
	sigset_t blocked;
	if (task->targets->task_count)
		sigprocmask(SIG_SETMASK, &task->signals->before, &blocked);
	int status = stat_counting_open(running->counting, task->events, task->targets,
					task->metrics, begin, !task->options->no_inherit);
	if (task->targets->task_count)
		sigprocmask(SIG_SETMASK, &blocked, NULL);
	return status;
}

/* Elapsed and idle time are of the time from now on: to be called before anything counts, so that
 * nothing counts for longer than has elapsed. */
static void note_begin(struct running *running)
{
	stat_idle_begin(&running->idle, &running->task->targets->allowed);
	running->start_ns = running->last_ns = clock_monotonic_ns();
}

/* Counts from now on, or from when the command is executed, a delay is over, or is told to. */
static int begin(struct running *running)
{
	const struct stat_options *options = running->task->options;
	bool later = options->start_disabled || options->delay_ns;
	bool with_exec = is_counted(running) && !later;
	int status = open_counters(running, with_exec ? STAT_WITH_EXEC : STAT_LATER);
	/* a command's times are worth something without its counts */
	if (status == 0 && !is_counted(running) && stat_counting_is_hopeless(running->counting)) {
		stat_counting_explain(running->counting);
		message_error("none of the events can be counted");
		status = 1;
	}
	note_begin(running);
	if (status == 0 && !with_exec && !later)
		status = stat_counting_enable(running->counting);
	if (status == 0)
		status = release_command(running);
	if (status == 0)
		status = open_sources(running);
	running->result->counted = status == 0;
	return status;
}

static double seconds(uint64_t from_ns, uint64_t to_ns)
{
	return to_ns > from_ns ? (double)(to_ns - from_ns) / 1e9 : 0;
}

/* Hands on what was counted since the last time. */
static int hand_on(struct running *running)
{
	int status = stat_counting_read(running->counting);
	if (status)
		return status;
	uint64_t now_ns = clock_monotonic_ns();
	struct counts counts = stat_counting_counts(running->counting);
	counts.elapsed_s = seconds(running->last_ns, now_ns);
	counts.begin_s = seconds(running->start_ns, running->last_ns);
	running->last_ns = now_ns;
	return running->task->interval(running->task->context, &counts);
}

static void take_signal(struct running *running)
{
	struct signalfd_siginfo signal;
	while (read(running->task->signals->fd, &signal, sizeof(signal)) == sizeof(signal)) {
		if (signal.ssi_signo == SIGCHLD)
			continue;
		running->result->interrupted = true;
		/* what the terminal sends, the command has got already */
		bool pass_on =
			running->command.pid && !running->command.ended && !running->passed_on;
		if (pass_on && signal.ssi_code != SI_KERNEL)
			kill(running->command.pid, (int)signal.ssi_signo);
		running->end |= !pass_on;
		running->last_signal = (int)signal.ssi_signo;
		running->passed_on = true;
	}
}

/* 0 or the exit status after a message. */
static int obey(struct running *running)
{
	struct stat_control *control = running->task->control;
	int status = 0;
	for (int i = 0; status == 0 && i < TURN_COMMANDS; i++) {
		switch (stat_control_next(control)) {
		case STAT_CONTROL_NONE:
			return 0;
		case STAT_CONTROL_ENABLE:
			status = stat_counting_enable(running->counting);
			break;
		case STAT_CONTROL_DISABLE:
			status = stat_counting_disable(running->counting);
			break;
		case STAT_CONTROL_STOP:
			running->end = true;
			break;
		case STAT_CONTROL_CLOSED:
			running->sources[CONTROL].fd = -1;
			return 0;
		case STAT_CONTROL_UNKNOWN:
			stat_control_reject(control);
			continue;
		default:
			break;
		}
		if (status == 0)
			stat_control_acknowledge(control);
	}
	return status;
}

static void empty_timer(int fd)
{
	uint64_t times;
	if (read(fd, &times, sizeof(times)) < 0)
		return; /* it was read before */
}

/* Whether all that is watched has ended: threads of --tid, and processes, also unreaped ones. */
static bool have_ended(const struct stat_targets *targets)
{
	for (size_t i = 0; i < targets->task_count; i++) {
		unsigned flags = i < targets->pid_count ? 0 : PIDFD_THREAD;
		CLEANUP(close_fd) int fd = (int)syscall(SYS_pidfd_open, targets->tasks[i], flags);
		struct pollfd end = { fd, POLLIN, 0 };
		if (fd >= 0 && poll(&end, 1, 0) == 0)
			return false;
		/* of a thread where the kernel does not know descriptors of such */
		if (fd < 0 && errno != ESRCH && (kill(targets->tasks[i], 0) == 0 || errno == EPERM))
			return false;
	}
	return targets->task_count > 0;
}

/* Ends a slice and waits for the end of the next. 0 or the exit status after a message. */
static int take_slice(struct running *running)
{
	bool taking_turns;
	int status = stat_counting_slice(running->counting, &taking_turns);
	uint64_t next_ns = taking_turns ? SLICE_NS : SLICE_SELDOM_NS;
	struct itimerspec next = { .it_value = { (time_t)(next_ns / 1000000000),
						 (long)(next_ns % 1000000000) } };
	empty_timer(running->sources[SLICES].fd);
	timerfd_settime(running->sources[SLICES].fd, 0, &next, NULL);
	return status;
}

static int handle(struct running *running)
{
	struct pollfd *sources = running->sources;
	int status = 0;
	if (sources[SIGNALS].revents)
		take_signal(running);
	if (running->command.pid && command_reap(&running->command))
		running->end = true;
	else if (!running->command.pid && have_ended(running->task->targets))
		running->end = true;
	if (sources[DELAY].revents) {
		empty_timer(sources[DELAY].fd);
		note_begin(running);
		status = stat_counting_enable(running->counting);
		if (status == 0)
			status = start_times(running);
	}
	if (status == 0 && sources[CONTROL].revents)
		status = obey(running);
	if (status == 0 && sources[SLICES].revents && !running->end)
		status = take_slice(running);
	if (sources[DURATION].revents)
		running->end = true;
	if (status == 0 && sources[INTERVAL].revents && !running->end) {
		empty_timer(sources[INTERVAL].fd);
		status = hand_on(running);
	}
	return status;
}

static int wait_for_end(struct running *running)
{
	/* tasks of others do not tell us of their end */
	int timeout_ms = running->task->targets->task_count && !running->command.pid ? LOOK_MS : -1;
	int status = 0;
	while (status == 0 && !running->end) {
		for (size_t i = 0; i < SOURCES; i++)
			running->sources[i].revents = 0;
		if (poll(running->sources, SOURCES, timeout_ms) < 0 && errno != EINTR) {
			message_error("cannot wait: %s", strerror(errno));
			return 1;
		}
		status = handle(running);
	}
	return status;
}

static void note_times(struct running *running, uint64_t end_ns)
{
	const struct command *command = &running->command;
	struct stat_times *times = &running->result->times;
	times->elapsed_s = seconds(running->start_ns, end_ns);
	times->idle_share = stat_idle_share(&running->idle);
	/* a command beside what is counted only says how long; wait4() has the delay in it */
	if (!command->times_known || !is_counted(running) || running->task->options->delay_ns)
		return;
	times->user_s = (double)command->user_ns / 1e9;
	times->system_s = (double)command->system_ns / 1e9;
	if (command->switches_known) {
		times->voluntary_switches = (double)command->voluntary_switches;
		times->involuntary_switches = (double)command->involuntary_switches;
	}
}

/* Each event takes a descriptor for each target. The command keeps the limit that it was started
 * with. */
static int begin_with_descriptors(struct running *running)
{
	struct rlimit before;
	bool known = getrlimit(RLIMIT_NOFILE, &before) == 0;
	if (known) {
		struct rlimit most = { before.rlim_max, before.rlim_max };
		setrlimit(RLIMIT_NOFILE, &most);
	}
	int status = begin(running);
	if (known)
		setrlimit(RLIMIT_NOFILE, &before);
	return status;
}

int stat_run(const struct stat_task *task, struct stat_counting *counting,
	     struct stat_result *result)
{
	struct running running = { .task = task, .counting = counting, .result = result };
	for (size_t i = 0; i < SOURCES; i++)
		running.sources[i] = (struct pollfd){ -1, POLLIN, 0 };
	*counting = (struct stat_counting){ 0 };
	*result = (struct stat_result){ .times = { NAN, NAN, NAN, NAN, NAN, NAN } };
	int status = start_command(&running);
	if (status == 0)
		status = begin_with_descriptors(&running);
	if (status == 0)
		status = wait_for_end(&running);
	uint64_t end_ns = running.command.ended ? running.command.ended_ns : clock_monotonic_ns();
	if (status == 0 && task->interval)
		status = hand_on(&running);
	else if (status == 0)
		status = stat_counting_read(counting);
	note_times(&running, end_ns);
	if (status == 0 && running.command.ended)
		result->status = command_exit_status(&running.command);
	else if (status == 0 && running.command.pid && running.last_signal)
		result->status = 128 + running.last_signal; /* it may run on: not its success */
	stat_idle_release(&running.idle);
	close_fd(&running.sources[INTERVAL].fd);
	close_fd(&running.sources[DELAY].fd);
	close_fd(&running.sources[SLICES].fd);
	close_fd(&running.sources[DURATION].fd);
	command_dispose(&running.command);
	return status;
}
