#include "confine/confinement.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/openat2.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/count_of.h"
#include "confine/syscall_filter.h"
#include "confine/syscall_rules.h"

#ifndef CAP_CHECKPOINT_RESTORE
#define CAP_CHECKPOINT_RESTORE 40
#endif
#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif
/* A user that no other process has: below 2^31, and neither systemd's nor a container's
 * (systemd.io/UIDS-GIDS). A process's number has at most 22 bits. */
#define OWN_USERS     0x70000000u
#define OWN_USERS_END (OWN_USERS + (1u << 22))
#define NOBODY	      65534
#define COPY_MAX_SIZE ((rlim_t)1 << 30) /* of a file that is written: a copy in memory */

bool confinement_is_own_user(uint32_t user)
{
	return user >= OWN_USERS && user < OWN_USERS_END;
}

static void limit_to(__rlimit_resource_t resource, rlim_t value)
{
	struct rlimit limit = { value, value };
	setrlimit(resource, &limit);
}

/* Unmaps memory that is shared with the parent: rings, SQLite's index of its log. */
static void drop_shared_memory(uint32_t *missing)
{
	CLEANUP(free_pointer) char *line = NULL;
	size_t room = 0;
	FILE *maps = fopen("/proc/self/maps", "re");
	if (!maps) {
		*missing |= CONFINEMENT_SHARED_MEMORY;
		return;
	}
	while (getline(&line, &room, maps) > 0) {
		unsigned long start, end;
		char shared;
		/* valgrind does not let its own go */
		if (sscanf(line, "%lx-%lx %*c%*c%*c%c", &start, &end, &shared) == 3 &&
		    shared == 's' && munmap((void *)start, end - start) != 0)
			*missing |= CONFINEMENT_SHARED_MEMORY;
	}
	fclose(maps);
}

/* Wipes the environment, in which programs are given passwords and keys. */
static void forget_environment(void)
{
	for (char **variable = environ; variable && *variable; variable++)
		explicit_bzero(*variable, strlen(*variable));
	static char *none[] = { NULL };
	environ = none;
}

/* The capabilities that the kind needs. */
static size_t needed_capabilities(enum confinement_kind kind, cap_value_t *list, uint32_t *missing)
{
	size_t count = 0;
	if (kind == CONFINEMENT_PARSE)
		return 0;
	list[count++] = CAP_SYS_PTRACE;
	list[count++] = CAP_DAC_READ_SEARCH;
	if (kind == CONFINEMENT_STEP)
		return count;
	/* /proc/PID/map_files */
	if (prctl(PR_CAPBSET_READ, CAP_CHECKPOINT_RESTORE, 0, 0, 0) >= 0) {
		list[count++] = CAP_CHECKPOINT_RESTORE;
	} else {
		list[count++] = CAP_SYS_ADMIN;
		if (geteuid() == 0)
			*missing |= CONFINEMENT_NARROW_MAPS;
	}
	return count;
}

/* Keeps those of the wanted ones that the process has, and no others. */
static int keep_capabilities(const cap_value_t *wanted, size_t count)
{
	cap_t held = cap_get_proc();
	cap_t kept = cap_init();
	int ret = held && kept ? 0 : -errno;
	for (size_t i = 0; ret == 0 && i < count; i++) {
		cap_flag_value_t is_held;
		if (cap_get_flag(held, wanted[i], CAP_PERMITTED, &is_held) == 0 &&
		    is_held == CAP_SET &&
		    (cap_set_flag(kept, CAP_PERMITTED, 1, &wanted[i], CAP_SET) ||
		     cap_set_flag(kept, CAP_EFFECTIVE, 1, &wanted[i], CAP_SET)))
			ret = -errno;
	}
	if (ret == 0 && cap_set_proc(kept) != 0)
		ret = -errno;
	cap_free(held);
	cap_free(kept);
	return ret;
}

static int become(id_t user)
{
	if (setresgid(user, user, user) != 0 || setresuid(user, user, user) != 0)
		return -errno;
	return 0;
}

/*
 * Root without capabilities still owns root's files; and whoever shares our user may stop and kill
 * us, which every process of nobody's could. Who opens files stays root, whose FUSE and NFS mounts
 * ask for that, with the few capabilities that it takes to read.
 */
static int leave_identity(enum confinement_kind kind, uint32_t *missing)
{
	cap_value_t wanted[4];
	size_t count = needed_capabilities(kind, wanted, missing);
	if (kind == CONFINEMENT_PARSE && geteuid() == 0 &&
	    (setgroups(0, NULL) != 0 || become(OWN_USERS + (id_t)getpid()) < 0)) {
		*missing |= CONFINEMENT_OWN_USER;
		become(NOBODY); /* in a user namespace neither may exist */
	}
	return keep_capabilities(wanted, count);
}

static void set_limits(enum confinement_kind kind)
{
	limit_to(RLIMIT_CORE, 0);
	limit_to(RLIMIT_NPROC, 0);
	limit_to(RLIMIT_MEMLOCK, 0);
	limit_to(RLIMIT_MSGQUEUE, 0);
	limit_to(RLIMIT_FSIZE, kind == CONFINEMENT_OPEN ? COPY_MAX_SIZE : 0);
}

/*
 * Landlock, landlock(7). Its header is younger than some kernels; the structure grows at its end,
 * and what an older kernel does not know stays zero.
 */
struct landlock_ruleset {
	uint64_t files, network, scoped;
};

#define LANDLOCK_CREATE_RULESET 444
#define LANDLOCK_RESTRICT_SELF	446
#define LANDLOCK_VERSION	1u
#define LANDLOCK_FILES_1	((UINT64_C(1) << 13) - 1) /* all accesses of the first version */
#define LANDLOCK_REFER		(UINT64_C(1) << 13)
#define LANDLOCK_TRUNCATE	(UINT64_C(1) << 14)
#define LANDLOCK_IOCTL_DEV	(UINT64_C(1) << 15)
#define LANDLOCK_TCP		UINT64_C(3) /* bind and connect */
#define LANDLOCK_PEER		UINT64_C(3) /* abstract sockets and signals */

int confinement_landlock_abi(void)
{
	long abi = syscall(LANDLOCK_CREATE_RULESET, NULL, 0, LANDLOCK_VERSION);
	return abi > 0 ? (int)abi : 0;
}

/* No access to any file, no TCP, no peer outside. */
static int restrict_files(uint32_t *missing)
{
	int abi = confinement_landlock_abi();
	if (abi < 6)
		*missing |= CONFINEMENT_LANDLOCK_PEER;
	if (abi < 4)
		*missing |= CONFINEMENT_LANDLOCK_TCP;
	if (abi < 1) {
		*missing |= CONFINEMENT_LANDLOCK;
		return 0;
	}
	struct landlock_ruleset rules = {
		.files = LANDLOCK_FILES_1 | (abi >= 2 ? LANDLOCK_REFER : 0) |
			 (abi >= 3 ? LANDLOCK_TRUNCATE : 0) | (abi >= 5 ? LANDLOCK_IOCTL_DEV : 0),
		.network = abi >= 4 ? LANDLOCK_TCP : 0,
		.scoped = abi >= 6 ? LANDLOCK_PEER : 0,
	};
	CLEANUP(close_fd) int fd = (int)syscall(LANDLOCK_CREATE_RULESET, &rules, sizeof(rules), 0);
	if (fd < 0 || syscall(LANDLOCK_RESTRICT_SELF, fd, 0) != 0)
		return -errno;
	return 0;
}

/*
 * openat2() takes its flags from memory, where a filter cannot look. So all that it may be asked
 * for stands in a table that was made read-only, below 4 GiB, where the filter lets nothing be
 * mapped any more; and the filter compares the address.
 */
#define SEALED_FIRST 0x10000000u
#define SEALED_STEP  0x01000000u
#define SEALED_TRIES 64

static const uint64_t sealed_flags[] = { O_PATH | O_CLOEXEC, O_PATH | O_CLOEXEC | O_NOFOLLOW,
					 O_PATH | O_CLOEXEC | O_DIRECTORY,
					 O_PATH | O_CLOEXEC | O_DIRECTORY | O_NOFOLLOW };
#define SEALED_RESOLVES (SEALED_TABLE_BYTES / SEALED_ENTRY_BYTES / COUNT_OF(sealed_flags))
_Static_assert(sizeof(struct open_how) <= SEALED_ENTRY_BYTES, "an entry holds one");

static const uint8_t *sealed; /* of this process, once it is confined */

static const struct open_how *sealed_entry(const uint8_t *table, size_t flags, uint64_t resolve)
{
	size_t at = flags * SEALED_RESOLVES + (size_t)resolve;
	return (const struct open_how *)(const void *)(table + at * SEALED_ENTRY_BYTES);
}

static uint8_t *map_low(void)
{
	for (uint32_t i = 0; i < SEALED_TRIES; i++) {
		void *wanted = (void *)(uintptr_t)(SEALED_FIRST + i * SEALED_STEP);
		void *table = mmap(wanted, SEALED_TABLE_BYTES, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
		if (table == wanted)
			return table;
		if (table != MAP_FAILED) /* before Linux 4.17 the address is a wish */
			munmap(table, SEALED_TABLE_BYTES);
	}
	return NULL;
}

static void seal_open(uint32_t *missing)
{
	uint8_t *table = map_low();
	for (size_t i = 0; table && i < COUNT_OF(sealed_flags); i++)
		for (uint64_t resolve = 0; resolve < SEALED_RESOLVES; resolve++) {
			struct open_how how = { .flags = sealed_flags[i], .resolve = resolve };
			memcpy((void *)(uintptr_t)sealed_entry(table, i, resolve), &how,
			       sizeof(how));
		}
	if (table && mprotect(table, SEALED_TABLE_BYTES, PROT_READ) == 0)
		sealed = table;
	else
		*missing |= CONFINEMENT_SEALED_OPEN;
}

long confinement_openat2(int folder, const char *path, const struct open_how *how)
{
	for (size_t i = 0; sealed && i < COUNT_OF(sealed_flags); i++)
		if (how->flags == sealed_flags[i] && how->mode == 0 &&
		    how->resolve < SEALED_RESOLVES) {
			how = sealed_entry(sealed, i, how->resolve);
			break;
		}
	return syscall(SYS_openat2, folder, path, how, sizeof(*how));
}

/* For answering system calls that were trapped: a signal's handler gets no argument of its own. */
static struct confinement trapped;

#if defined(__x86_64__)
#define REGISTERS(context) ((context)->uc_mcontext.gregs)
#define TRAP_ARGUMENTS                                                                             \
	{                                                                                          \
		REG_RDI, REG_RSI, REG_RDX, REG_R10                                                 \
	}
#define TRAP_RESULT REG_RAX
#elif defined(__aarch64__)
#define REGISTERS(context) ((context)->uc_mcontext.regs)
#define TRAP_ARGUMENTS                                                                             \
	{                                                                                          \
		0, 1, 2, 3                                                                         \
	}
#define TRAP_RESULT 0
#endif

#ifdef TRAP_RESULT
/* realpath() asks of each part of a path whether it is a link: none but our descriptors is. */
static long answer_readlink(const char *path, char *name, size_t size)
{
	static const char folder[] = "/proc/self/fd/";
	if (!trapped.name)
		return -EPERM;
	if (strncmp(path, folder, sizeof(folder) - 1) != 0)
		return -EINVAL;
	return trapped.name(trapped.context, atoi(path + sizeof(folder) - 1), name, size);
}

static long answer_trap(int number, const uint64_t *arguments)
{
	const char *path = (const char *)(uintptr_t)arguments[1];
	void *room = (void *)(uintptr_t)arguments[2];
	switch (number) {
	case SYS_newfstatat:
		if (!path || *path)
			return -EPERM;
		return syscall(SYS_fstat, (int)arguments[0], room) ? -errno : 0;
	case SYS_openat:
		return trapped.open ? trapped.open(trapped.context, path) : -EPERM;
	case SYS_readlinkat:
		return answer_readlink(path, room, arguments[3]);
#ifdef SYS_readlink
	case SYS_readlink:
		return answer_readlink((const char *)(uintptr_t)arguments[0],
				       (char *)(uintptr_t)arguments[1], arguments[2]);
#endif
	default:
		return -EPERM;
	}
}

static void on_trap(int signal, siginfo_t *info, void *data)
{
	(void)signal;
	static const int places[] = TRAP_ARGUMENTS;
	ucontext_t *context = data;
	uint64_t arguments[COUNT_OF(places)];
	int kept = errno;
	for (size_t i = 0; i < COUNT_OF(places); i++)
		arguments[i] = (uint64_t)REGISTERS(context)[places[i]];
	REGISTERS(context)[TRAP_RESULT] = answer_trap(info->si_syscall, arguments);
	errno = kept;
}
#endif

static int catch_traps(const struct confinement *wanted)
{
	trapped = *wanted;
#ifdef TRAP_RESULT
	struct sigaction action = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO };
	if (sigaction(SIGSYS, &action, NULL) != 0)
		return -errno;
#endif
	return 0;
}

void confinement_filter(const struct confinement *wanted, struct syscall_filter *filter)
{
	syscall_filter_begin(filter);
	syscall_rules_add(filter, wanted, (uint32_t)(uintptr_t)sealed);
}

static int restrict_calls(const struct confinement *wanted, uint32_t *missing)
{
	struct syscall_filter filter;
	int ret = catch_traps(wanted);
	if (ret < 0)
		return ret;
	confinement_filter(wanted, &filter);
	ret = syscall_filter_install(&filter);
	if (ret == -ENOSYS) {
		*missing |= CONFINEMENT_FILTER;
		return 0;
	}
	return ret;
}

/* Switches off what programs of before 2005 need: that each page that may be read may be executed.
 */
static void separate_code_from_data(void)
{
	int flags = personality(0xffffffff);
	if (flags >= 0 && (flags & READ_IMPLIES_EXEC))
		personality((unsigned long)flags & ~(unsigned long)READ_IMPLIES_EXEC);
}

int confine(const struct confinement *wanted, uint32_t *missing)
{
	*missing = 0;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return -errno;
	drop_shared_memory(missing);
	forget_environment();
	separate_code_from_data();
	int ret = leave_identity(wanted->kind, missing);
	if (ret < 0)
		return ret;
	set_limits(wanted->kind);
	/* Another user resets both. The stepper lets go of its threads in order, by itself. */
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0 ||
	    (wanted->kind != CONFINEMENT_STEP && prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0))
		return -errno;
	if (wanted->kind == CONFINEMENT_PARSE)
		ret = restrict_files(missing);
	if (ret == 0 && wanted->kind == CONFINEMENT_OPEN)
		seal_open(missing);
	return ret < 0 ? ret : restrict_calls(wanted, missing);
}

/* What the child of a probe writes before it ends. */
struct probe_words {
	int32_t code;
	uint32_t missing;
};

int confinement_probe(enum confinement_kind kind, uint32_t *missing)
{
	int ends[2];
	struct probe_words words = { .code = -EIO };
	*missing = 0;
	if (pipe2(ends, O_CLOEXEC) != 0)
		return -errno;
	pid_t child = fork();
	if (child == 0) {
		/* write() is allowed to the standard descriptors. */
		dup2(ends[1], STDERR_FILENO);
		words.code = confine(&(struct confinement){ .kind = kind, .socket = STDERR_FILENO },
				     &words.missing);
		_exit(write(STDERR_FILENO, &words, sizeof(words)) != sizeof(words));
	}
	int number = errno;
	close(ends[1]);
	if (child > 0) {
		ssize_t came;
		while ((came = read(ends[0], &words, sizeof(words))) < 0 && errno == EINTR)
			;
		if (came != sizeof(words))
			words.code = -EIO;
		waitpid(child, NULL, 0);
	}
	close(ends[0]);
	if (child < 0)
		return -number;
	*missing = words.missing;
	return words.code;
}

void confinement_layers_read(struct confinement_layers *layers)
{
	*layers = (struct confinement_layers){ .landlock_abi = confinement_landlock_abi() };
	for (enum confinement_kind kind = 0; layers->code == 0 && kind < CONFINEMENT_KINDS; kind++)
		layers->code = confinement_probe(kind, &layers->missing[kind]);
}

void confinement_missing_text(uint32_t missing, char *text, size_t size)
{
	static const struct {
		enum confinement_layer layer;
		const char *name;
	} names[] = {
		{ CONFINEMENT_FILTER, "no filter of system calls (seccomp)" },
		{ CONFINEMENT_LANDLOCK, "no Landlock" },
		{ CONFINEMENT_LANDLOCK_TCP, "no Landlock for TCP (Linux 6.7)" },
		{ CONFINEMENT_LANDLOCK_PEER,
		  "no Landlock for signals and abstract sockets (Linux 6.12)" },
		{ CONFINEMENT_OWN_USER, "no user of its own (a user namespace)" },
		{ CONFINEMENT_SEALED_OPEN, "no fixed ways of opening" },
		{ CONFINEMENT_NARROW_MAPS,
		  "cap_sys_admin for /proc/PID/map_files (before Linux 5.9)" },
		{ CONFINEMENT_SHARED_MEMORY, "shared memory kept (no /proc, or valgrind's)" },
	};
	size_t length = 0;
	if (size)
		text[0] = 0;
	/* The parts of Landlock go without saying where there is none. */
	if (missing & CONFINEMENT_LANDLOCK)
		missing &= ~(uint32_t)(CONFINEMENT_LANDLOCK_TCP | CONFINEMENT_LANDLOCK_PEER);
	for (size_t i = 0; i < COUNT_OF(names); i++)
		if ((missing & names[i].layer) && length < size)
			length += (size_t)snprintf(text + length, size - length, "%s%s",
						   length ? ", " : "", names[i].name);
}
