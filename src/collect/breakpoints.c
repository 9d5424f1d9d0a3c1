#include "collect/breakpoints.h"

#include <elf.h>
#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "machine/perf_open.h"

#define TRIES	     4
#define SYSCALL_STOP (SIGTRAP | 0x80) /* with PTRACE_O_TRACESYSGOOD */

#ifdef __x86_64__
#define CODE_BYTES sizeof(long) /* what the kernel requires of execution breakpoints */
#else
#define CODE_BYTES HW_BREAKPOINT_LEN_4
#endif

struct breakpoints {
	struct breakpoint list[BREAKPOINTS_MAX];
	size_t count;
	uint64_t limit;
	pid_t pid;
	bool execed;
	bool tried;			   /* breakpoints_try() has succeeded */
	bool mapping;			   /* the command is in a system call that maps */
	uint64_t linker_start, linker_end; /* the dynamic linker's code; both 0: none */
};

/* A descriptor or a negative errno value. `pid`: 0, this thread. */
static int open_at(uint64_t address, pid_t pid)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_BREAKPOINT,
		.bp_type = HW_BREAKPOINT_X,
		.bp_addr = address,
		.bp_len = CODE_BYTES,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.inherit = 1,
		/* Another program would have other code at that address. */
		.remove_on_exec = 1,
	};
	int fd = perf_open(&attr, pid, -1, -1, 0);
	if (fd == -EINVAL) { /* before Linux 5.13 */
		attr.remove_on_exec = 0;
		fd = perf_open(&attr, pid, -1, -1, 0);
	}
	return fd;
}

static __attribute__((noinline)) void be_executed(void)
{
	__asm__ volatile("" ::: "memory");
}

int breakpoints_try(struct error *err)
{
	uint64_t count = 0;
	CLEANUP(close_fd) int fd = open_at((uint64_t)(uintptr_t)be_executed, 0);
	if (fd < 0)
		return 0; /* the command's own will be refused, with its reason */
	for (int i = 0; i < TRIES; i++)
		be_executed();
	if (read(fd, &count, sizeof(count)) == (ssize_t)sizeof(count) && count == TRIES)
		return 0;
	return error_set(err, -EOPNOTSUPP,
			 "no execution breakpoints here: one was executed %d times and counted "
			 "%llu (some virtual machines have no debug registers)",
			 TRIES, (unsigned long long)count);
}

int breakpoints_new(const char *const *texts, size_t count, uint64_t limit,
		    struct breakpoints **out, struct error *err)
{
	struct breakpoints *made = calloc(1, sizeof(*made));
	if (!made)
		return error_set(err, -ENOMEM, "out of memory");
	made->count = count < BREAKPOINTS_MAX ? count : BREAKPOINTS_MAX;
	made->limit = limit;
	for (size_t i = 0; i < made->count; i++) {
		made->list[i].place.text = texts[i];
		made->list[i].fd = -1;
	}
	*out = made;
	return 0;
}

void breakpoints_free(struct breakpoints *breakpoints)
{
	if (!breakpoints)
		return;
	for (size_t i = 0; i < breakpoints->count; i++) {
		close_fd(&breakpoints->list[i].fd);
		code_place_release(&breakpoints->list[i].place);
	}
	free(breakpoints);
}

void breakpoints_freep(struct breakpoints **breakpoints)
{
	breakpoints_free(*breakpoints);
}

int breakpoints_watch(struct breakpoints *breakpoints, pid_t pid, struct error *err)
{
	long options = PTRACE_O_TRACEEXEC | PTRACE_O_TRACESYSGOOD;
	breakpoints->pid = pid;
	if (ptrace(PTRACE_SEIZE, pid, 0, options) < 0)
		return error_set(
			err, -errno, "cannot trace the command until its code is mapped: %s%s",
			strerror(errno),
			errno == EPERM ? " (kernel.yama.ptrace_scope, or a seccomp filter)" : "");
	return 0;
}

static void go_on(struct breakpoints *breakpoints, int signal)
{
	bool done = breakpoints->execed;
	for (size_t i = 0; i < breakpoints->count; i++)
		done = done && breakpoints->list[i].counted;
	ptrace(done		     ? PTRACE_DETACH
	       : breakpoints->execed ? PTRACE_SYSCALL
				     : PTRACE_CONT,
	       breakpoints->pid, 0, signal);
}

static int refused(const struct breakpoint *breakpoint, int code, struct error *err)
{
	const char *text = breakpoint->place.text;
	switch (-code) {
	case ENOSPC:
		return error_set(err, code,
				 "cannot count '%s': all of the CPU's breakpoint registers are in "
				 "use",
				 text);
	case EACCES:
	case EPERM:
		return error_set(err, code,
				 "cannot count '%s': permission denied "
				 "(kernel.perf_event_paranoid, or a seccomp filter)",
				 text);
	case ENOENT:
	case EOPNOTSUPP:
	case ENODEV:
		return error_set(err, code, "cannot count '%s': no execution breakpoints here",
				 text);
	default:
		return error_set(err, code, "cannot count '%s': %s", text, strerror(-code));
	}
}

static int arm(struct breakpoints *breakpoints, struct breakpoint *breakpoint, struct error *err)
{
	int ret = breakpoints->tried ? 0 : breakpoints_try(err);
	if (ret < 0)
		return ret;
	breakpoints->tried = true;
	int fd = open_at(breakpoint->place.address, breakpoints->pid);
	if (fd < 0)
		return refused(breakpoint, fd, err);
	breakpoint->fd = fd;
	breakpoint->counted = true;
	return 0;
}

/* Sets breakpoints at the instructions that are mapped by now and have none. */
static int arm_mapped(struct breakpoints *breakpoints, struct error *err)
{
	for (size_t i = 0; i < breakpoints->count; i++) {
		struct breakpoint *breakpoint = &breakpoints->list[i];
		if (breakpoint->counted)
			continue;
		int ret = code_place_find(&breakpoint->place, breakpoints->pid, err);
		if (ret == 0)
			ret = arm(breakpoints, breakpoint, err);
		if (ret < 0 && ret != -ENOENT)
			return ret;
	}
	return 0;
}

/* Whether a dynamic linker starts the program, by the auxiliary vector (AT_BASE). */
static bool has_linker(pid_t pid)
{
	char path[64];
	unsigned long pair[2];
	snprintf(path, sizeof(path), "/proc/%d/auxv", pid);
	CLEANUP(close_file) FILE *vector = fopen(path, "re");
	while (vector && fread(pair, sizeof(pair), 1, vector) == 1)
		if (pair[0] == AT_BASE)
			return pair[1] != 0;
	return false;
}

/* Finds the dynamic linker's code: the mapping of `address`, where a dynamic program starts. */
static void find_linker(struct breakpoints *breakpoints, uint64_t address)
{
	char path[64];
	char line[512];
	snprintf(path, sizeof(path), "/proc/%d/maps", breakpoints->pid);
	CLEANUP(close_file) FILE *maps = fopen(path, "re");
	breakpoints->linker_start = breakpoints->linker_end = 0;
	while (maps && has_linker(breakpoints->pid) && fgets(line, sizeof(line), maps)) {
		unsigned long start;
		unsigned long end;
		if (sscanf(line, "%lx-%lx", &start, &end) == 2 && address >= start &&
		    address < end) {
			breakpoints->linker_start = start;
			breakpoints->linker_end = end;
		}
	}
}

static int not_mapped(const struct breakpoints *breakpoints, struct error *err)
{
	for (size_t i = 0; i < breakpoints->count; i++)
		if (!breakpoints->list[i].counted)
			return error_set(err, -ENOENT,
					 "cannot count '%s': neither the command's program nor a "
					 "library that it starts with has it",
					 breakpoints->list[i].place.text);
	return 0;
}

static int at_exec(struct breakpoints *breakpoints, struct error *err)
{
	struct __ptrace_syscall_info info = { 0 };
	breakpoints->execed = true;
	breakpoints->mapping = false;
	if (ptrace(PTRACE_GET_SYSCALL_INFO, breakpoints->pid, sizeof(info), &info) > 0)
		find_linker(breakpoints, info.instruction_pointer);
	int ret = arm_mapped(breakpoints, err);
	return ret < 0 || breakpoints->linker_end ? ret : not_mapped(breakpoints, err);
}

static bool maps_files(uint64_t call)
{
#ifdef SYS_mmap2
	if (call == SYS_mmap2)
		return true;
#endif
	return call == SYS_mmap || call == SYS_mprotect;
}

/* While the linker runs, each call that maps may map an instruction that is still missing. */
static int at_syscall(struct breakpoints *breakpoints, struct error *err)
{
	struct __ptrace_syscall_info info = { 0 };
	if (ptrace(PTRACE_GET_SYSCALL_INFO, breakpoints->pid, sizeof(info), &info) <= 0)
		return errno == ESRCH
			       ? 0 /* killed meanwhile */
			       : error_set(err, -errno, "cannot see the command's system calls: %s",
					   strerror(errno));
	bool linking = info.instruction_pointer >= breakpoints->linker_start &&
		       info.instruction_pointer < breakpoints->linker_end;
	if (info.op == PTRACE_SYSCALL_INFO_ENTRY) {
		breakpoints->mapping = maps_files(info.entry.nr);
		return linking ? 0 : not_mapped(breakpoints, err);
	}
	return breakpoints->mapping ? arm_mapped(breakpoints, err) : 0;
}

/* Handles a stop of the command that waitpid() returned, and lets it go on. 0 or a negative errno.
 */
static int handle_stop(struct breakpoints *breakpoints, int status, struct error *err)
{
	int event = status >> 16;
	int signal = WSTOPSIG(status);
	if (event == PTRACE_EVENT_STOP && signal != SIGTRAP) {
		/* A group-stop stays one. */
		ptrace(PTRACE_LISTEN, breakpoints->pid, 0, 0);
		return 0;
	}
	int ret = 0;
	if (event == PTRACE_EVENT_EXEC)
		ret = at_exec(breakpoints, err);
	else if (signal == SYSCALL_STOP)
		ret = at_syscall(breakpoints, err);
	if (ret == 0)
		go_on(breakpoints, event || signal == SYSCALL_STOP ? 0 : signal);
	return ret;
}

/* Reads the counts and removes breakpoints at the limit: code that is executed often would take
 * thousands of times as long. */
static void apply_limit(struct breakpoints *breakpoints, bool ended)
{
	for (size_t i = 0; i < breakpoints->count; i++) {
		struct breakpoint *breakpoint = &breakpoints->list[i];
		uint64_t now;
		if (breakpoint->fd < 0 ||
		    read(breakpoint->fd, &now, sizeof(now)) != (ssize_t)sizeof(now))
			continue;
		breakpoint->count = now;
		if (now < breakpoints->limit || ended)
			continue;
		/* Disables it in all threads; then the count is final. PERF_EVENT_IOC_REFRESH would
		 * stop at the limit exactly, but does not work for inherited events. */
		ioctl(breakpoint->fd, PERF_EVENT_IOC_DISABLE, 0);
		if (read(breakpoint->fd, &now, sizeof(now)) == (ssize_t)sizeof(now))
			breakpoint->count = now;
		close(breakpoint->fd);
		breakpoint->fd = -1;
		breakpoint->limited = true;
	}
}

static int give_up(struct breakpoints *breakpoints, int *wait_status)
{
	kill(breakpoints->pid, SIGKILL);
	while (waitpid(breakpoints->pid, wait_status, __WALL) < 0 && errno == EINTR)
		;
	return 0;
}

int breakpoints_service(struct breakpoints *breakpoints, int *wait_status, struct error *err)
{
	for (;;) {
		pid_t found = waitpid(breakpoints->pid, wait_status, WNOHANG | __WALL);
		if (found < 0 && errno == EINTR)
			continue;
		if (found < 0)
			return error_set(err, -errno, "cannot wait for the command: %s",
					 strerror(errno));
		bool ended = found > 0 && !WIFSTOPPED(*wait_status);
		if (found == 0 || ended) {
			apply_limit(breakpoints, ended);
			return ended;
		}
		int ret = handle_stop(breakpoints, *wait_status, err);
		if (ret < 0) {
			give_up(breakpoints, wait_status);
			return ret;
		}
	}
}

const struct breakpoint *breakpoints_list(const struct breakpoints *breakpoints, size_t *count)
{
	*count = breakpoints->count;
	return breakpoints->list;
}
