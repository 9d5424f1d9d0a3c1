#include "confine/syscall_rules.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <linux/nsfs.h>
#include <linux/openat2.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/count_of.h"
#include "base/sanitizers.h"
#include "confine/syscall_filter.h"

#define ALLOW(name)                                                                                \
	{                                                                                          \
		SYS_##name, SYSCALL_ALLOW,                                                         \
		{                                                                                  \
			{                                                                          \
				0                                                                  \
			}                                                                          \
		}                                                                                  \
	}
#define ALLOW_IF(name, ...)                                                                        \
	{                                                                                          \
		SYS_##name, SYSCALL_ALLOW,                                                         \
		{                                                                                  \
			__VA_ARGS__                                                                \
		}                                                                                  \
	}
#define KILL(name)                                                                                 \
	{                                                                                          \
		SYS_##name, SYSCALL_KILL,                                                          \
		{                                                                                  \
			{                                                                          \
				0                                                                  \
			}                                                                          \
		}                                                                                  \
	}
#define ARGUMENT(number, ...)                                                                      \
	{                                                                                          \
		number, __VA_ARGS__                                                                \
	}

#define NOT_EXECUTABLE ARGUMENT(2, SYSCALL_WITHOUT, PROT_EXEC, 0)
#define ONLY_READING   ARGUMENT(2, SYSCALL_WITHOUT, O_ACCMODE | O_CREAT | O_TRUNC | O_APPEND, 0)
#define OWN_PROCESS    ARGUMENT(0, SYSCALL_EQUALS, 0, 0)
#ifndef F_ADD_SEALS
#define F_ADD_SEALS 1033
#endif

/* Computing, waiting, ending. Reading is harmless: no descriptor is there but those handed over. */
static const struct syscall_rule everybody[] = {
	ALLOW(read),
	ALLOW(pread64),
	ALLOW(lseek),
	ALLOW(close),
	ALLOW(fstat),
	ALLOW(brk),
	ALLOW(futex),
	ALLOW(ppoll),
#ifdef SYS_poll
	ALLOW(poll),
#endif
	ALLOW(clock_gettime),
	ALLOW(clock_getres),
	ALLOW(gettimeofday),
	ALLOW(getrandom),
	ALLOW(getrusage),
	/* Each request sets the soft limit on CPU time anew. */
	ALLOW_IF(prlimit64, OWN_PROCESS, ARGUMENT(1, SYSCALL_EQUALS, RLIMIT_CPU, 0)),
	ALLOW_IF(fcntl, ARGUMENT(1, SYSCALL_EQUALS, F_GETFL, 0)),
	ALLOW_IF(fcntl, ARGUMENT(1, SYSCALL_EQUALS, F_GETFD, 0)),
	ALLOW_IF(fcntl, ARGUMENT(1, SYSCALL_EQUALS, F_DUPFD_CLOEXEC, 0)),
	/* abort(), and with a rule for tgkill() of one's own, below */
	ALLOW(getpid),
	ALLOW(gettid),
	ALLOW(rt_sigprocmask),
	ALLOW(rt_sigreturn),
	ALLOW(restart_syscall),
	ALLOW(exit),
	ALLOW(exit_group),
#if SANITIZERS
	ALLOW(sched_yield),
	ALLOW(sigaltstack),
	ALLOW(nanosleep),
	ALLOW(clock_nanosleep),
#endif
};

static const struct syscall_rule memory_of_parser[] = {
	ALLOW_IF(mmap, NOT_EXECUTABLE),
	ALLOW_IF(mprotect, NOT_EXECUTABLE),
	ALLOW(munmap),
	ALLOW(mremap),
	ALLOW(madvise),
};

/* The handler answers them by struct confinement's open() and name(). */
static const struct syscall_rule asks[] = {
	{ SYS_openat, SYSCALL_TRAP, { ONLY_READING } },
	{ SYS_readlinkat, SYSCALL_TRAP, { { 0 } } },
#ifdef SYS_readlink
	{ SYS_readlink, SYSCALL_TRAP, { { 0 } } },
#endif
};

/* Nothing is unmapped, mapped or made writable below 4 GiB, where the table lies. */
static const struct syscall_rule memory_of_opener[] = {
	ALLOW_IF(mmap, NOT_EXECUTABLE, ARGUMENT(3, SYSCALL_WITHOUT, MAP_FIXED, 0)),
	ALLOW_IF(mmap, NOT_EXECUTABLE, ARGUMENT(0, SYSCALL_ABOVE_4G, 0, 0)),
	ALLOW_IF(mprotect, NOT_EXECUTABLE, ARGUMENT(0, SYSCALL_ABOVE_4G, 0, 0)),
	ALLOW_IF(munmap, ARGUMENT(0, SYSCALL_ABOVE_4G, 0, 0)),
	ALLOW_IF(mremap, ARGUMENT(0, SYSCALL_ABOVE_4G, 0, 0),
		 ARGUMENT(3, SYSCALL_WITHOUT, MREMAP_FIXED, 0)),
	ALLOW_IF(madvise, ARGUMENT(0, SYSCALL_ABOVE_4G, 0, 0)),
};

/* Looks at files, and reads them; writes into memory of its own. */
static const struct syscall_rule opener[] = {
	ALLOW_IF(openat, ONLY_READING),
	ALLOW(newfstatat),
	ALLOW(statx),
	ALLOW(statfs),
	ALLOW(fstatfs),
	ALLOW(readlinkat),
	ALLOW(getdents64),
	/* who else can write to a file (symbol/file_writer.h) */
	ALLOW(fgetxattr),
	ALLOW_IF(ioctl, ARGUMENT(1, SYSCALL_EQUALS, NS_GET_USERNS, 0)),
	/* which file it is (symbol/safe_open.h) */
	ALLOW_IF(ioctl, ARGUMENT(1, SYSCALL_EQUALS, FS_IOC_GETVERSION, 0)),
	ALLOW(geteuid),
	ALLOW(memfd_create),
	ALLOW(write),
	ALLOW_IF(fcntl, ARGUMENT(1, SYSCALL_EQUALS, F_ADD_SEALS, 0)),
#ifdef SYS_readlink
	ALLOW(readlink),
#endif
#ifdef SYS_stat
	ALLOW(stat),
	ALLOW(lstat),
#endif
};

static const struct syscall_rule stepper[] = {
	ALLOW(ptrace),
	ALLOW(wait4),
	ALLOW(setitimer),
	ALLOW(rt_sigaction),
	ALLOW_IF(openat, ONLY_READING),
	/* itself, to run beside the thread that it steps */
	ALLOW_IF(sched_setaffinity, OWN_PROCESS),
};

/* No code of ours or of a library makes these; what else a library tries, it can do without. */
static const struct syscall_rule deadly[] = {
	KILL(execve),
	KILL(execveat),
	KILL(clone),
	KILL(clone3),
#ifdef SYS_fork
	KILL(fork),
	KILL(vfork),
#endif
	KILL(ptrace),
	KILL(process_vm_readv),
	KILL(process_vm_writev),
	KILL(pidfd_getfd),
	KILL(pidfd_send_signal),
	KILL(rt_sigqueueinfo),
	KILL(rt_tgsigqueueinfo),
	KILL(socket),
	KILL(socketpair),
	KILL(connect),
	KILL(bind),
	KILL(listen),
	KILL(accept),
	KILL(accept4),
	KILL(unshare),
	KILL(setns),
	KILL(mount),
	KILL(umount2),
	KILL(move_mount),
	KILL(open_tree),
	KILL(fsopen),
	KILL(pivot_root),
	KILL(chroot),
	KILL(bpf),
	KILL(perf_event_open),
	KILL(io_uring_setup),
	KILL(io_uring_enter),
	KILL(io_uring_register),
	KILL(userfaultfd),
	KILL(keyctl),
	KILL(add_key),
	KILL(request_key),
	KILL(setuid),
	KILL(setgid),
	KILL(setreuid),
	KILL(setregid),
	KILL(setresuid),
	KILL(setresgid),
	KILL(setfsuid),
	KILL(setfsgid),
	KILL(setgroups),
	KILL(capset),
	KILL(seccomp),
	KILL(personality),
	KILL(open_by_handle_at),
	KILL(init_module),
	KILL(finit_module),
	KILL(delete_module),
	KILL(kexec_load),
	KILL(reboot),
	KILL(swapon),
	KILL(quotactl),
	KILL(clock_settime),
	KILL(settimeofday),
#ifdef SYS_modify_ldt
	KILL(modify_ldt),
	KILL(ioperm),
	KILL(iopl),
#endif
};

static void add(struct syscall_filter *filter, const struct syscall_rule *rules, size_t count)
{
	syscall_filter_add(filter, rules, count);
}

static void add_one(struct syscall_filter *filter, struct syscall_rule rule)
{
	syscall_filter_add(filter, &rule, 1);
}

/* Sending and receiving, on the one socket: first, for these are made most often. */
static void add_socket(struct syscall_filter *filter, int socket)
{
	static const int numbers[] = { SYS_recvfrom, SYS_recvmsg, SYS_sendto, SYS_sendmsg };
	for (size_t i = 0; i < COUNT_OF(numbers); i++)
		add_one(filter, (struct syscall_rule){
					numbers[i],
					SYSCALL_ALLOW,
					{ ARGUMENT(0, SYSCALL_EQUALS, (uint32_t)socket, 0) } });
}

void syscall_rules_add(struct syscall_filter *filter, const struct confinement *wanted,
		       uint32_t sealed)
{
	add_socket(filter, wanted->socket);
	add(filter, everybody, COUNT_OF(everybody));
	/* the last words of abort() and the like; these descriptors are /dev/null */
	add_one(filter, (struct syscall_rule)ALLOW_IF(
				write, ARGUMENT(0, SYSCALL_AT_MOST, STDERR_FILENO, 0)));
	add_one(filter, (struct syscall_rule)ALLOW_IF(
				tgkill, ARGUMENT(0, SYSCALL_EQUALS, (uint32_t)getpid(), 0)));
	switch (wanted->kind) {
	case CONFINEMENT_PARSE:
		add(filter, memory_of_parser, COUNT_OF(memory_of_parser));
		/* What fstat() of newer C libraries is; the handler lets no path through. */
		add_one(filter,
			(struct syscall_rule){ SYS_newfstatat,
					       SYSCALL_TRAP,
					       { ARGUMENT(3, SYSCALL_WITH, AT_EMPTY_PATH, 0) } });
		if (wanted->open)
			add(filter, asks, COUNT_OF(asks));
		break;
	case CONFINEMENT_OPEN:
		add(filter, memory_of_opener, COUNT_OF(memory_of_opener));
		add(filter, opener, COUNT_OF(opener));
		if (sealed)
			add_one(filter,
				(struct syscall_rule)ALLOW_IF(
					openat2,
					ARGUMENT(2, SYSCALL_MASKED, sealed,
						 ~(SEALED_TABLE_BYTES - SEALED_ENTRY_BYTES)),
					ARGUMENT(3, SYSCALL_EQUALS, sizeof(struct open_how), 0)));
		else
			add_one(filter, (struct syscall_rule)ALLOW(openat2));
		break;
	case CONFINEMENT_STEP:
		add(filter, memory_of_parser, COUNT_OF(memory_of_parser));
		add(filter, stepper, COUNT_OF(stepper));
		break;
	case CONFINEMENT_KINDS:
		break;
	}
	add(filter, deadly, COUNT_OF(deadly));
}
