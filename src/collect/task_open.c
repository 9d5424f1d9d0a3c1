#include "collect/task_open.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <time.h>

#include "base/clock.h"
#include "base/thread_timer.h"
#include "machine/perf_open.h"
#include "symbol/helper_process.h"

#define INTERRUPT_NS 20000000

static void interrupt(int number)
{
	(void)number;
}

struct alarms {
	struct sigaction action;
	sigset_t mask;
	timer_t timer;
	bool timed;
};

/* Repeated, since a signal that comes just before the system call is lost. */
static void begin_alarms(struct alarms *alarms)
{
	const struct timespec often = { .tv_nsec = INTERRUPT_NS };
	const struct itimerspec times = { often, often };
	struct sigaction action = { .sa_handler = interrupt }; /* no SA_RESTART */
	sigset_t ours;
	sigemptyset(&action.sa_mask);
	sigemptyset(&ours);
	sigaddset(&ours, SIGRTMIN);
	sigaction(SIGRTMIN, &action, &alarms->action);
	pthread_sigmask(SIG_UNBLOCK, &ours, &alarms->mask);
	alarms->timed = thread_timer_create(SIGRTMIN, &alarms->timer) == 0;
	if (alarms->timed)
		timer_settime(alarms->timer, 0, &times, NULL);
}

static void end_alarms(const struct alarms *alarms)
{
	if (alarms->timed)
		timer_delete(alarms->timer);
	pthread_sigmask(SIG_SETMASK, &alarms->mask, NULL);
	sigaction(SIGRTMIN, &alarms->action, NULL);
}

/* Takes the time since *since_ns from the patience. 0: wait on. */
static int spend(struct task_patience *patience, uint64_t *since_ns)
{
	const struct helper_watch *watch = patience->watch;
	uint64_t now_ns = clock_monotonic_ns();
	uint64_t waited_ns = now_ns - *since_ns;
	*since_ns = now_ns;
	int ret = watch && watch->look ? watch->look(watch->context) : 0;
	bool spent = waited_ns >= patience->left_ns;
	patience->left_ns -= spent ? patience->left_ns : waited_ns;
	return ret == 0 && spent ? -ETIMEDOUT : ret;
}

int task_open(const struct perf_event_attr *attr, pid_t task, int cpu, int group_fd,
	      unsigned long flags, struct task_patience *patience)
{
	if (task <= 0 || flags & PERF_FLAG_PID_CGROUP)
		return perf_open(attr, task, cpu, group_fd, flags);
	struct alarms alarms;
	uint64_t since_ns = clock_monotonic_ns();
	int ret = 0;
	int fd;
	begin_alarms(&alarms);
	while ((fd = perf_open(attr, task, cpu, group_fd, flags)) == -EINTR && ret == 0)
		ret = spend(patience, &since_ns);
	end_alarms(&alarms);
	return fd == -EINTR ? ret : fd;
}
