#include "machine/haste.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/small_file.h"
#include "base/thread_timer.h"

static bool is_usual(int policy)
{
	return policy == SCHED_OTHER || policy == SCHED_BATCH || policy == SCHED_IDLE;
}

/* The calling thread's usual scheduling, which its children lose while it is raised, and afterwards
 * if that could not be undone wholly. */
static _Thread_local struct {
	bool lost;
	int policy, priority, nice;
} own;

static void remember(const struct haste_usual *usual)
{
	errno = 0;
	int nice = getpriority(PRIO_PROCESS, 0);
	own.lost = errno == 0;
	own.policy = usual->policy;
	own.priority = usual->priority;
	own.nice = nice;
}

bool haste_raise(pid_t pid, struct haste_usual *usual)
{
	struct sched_param least = { .sched_priority = 1 };
	struct sched_param before;
	if (usual->raised)
		return true;
	int policy = sched_getscheduler(pid);
	if (policy < 0 || !is_usual(policy & ~SCHED_RESET_ON_FORK) ||
	    sched_getparam(pid, &before) != 0 ||
	    sched_setscheduler(pid, SCHED_RR | SCHED_RESET_ON_FORK, &least) != 0)
		return false;
	*usual = (struct haste_usual){ true, policy, before.sched_priority };
	if (pid == 0)
		remember(usual);
	return true;
}

/* What ends haste_raise_for(), and how SIGALRM was handled before. */
static _Thread_local struct {
	bool armed;
	timer_t timer;
	struct sigaction before;
	sigset_t mask;
} alarm_clock;

static void on_alarm(int number)
{
	struct sched_param param = { .sched_priority = own.priority };
	int before = errno;
	(void)number;
	if (sched_setscheduler(0, own.policy, &param) != 0)
		sched_setscheduler(0, own.policy | SCHED_RESET_ON_FORK, &param);
	errno = before;
}

static void take_back_signal(void)
{
	pthread_sigmask(SIG_SETMASK, &alarm_clock.mask, NULL);
	sigaction(SIGALRM, &alarm_clock.before, NULL);
}

static void disarm(void)
{
	if (!alarm_clock.armed)
		return;
	timer_delete(alarm_clock.timer);
	take_back_signal();
	alarm_clock.armed = false;
}

/* The signal goes to the calling thread, and no other: it is that one's priority that is lowered.
 */
static bool arm(uint64_t after_ns)
{
	const struct sigaction action = { .sa_handler = on_alarm, .sa_flags = SA_RESTART };
	const struct itimerspec time = { .it_value = { .tv_sec = (time_t)(after_ns / 1000000000),
						       .tv_nsec = (long)(after_ns % 1000000000) } };
	sigset_t ours;
	sigemptyset(&ours);
	sigaddset(&ours, SIGALRM);
	if (thread_timer_create(SIGALRM, &alarm_clock.timer) != 0)
		return false;
	sigaction(SIGALRM, &action, &alarm_clock.before);
	pthread_sigmask(SIG_UNBLOCK, &ours, &alarm_clock.mask);
	alarm_clock.armed = true;
	if (timer_settime(alarm_clock.timer, 0, &time, NULL) == 0)
		return true;
	disarm();
	return false;
}

bool haste_raise_for(uint64_t most_ns, struct haste_usual *usual)
{
	if (usual->raised)
		return true;
	disarm();
	if (!haste_raise(0, usual))
		return false;
	if (arm(most_ns))
		return true;
	haste_restore(0, usual);
	return false;
}

void haste_restore(pid_t pid, struct haste_usual *usual)
{
	struct sched_param param = { .sched_priority = usual->priority };
	if (pid == 0)
		disarm();
	/* Without CAP_SYS_NICE the flag SCHED_RESET_ON_FORK cannot be taken back. */
	bool whole = !usual->raised || sched_setscheduler(pid, usual->policy, &param) == 0;
	if (!whole)
		sched_setscheduler(pid, usual->policy | SCHED_RESET_ON_FORK, &param);
	else if (pid == 0)
		own.lost = false;
	usual->raised = false;
}

void haste_follow(pid_t child)
{
	struct sched_param param = { .sched_priority = own.priority };
	int policy = own.policy, nice = own.nice;
	if (!own.lost) {
		errno = 0;
		nice = getpriority(PRIO_PROCESS, 0);
		policy = sched_getscheduler(0) & ~SCHED_RESET_ON_FORK;
		if (errno != 0 || sched_getparam(0, &param) != 0)
			return;
	}
	setpriority(PRIO_PROCESS, (id_t)child, nice);
	sched_setscheduler(child, policy, &param);
}

void haste_prefer(void)
{
	errno = 0;
	int nice = getpriority(PRIO_PROCESS, 0);
	if (errno == 0 && nice == 0)
		setpriority(PRIO_PROCESS, 0, HASTE_NICE);
}

uint64_t haste_waited_ns(pid_t pid)
{
	char path[64], line[128];
	uint64_t ran_ns, waited_ns;
	snprintf(path, sizeof(path), "/proc/%d/schedstat", pid ? pid : gettid());
	if (small_file_read_line(path, line, sizeof(line)) < 0 ||
	    sscanf(line, "%" SCNu64 " %" SCNu64, &ran_ns, &waited_ns) != 2 || !ran_ns)
		return HASTE_UNKNOWN;
	return waited_ns;
}
