#include "collect/step.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "collect/step_machine.h"

#define LONGEST_NS	  500000000u /* of a stretch: in a longer one something blocks */
#define ALARM_US	  100000
#define PENDING_LOOKED_AT 16
#define SIGTRAP_BIT	  (UINT64_C(1) << (SIGTRAP - 1))

#ifndef PTRACE_GETSIGMASK
#define PTRACE_GETSIGMASK 0x420a
#define PTRACE_SETSIGMASK 0x420b
#endif

struct stretch {
	struct steps *out;
	void (*idle)(void *context);
	void *context;
	int memory; /* /proc/TID/mem */
	bool blocks_traps;
	uint64_t mask; /* of signals, when it does */
};

static void on_alarm(int signal)
{
	(void)signal; /* only to interrupt waitpid() */
}

static void set_alarm(long interval_us)
{
	struct itimerval timer = { { 0, interval_us }, { 0, interval_us } };
	setitimer(ITIMER_REAL, &timer, NULL);
}

/* The number in the line of /proc/TID/status that begins with `name`; 0 without such a line. */
static uint64_t status_number(const char *text, const char *name, int base)
{
	const char *at = strstr(text, name);
	return at ? strtoull(at + strlen(name), NULL, base) : 0;
}

static ssize_t read_status(pid_t tid, char *text, size_t size)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	CLEANUP(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t length = fd < 0 ? -1 : read(fd, text, size - 1);
	text[length > 0 ? length : 0] = 0;
	return length;
}

/*
 * Whether a step would change what the process has set for SIGTRAP. The kernel forces the trap of a
 * step through (force_sig_info_to_task of kernel/signal.c): where SIGTRAP is ignored, or blocked
 * as in the process's own handler, it resets the handler to the default. Where the lines do not
 * fit into the buffer, behind a long list of groups: as if it would.
 */
static bool needs_its_traps(const char *status_text)
{
	uint64_t blocked = status_number(status_text, "\nSigBlk:\t", 16);
	uint64_t ignored = status_number(status_text, "\nSigIgn:\t", 16);
	uint64_t caught = status_number(status_text, "\nSigCgt:\t", 16);
	return !strstr(status_text, "\nSigCgt:\t") || ignored & SIGTRAP_BIT ||
	       (caught & blocked & SIGTRAP_BIT);
}

/* Whether the thread may be stepped, by /proc; else out->end says why not. */
static bool fit(struct stretch *stretch)
{
	char text[4096];
	struct steps *out = stretch->out;
	if (read_status(out->tid, text, sizeof(text)) <= 0) {
		out->end = STEP_GONE;
		return false;
	}
	const char *line = strstr(text, "\nState:\t");
	char state = line ? line[strlen("\nState:\t")] : '?';
	if (state == 'Z' || state == 'X')
		out->end = STEP_GONE;
	else if (status_number(text, "\nTracerPid:\t", 10))
		out->end = STEP_TRACED;
	else if (state != 'R')
		out->end = STEP_IDLE;
	else if (needs_its_traps(text))
		out->end = STEP_OWN_TRAPS;
	else
		return true;
	return false;
}

/*
 * Moves this process to the thread's CPU: each step takes half as long when no other CPU has to be
 * woken.
 */
static void move_beside(pid_t tid)
{
	char path[64];
	char text[1024];
	snprintf(path, sizeof(path), "/proc/%d/stat", tid);
	CLEANUP(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t length = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (length <= 0)
		return;
	text[length] = 0;
	char *at = strrchr(text, ')'); /* field 2; the CPU is field 39 */
	for (int field = 2; at && field < 39; field++)
		at = strchr(at + 1, ' ');
	long cpu = at ? strtol(at, NULL, 10) : -1;
	cpu_set_t one;
	if (cpu < 0 || cpu >= CPU_SETSIZE)
		return;
	CPU_ZERO(&one);
	CPU_SET((size_t)cpu, &one);
	sched_setaffinity(0, sizeof(one), &one); /* when it fails, steps are slower */
}

static bool still_ours(pid_t tid)
{
	char text[4096];
	return read_status(tid, text, sizeof(text)) > 0 &&
	       status_number(text, "\nTracerPid:\t", 10) == (uint64_t)getpid();
}

/* Waits until the thread stops. False when it has ended or is traced no more. */
static bool wait_for_stop(struct stretch *stretch, int *status)
{
	struct steps *out = stretch->out;
	for (;;) {
		pid_t found = waitpid(out->tid, status, __WALL);
		if (found == out->tid && WIFSTOPPED(*status))
			return true;
		if (found == out->tid) {
			out->reaped = true;
			out->wait_status = *status;
			return false;
		}
		if (found < 0 && errno != EINTR)
			return false;
		/* After another thread's exec the number of the first thread is that one's, which
		 * is not traced. */
		if (!still_ours(out->tid))
			return false;
		stretch->idle(stretch->context);
	}
}

/* False: out->end says why not. */
static bool read_registers(struct stretch *stretch, step_registers *registers)
{
	struct steps *out = stretch->out;
	struct iovec room = { registers, sizeof(*registers) };
	if (ptrace(PTRACE_GETREGSET, out->tid, NT_PRSTATUS, &room) < 0) {
		out->code = -errno;
		out->end = errno == ESRCH ? STEP_GONE : STEP_REFUSED;
		return false;
	}
	if (room.iov_len == sizeof(*registers))
		return true;
	out->end = STEP_NARROW;
	return false;
}

/* Notes the next instruction. False: its code cannot be read in time, which ends the stretch. */
static bool note_place(struct stretch *stretch, const step_registers *registers)
{
	struct steps *out = stretch->out;
	struct step_place *place = &out->places[out->count];
	place->address = step_address(registers);
	if (step_code_read(stretch->memory, place->address, place->code))
		return true;
	out->end = STEP_SLOW;
	return false;
}

static bool is_our_trap(pid_t tid, int status)
{
	siginfo_t info;
	return WSTOPSIG(status) == SIGTRAP && status >> 16 == 0 &&
	       ptrace(PTRACE_GETSIGINFO, tid, 0, &info) == 0 && info.si_code == TRAP_TRACE;
}

/* Whether a SIGTRAP is pending: after an instruction that clears the trap flag a program's own last
 * trap is on its way, and looks like one of ours. */
static bool awaits_trap(pid_t tid)
{
	siginfo_t waiting[PENDING_LOOKED_AT];
	struct __ptrace_peeksiginfo_args all = { .nr = PENDING_LOOKED_AT };
	long count = ptrace(PTRACE_PEEKSIGINFO, tid, &all, waiting);
	for (long i = 0; i < count; i++)
		if (waiting[i].si_signo == SIGTRAP)
			return true;
	return count == PENDING_LOOKED_AT;
}

/* As fit() looked at a thread that ran, it may have entered its handler since, or set another. Now
 * it is stopped and cannot. */
static bool still_fit(struct stretch *stretch)
{
	char text[4096];
	struct steps *out = stretch->out;
	if (read_status(out->tid, text, sizeof(text)) <= 0)
		out->end = STEP_GONE;
	else if (needs_its_traps(text))
		out->end = STEP_OWN_TRAPS;
	else
		return true;
	return false;
}

/* Steps a stopped thread. Returns whether it is still traced and stopped, and in *signal the signal
 * that it is to get when it is let go (0: none). */
static bool step_on(struct stretch *stretch, size_t limit, int *signal)
{
	struct steps *out = stretch->out;
	step_registers registers;
	int status;
	if (!read_registers(stretch, &registers))
		return true;
	if (step_in_system_call(&registers)) {
		out->end = STEP_IDLE;
		return true;
	}
	if (step_steps_itself(&registers) || awaits_trap(out->tid)) {
		out->end = STEP_OWN_TRAPS;
		return true;
	}
	if (!note_place(stretch, &registers))
		return true;
	while (out->count < limit) {
		if (!step_is_safe(out->places[out->count].code)) {
			out->end = STEP_UNSAFE;
			return true;
		}
		if (clock_monotonic_ns() - out->begin_ns > LONGEST_NS) {
			out->end = STEP_SLOW;
			return true;
		}
		out->end = STEP_GONE; /* stays so unless the thread stops again */
		if (ptrace(PTRACE_SINGLESTEP, out->tid, 0, 0) < 0)
			return true; /* it was killed meanwhile */
		if (!wait_for_stop(stretch, &status))
			return false;
		if (!is_our_trap(out->tid, status)) {
			out->end = status >> 16 == PTRACE_EVENT_EXEC ? STEP_GONE : STEP_SIGNAL;
			*signal = status >> 16 ? 0 : WSTOPSIG(status);
			return true;
		}
		if (!read_registers(stretch, &registers))
			return true;
		out->count++;
		if (!note_place(stretch, &registers))
			return true;
	}
	out->end = STEP_DONE;
	return true;
}

/* Why attaching failed. A thread that is about to end is refused with EPERM as another user's is.
 */
static void note_refusal(struct stretch *stretch, int number)
{
	struct steps *out = stretch->out;
	fit(stretch);
	if (number == ESRCH)
		out->end = STEP_GONE;
	else if (out->end != STEP_GONE && out->end != STEP_TRACED)
		out->end = STEP_REFUSED;
	out->code = -number;
}

/* Attaches to the thread and stops it. Returns whether it is traced, and in *signal the signal that
 * it is to get when it is let go (0: none). */
static bool stop_thread(struct stretch *stretch, int *signal)
{
	struct steps *out = stretch->out;
	int status;
	*signal = 0;
	/* No PTRACE_O_EXITKILL: whatever happens to this process, the program goes on. */
	if (ptrace(PTRACE_SEIZE, out->tid, 0, (void *)PTRACE_O_TRACEEXEC) < 0) {
		note_refusal(stretch, errno);
		return false;
	}
	out->end = STEP_GONE;
	if (ptrace(PTRACE_INTERRUPT, out->tid, 0, 0) < 0 || !wait_for_stop(stretch, &status))
		return false;
	if (status >> 16 == PTRACE_EVENT_STOP && WSTOPSIG(status) == SIGTRAP) {
		out->end = STEP_DONE; /* so far */
	} else {
		/* A signal, a group-stop or an exec came first. */
		out->end = status >> 16 == PTRACE_EVENT_EXEC ? STEP_GONE : STEP_SIGNAL;
		*signal = status >> 16 ? 0 : WSTOPSIG(status);
	}
	return true;
}

static void keep_mask(struct stretch *stretch)
{
	uint64_t mask;
	if (ptrace(PTRACE_GETSIGMASK, stretch->out->tid, sizeof(mask), &mask) == 0) {
		stretch->mask = mask;
		stretch->blocks_traps = mask & SIGTRAP_BIT;
	}
}

/*
 * Detaches. A thread that was killed meanwhile is not stopped any more: its end has to be waited
 * for here, or its process would stay a zombie.
 */
static void let_go(struct stretch *stretch, int signal)
{
	struct steps *out = stretch->out;
	int status;
	while (ptrace(PTRACE_DETACH, out->tid, 0, signal) < 0 && errno == ESRCH) {
		out->end = STEP_GONE;
		if (!wait_for_stop(stretch, &status))
			return;
		signal = status >> 16 ? 0 : WSTOPSIG(status);
	}
}

static void step_attached(struct stretch *stretch, size_t limit)
{
	struct steps *out = stretch->out;
	char path[64];
	int signal;
	if (!stop_thread(stretch, &signal))
		return;
	bool stopped = true;
	/* While the thread is stopped it is in no execve(), for whose end files of /proc make
	 * their readers wait. */
	move_beside(out->tid);
	step_code_begin();
	snprintf(path, sizeof(path), "/proc/%d/mem", out->tid);
	stretch->memory = open(path, O_RDONLY | O_CLOEXEC);
	if (stretch->memory < 0) {
		out->end = STEP_REFUSED;
		out->code = -errno;
	} else if (out->end == STEP_DONE && still_fit(stretch)) {
		keep_mask(stretch);
		stopped = step_on(stretch, limit, &signal);
		if (stopped && stretch->blocks_traps)
			ptrace(PTRACE_SETSIGMASK, out->tid, sizeof(stretch->mask), &stretch->mask);
	}
	if (stopped)
		let_go(stretch, signal);
	close_fd(&stretch->memory);
}

void step_thread(pid_t tid, size_t limit, void (*idle)(void *context), void *context,
		 struct steps *out)
{
	struct stretch stretch = { .out = out, .idle = idle, .context = context, .memory = -1 };
	struct sigaction action = { .sa_handler = on_alarm };
	*out = (struct steps){ .tid = tid, .begin_ns = clock_monotonic_ns() };
	if (step_code_is_stuck()) {
		out->end = STEP_SLOW;
	} else if (fit(&stretch)) {
		sigaction(SIGALRM, &action, NULL);
		set_alarm(ALARM_US);
		step_attached(&stretch, limit < STEP_LIMIT ? limit : STEP_LIMIT);
		set_alarm(0);
	}
	out->end_ns = clock_monotonic_ns();
}
