#include "collect/task_open.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/time.h>

#include "base/clock.h"
#include "machine/perf_open.h"
#include "symbol/helper_process.h"

#define INTERRUPT_US 50000
#define PATIENCE_NS  UINT64_C(2000000000)

static void interrupt(int number)
{
	(void)number;
}

struct alarms {
	struct sigaction action;
	sigset_t mask;
};

/* Ever anew: one that comes just before the call is lost. */
static void begin_alarms(struct alarms *before)
{
	const struct itimerval timer = { { 0, INTERRUPT_US }, { 0, INTERRUPT_US } };
	struct sigaction action = { .sa_handler = interrupt }; /* no SA_RESTART */
	sigset_t alarms;
	sigemptyset(&action.sa_mask);
	sigemptyset(&alarms);
	sigaddset(&alarms, SIGALRM);
	sigaction(SIGALRM, &action, &before->action);
	pthread_sigmask(SIG_UNBLOCK, &alarms, &before->mask);
	setitimer(ITIMER_REAL, &timer, NULL);
}

static void end_alarms(const struct alarms *before)
{
	const struct itimerval none = { 0 };
	setitimer(ITIMER_REAL, &none, NULL);
	pthread_sigmask(SIG_SETMASK, &before->mask, NULL);
	sigaction(SIGALRM, &before->action, NULL);
}

int task_open(const struct perf_event_attr *attr, pid_t task, int cpu, int group_fd,
	      unsigned long flags, const struct helper_watch *watch)
{
	if (task <= 0 || flags & PERF_FLAG_PID_CGROUP)
		return perf_open(attr, task, cpu, group_fd, flags);
	struct alarms before;
	uint64_t end_ns = clock_monotonic_ns() + PATIENCE_NS;
	int fd;
	begin_alarms(&before);
	while ((fd = perf_open(attr, task, cpu, group_fd, flags)) == -EINTR) {
		int ret = watch && watch->look ? watch->look(watch->context) : 0;
		if (ret == 0 && clock_monotonic_ns() >= end_ns)
			ret = -ETIMEDOUT;
		if (ret < 0) {
			fd = ret;
			break;
		}
	}
	end_alarms(&before);
	return fd;
}
